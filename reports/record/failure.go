package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// HTTPFailure is the class of a response with a status other than 2xx, such as
// "http_429".
func HTTPFailure(status int) Failure {
	return Failure("http_" + strconv.Itoa(status))
}

// RankFailures returns the classes of failed requests, the most frequent first.
func RankFailures(classes map[Failure]int) []Failure {
	return slices.SortedFunc(maps.Keys(classes), func(a, b Failure) int {
		return cmp.Or(classes[b]-classes[a], strings.Compare(string(a), string(b)))
	})
}

// ListFailures writes the classes of failed requests for a person, the most
// frequent first and at most limit of them: "12 http_429, 3 truncated, …".
func ListFailures(classes map[Failure]int, limit int) string {
	var parts []string
	for i, name := range RankFailures(classes) {
		if i == limit {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", units.Count(int64(classes[name])), name))
	}
	return strings.Join(parts, ", ")
}
