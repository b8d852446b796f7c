package websocket

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/openai"
)

// closeGrace is what a closing server leaves its clients to hear of it.
const closeGrace = time.Second

// pings say how connections are kept.
type pings struct {
	every    time.Duration
	patience time.Duration // with a client that has to answer; it first reads what came before
}

// standardPings come more often than each minute, after which many proxies drop a
// connection on which nothing moves.
var standardPings = pings{every: 20 * time.Second, patience: time.Minute}

// Server owns the connections that were upgraded. http.Server knows nothing of
// them any more: it neither waits for them nor closes them.
type Server struct {
	// Origins returns the origins, beside the server's own host, from which pages
	// may connect, like https://app.example.com. In each * stands for any
	// characters but a slash, and * alone is every origin. nil means none.
	Origins func() []string
	// Refuse answers a request that is not upgraded, with an error for the client.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, problem *openai.Error)

	pings pings // standardPings when zero

	mu     sync.Mutex
	closed bool
	open   map[*conn]struct{}
	wg     sync.WaitGroup
}

// IsUpgrade tells whether a request asks for WebSocket.
func IsUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// Handler upgrades requests and serves each connection's one request with next,
// as a POST to the same path. The body ends with the first message; the request's
// context ends when the client closes the connection or sends more.
func (s *Server) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &conn{pings: s.pings}
		if c.pings == (pings{}) {
			c.pings = standardPings
		}
		if !s.enter(c) {
			s.Refuse(w, r, http.StatusServiceUnavailable, openai.NewError("server_error", "the gateway is shutting down", "", "overloaded"))
			return
		}
		defer s.leave(c)
		if status, problem := c.accept(w, r, s.origins()); problem != nil {
			s.Refuse(w, r, status, problem)
			return
		}
		c.serve(r, next)
	})
}

func (s *Server) origins() []string {
	if s.Origins == nil {
		return nil
	}
	return s.Origins()
}

func (s *Server) enter(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.open == nil {
		s.open = map[*conn]struct{}{}
	}
	s.open[c] = struct{}{}
	s.wg.Add(1)
	return true
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	s.wg.Done()
}

// Close accepts no more connections and waits for those that are open. What the
// handlers behind them have not ended by then, or a client does not close in
// return, is cut off after a second.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	defer time.AfterFunc(closeGrace, s.cut).Stop()
	s.wg.Wait()
}

func (s *Server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.cut()
	}
}
