package conform

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// skip is why a case could not tell anything.
type skip struct{ reason string }

func (s *skip) Error() string { return s.reason }

// skipped is a try's way to say that a case does not apply.
func skipped(format string, args ...any) error { return &skip{fmt.Sprintf(format, args...)} }

// wrong is a try's way to say that what it saw is not what the case expects.
func wrong(format string, args ...any) error { return fmt.Errorf(format, args...) }

// isSkip returns the reason when err is one to skip a case.
func isSkip(err error) (reason string, ok bool) {
	var s *skip
	if errors.As(err, &s) {
		return s.reason, true
	}
	return "", false
}

// nearest says which case or group a mistyped pattern may have meant, or of
// which other suite its cases are.
func nearest(glob string, cases []Case) string {
	var names []string
	for i := range cases {
		if match, err := cases[i].matches(glob); err == nil && match {
			return fmt.Sprintf("; %s is of suite %s", cases[i].ID, cases[i].Suite)
		}
		names = append(names, cases[i].ID, cases[i].Group())
	}
	return profiles.DidYouMean(glob, names)
}

// clip shortens what a server said to one line of at most n bytes.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// sprintf says what was seen.
func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// equal expects a text to be another.
func equal(what, got, want string) (string, error) {
	if got != want {
		return "", wrong("%s is %q, not %q", what, got, want)
	}
	return got, nil
}
