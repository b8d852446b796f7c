package gateway

import (
	"crypto/subtle"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/openai"
)

// AdminHandler serves /metrics, /admin/segments, /admin/usage, /admin/reload, /livez
// and /readyz. Metrics and reports tell of tenants, so they need the token where
// the configuration has one; health does not, since probes cannot send any.
func (g *Gateway) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.guarded(promhttp.HandlerFor(g.metrics.registry, promhttp.HandlerOpts{})))
	mux.Handle("POST /admin/reload", g.known(g.reload))
	mux.Handle("GET /admin/segments", g.guarded(http.HandlerFunc(g.listSegments)))
	mux.Handle("GET /admin/usage", g.guarded(usage.Handler(g.ledger, g.now)))
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", g.ready)
	return bounded(mux)
}

func (g *Gateway) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want := g.table.Load().adminToken
		if want == nil {
			next.ServeHTTP(w, r)
			return
		}
		token, err := bearer(r.Header)
		d := config.DigestOf(token)
		if err != nil || subtle.ConstantTimeCompare(d[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			openai.WriteError(w, http.StatusUnauthorized, openai.NewError("authentication_error", "missing or unknown admin token", "", "invalid_api_key"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
