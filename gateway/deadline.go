package gateway

import (
	"net/http"
	"sync"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

// cutGrace is how long a client may take to hear that the gateway shuts down.
const cutGrace = time.Second

// healthPatience bounds answers that are a few bytes, or metrics.
const healthPatience = 30 * time.Second

// deadline bounds every write to one client: who reads nothing must not hold a
// handler, and the engine's slot behind it, for ever. net/http lifts it after
// each request.
type deadline struct {
	control *http.ResponseController

	mu   sync.Mutex
	set  time.Time // the one in force; zero before the first
	last time.Time // none is later; zero until cut
}

// within gives the client d from now for what is written next, or hardly less: a
// deadline of which seven eighths are left stays, since to set one for each of a
// thousand events is dear. Writers without deadlines, as in tests, have none.
func (l *deadline) within(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := time.Now().Add(d)
	if early := at.Sub(l.set); early >= 0 && early <= d/8 {
		return // it is not later than last either, since cut sets one
	}
	if !l.last.IsZero() && at.After(l.last) {
		at = l.last
	}
	l.set = at
	_ = l.control.SetWriteDeadline(at)
}

// cut leaves the client a moment, whatever it was promised before or will be. It
// also wakes a handler that waits for a client that does not read: that one
// hears of no context.
func (l *deadline) cut() {
	l.mu.Lock()
	l.last = time.Now().Add(cutGrace)
	l.mu.Unlock()
	l.within(cutGrace)
}

// patience is how long the client may take to read what one write brings.
func (x *exchange) patience() time.Duration {
	if x.model != nil {
		return time.Duration(x.model.timeouts.Idle)
	}
	return config.DefaultIdle
}

// piece is how much of a whole answer the client has to take in within its
// patience, so that a long answer on a slow line is not cut off.
const piece = 256 << 10

// deliver writes all of p. An error means that the client has left: that has
// cancelled the request's context already, and there is nobody to tell.
func (x *exchange) deliver(p []byte) {
	for len(p) > 0 {
		n := min(len(p), piece)
		x.deadline.within(x.patience())
		if _, err := x.w.Write(p[:n]); err != nil {
			return
		}
		p = p[n:]
	}
}

// bounded gives handlers that write a little at once their deadline.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(&deadline{control: http.NewResponseController(w)}).within(healthPatience)
		next.ServeHTTP(w, r)
	})
}
