package conform

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// refusal expects an answer to be a client error, of one of the statuses when
// some are named, told in JSON.
func refusal(a *answer, statuses ...int) (string, error) {
	switch {
	case a.status < 400 || a.status >= 500:
		return "", wrong("it was answered %s", a.said())
	case len(statuses) > 0 && !slices.Contains(statuses, a.status):
		return "", wrong("it was answered %s", a.said())
	case a.mediaType() != jsonType || !a.get("error").Exists() && !a.get("detail").Exists() && !a.get("message").Exists():
		return "", wrong("%d with %s: %s", a.status, a.mediaType(), clip(string(a.body), 80))
	}
	return a.said(), nil
}

// badRequest are the statuses for a request that makes no sense. FastAPI's own
// is 422.
var badRequest = []int{http.StatusBadRequest, http.StatusUnprocessableEntity}

// variant is one of several bodies that a case sends.
type variant struct{ name, body string }

// refuses makes a try of chats that must be refused.
func refuses(statuses []int, variants func(p *probe) []variant) try {
	return func(ctx context.Context, p *probe) (string, error) {
		var seen []string
		for _, v := range variants(p) {
			a, err := p.post(ctx, chatPath, v.body)
			if err != nil {
				return "", wrong("%s: %v", v.name, err)
			}
			if _, err := refusal(a, statuses...); err != nil {
				return "", wrong("%s: %v", v.name, err)
			}
			seen = append(seen, sprintf("%d for %s", a.status, v.name))
		}
		return strings.Join(seen, ", "), nil
	}
}

// changed makes variants of one chat with changes.
func changed(name string, changes members) func(p *probe) []variant {
	return func(p *probe) []variant { return []variant{{name, p.chat(changes)}} }
}

// unsupported reports whether an answer says that the server does not have what
// was asked for: better than to ignore it.
func unsupported(a *answer) bool {
	_, err := refusal(a, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotFound, http.StatusNotImplemented)
	return err == nil || a.status == http.StatusNotImplemented || a.status == http.StatusNotFound
}
