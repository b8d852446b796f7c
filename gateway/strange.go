package gateway

import (
	"fmt"
	"net/http"
	"path"

	"github.com/llmctl/llmctl/internal/openai"
)

// maxHeader bounds a request's header, in bytes: keys, sessions and trace contexts are
// far below. net/http itself takes 1 MiB, and closes the connection on more with words
// that are no JSON.
const maxHeader = 256 << 10

// ordinary passes requests on whose target is a clean path. net/http's ServeMux would
// answer others by itself: with a redirect, which turns a POST into a GET, or with
// plain text.
func (g *Gateway) ordinary(next http.Handler) http.Handler {
	refuse := func(status int, o outcome, message, code string) http.Handler {
		return g.answering(func(*exchange) *failure {
			return &failure{status: status, outcome: o, body: openai.NewError("invalid_request_error", message, "", code)}
		})
	}
	large := refuse(http.StatusRequestHeaderFieldsTooLarge, outcomeTooLarge, fmt.Sprintf("the header is larger than %d bytes", maxHeader), "request_too_large")
	connect := g.answering(wrongMethod("GET, POST"))
	unknown := refuse(http.StatusNotFound, outcomeUnknownRoute, "no such endpoint: expected a path like /v1/chat/completions, without empty or dotted parts", "not_found")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case headerSize(r.Header) > maxHeader:
			large.ServeHTTP(w, r)
		case r.Method == http.MethodConnect:
			connect.ServeHTTP(w, r)
		case !clean(r.URL.Path):
			unknown.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// clean tells whether a path is absolute and has no empty or dotted parts; it may end
// in a slash.
func clean(p string) bool {
	if p == "" || p[0] != '/' { // of the target *, too
		return false
	}
	c := path.Clean(p)
	return c == p || c != "/" && len(c)+1 == len(p) && p[:len(c)] == c && p[len(c)] == '/'
}

// headerSize is the length of all names and values.
func headerSize(h http.Header) (n int) {
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return n
}
