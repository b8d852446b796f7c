package gateway

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/openai"
)

// AdminHandler serves the page (/admin), what it shows as JSON (/admin/state,
// /admin/live), /metrics, /admin/segments, /admin/usage, /admin/reload, /livez and
// /readyz. Metrics and reports tell of tenants, so they need the token where
// the configuration has one; health does not, since probes cannot send any.
func (g *Gateway) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.guarded(promhttp.HandlerFor(g.metrics.registry, promhttp.HandlerOpts{})))
	mux.Handle("GET /{$}", http.RedirectHandler("/admin", http.StatusSeeOther))
	mux.Handle("GET /admin", g.guarded(http.HandlerFunc(g.showPage)))
	mux.Handle("GET /admin/state", g.guarded(http.HandlerFunc(g.showState)))
	mux.Handle("GET /admin/live", g.guarded(http.HandlerFunc(g.showLive)))
	mux.Handle("POST /admin/reload", g.known(g.reload))
	mux.Handle("GET /admin/segments", g.guarded(http.HandlerFunc(g.listSegments)))
	mux.Handle("GET /admin/usage", g.guarded(usage.Handler(g.ledger, g.now)))
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", g.ready)
	return nosniff(bounded(mux))
}

func (g *Gateway) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want := g.table.Load().adminToken
		if want == nil {
			if r.TLS == nil && !numericHost(r.Host) { // with TLS, a foreign name has no certificate
				openai.WriteError(w, http.StatusForbidden, openai.NewError("permission_error",
					"without an admin token this answers to localhost and IP addresses only", "", "host_not_allowed"))
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		d := config.DigestOf(shownToken(r))
		if subtle.ConstantTimeCompare(d[:], want[:]) != 1 {
			w.Header().Add("WWW-Authenticate", "Bearer")
			if reads(r) {
				w.Header().Add("WWW-Authenticate", `Basic realm="llmctl gateway", charset="UTF-8"`)
			}
			openai.WriteError(w, http.StatusUnauthorized, openai.NewError("authentication_error", "missing or unknown admin token", "", "invalid_api_key"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// numericHost tells whether a request was addressed to this machine, or to an
// address rather than a name. A page on the web can have a name of its own lead
// here (DNS rebinding), and then read what answers; it cannot do so with these.
func numericHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return strings.EqualFold(name, "localhost") || net.ParseIP(strings.Trim(name, "[]")) != nil
}

// shownToken is the admin token of a request: a bearer's, or, for what only reads,
// the password of HTTP's Basic, whatever the user, for browsers have no other. What
// changes something never takes that: a browser sends it along with whatever any
// page on the web makes it ask for.
func shownToken(r *http.Request) string {
	if token, err := bearer(r.Header); err == nil {
		return token
	}
	if _, password, ok := r.BasicAuth(); ok && reads(r) && len(r.Header.Values("Authorization")) == 1 {
		return password
	}
	return ""
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }
