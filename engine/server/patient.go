package server

import (
	"net/http"
	"time"
)

// defaultPatience is how long a client may read nothing before it counts as
// gone: a request that nobody reads must not hold blocks for ever.
const defaultPatience = 30 * time.Second

// patient gives each write a deadline. A write that misses it fails, as if the
// client had closed its connection. net/http lifts the deadline after each
// request. Writers without deadlines, as in tests, have none.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.limit))
	return p.ResponseWriter.Write(b)
}

// FlushError is what http.ResponseController calls.
func (p *patient) FlushError() error {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.limit))
	return p.control.Flush()
}

// Unwrap lets http.ResponseController reach the rest.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// bounded makes every answer of next patient, and limits the bodies that it reads.
func (s *server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The limit on the body wants the server's own writer, to close the
		// connection of a client that sends on and on.
		rest := &unread{ReadCloser: r.Body}
		r.Body = http.MaxBytesReader(w, rest, s.MaxBody)
		next.ServeHTTP(&patient{w, http.NewResponseController(w), s.Patience}, r)
		rest.drain(w, r)
	})
}
