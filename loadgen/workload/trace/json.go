package trace

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/llmctl/llmctl/internal/userfile"
)

// decode reads JSON; where is the byte that a mistake is at, from 1, and reason
// is empty when there is none.
func decode(data []byte, value any) (where int64, reason string) {
	err := json.Unmarshal(data, value)
	if err == nil {
		return 0, ""
	}
	where = 1
	if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
		return max(1, broken.Offset), "no JSON"
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where = max(1, wrong.Offset)
	}
	reason, _, _ = strings.Cut(strings.TrimPrefix(userfile.JSONError(err).Error(), "decoding JSON: "), ", got")
	return where, reason
}
