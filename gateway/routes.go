package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/llmctl/llmctl/internal/openai"
)

// Handler is the API: requests for models, the list of models, and health.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, d := range dialects {
		post := g.answering(func(x *exchange) *failure {
			x.dialect = d
			return x.complete()
		})
		mux.Handle("POST "+d.path, post)
		if d.streams {
			mux.Handle("GET "+d.path, g.upgrading(post))
		}
		mux.Handle(d.path, g.answering(wrongMethod("POST")))
	}
	mux.Handle("GET /v1/models", g.answering((*exchange).listModels))
	mux.Handle("/v1/models", g.answering(wrongMethod("GET")))
	mux.Handle("GET /v1/models/{model...}", g.answering((*exchange).showModel)) // aliases may have slashes
	mux.Handle("/v1/models/{model...}", g.answering(wrongMethod("GET")))
	mux.Handle("GET /livez", bounded(http.HandlerFunc(livez)))
	mux.Handle("GET /readyz", bounded(http.HandlerFunc(g.ready)))
	mux.Handle("/", g.answering(func(x *exchange) *failure {
		return &failure{status: http.StatusNotFound, outcome: outcomeUnknownRoute,
			body: openai.NewError("invalid_request_error", "no such endpoint", "", "not_found")}
	}))
	return nosniff(g.ordinary(mux))
}

// answering wraps a step of the pipeline: request id, gate, log and metrics
// around it.
func (g *Gateway) answering(step func(*exchange) *failure) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := g.begin(w, r)
		defer context.AfterFunc(g.alive, x.deadline.cut)()
		if g.draining.Load() || !g.open.TryRLock() {
			x.fail(&failure{status: http.StatusServiceUnavailable, outcome: outcomeDraining, retryAfter: "1",
				body: openai.NewError("server_error", "the gateway is shutting down", "", "overloaded")})
			x.finish()
			return
		}
		defer g.open.RUnlock()
		returned := false
		defer func() {
			if !returned {
				x.failure = &failure{status: http.StatusInternalServerError, outcome: outcomeInternal, cause: errors.New("the handler panicked: the line of net/http says where")}
			}
			x.finish()
		}()
		f := step(x)
		returned = true
		if f != nil {
			x.fail(f)
		}
	})
}

// nosniff tells browsers on every answer to believe its content type: a model's text
// may look like HTML.
func nosniff(next http.Handler) http.Handler {
	value := []string{"nosniff"} // read only
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Content-Type-Options"] = value
		next.ServeHTTP(w, r)
	})
}

func wrongMethod(allow string) func(*exchange) *failure {
	return func(x *exchange) *failure {
		x.w.Header().Set("Allow", allow)
		return &failure{status: http.StatusMethodNotAllowed, outcome: outcomeUnknownRoute,
			body: openai.NewError("invalid_request_error", "this endpoint takes "+allow+" only", "", "method_not_allowed")}
	}
}

func livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // a probe that left is no concern
}

func (g *Gateway) ready(w http.ResponseWriter, r *http.Request) {
	if g.leaving.Load() || g.draining.Load() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	livez(w, r)
}
