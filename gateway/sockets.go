package gateway

import (
	"net/http"

	"github.com/llmctl/llmctl/gateway/websocket"
	"github.com/llmctl/llmctl/internal/openai"
)

// newSockets returns what serves the API over WebSocket. Each connection carries
// one request through the same pipeline as a POST.
func (g *Gateway) newSockets() *websocket.Server {
	return &websocket.Server{
		Origins: func() []string { return g.table.Load().origins },
		Refuse: func(w http.ResponseWriter, r *http.Request, status int, problem *openai.Error) {
			o := outcomeInvalid
			switch status {
			case http.StatusForbidden:
				o = outcomeForbidden
			case http.StatusServiceUnavailable:
				o = outcomeDraining
			}
			g.answering(func(*exchange) *failure {
				return &failure{status: status, outcome: o, body: problem}
			}).ServeHTTP(w, r)
		},
	}
}

// upgrading serves a GET of a path that takes POST: it may ask for WebSocket.
func (g *Gateway) upgrading(post http.Handler) http.Handler {
	socket, wrong := g.sockets.Handler(post), g.answering(wrongMethod("POST"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if websocket.IsUpgrade(r) {
			id := requestID(r.Header) // the upgrade is the only answer with a header
			r.Header.Set("X-Request-Id", id)
			w.Header().Set("X-Request-Id", id)
			socket.ServeHTTP(w, r)
			return
		}
		wrong.ServeHTTP(w, r)
	})
}
