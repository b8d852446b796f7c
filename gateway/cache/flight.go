package cache

import (
	"context"
	"sync"
)

// Flights lets equal requests that come while the first of them is at work wait
// for its answer, so that the model works once.
type Flights struct {
	mu   sync.Mutex
	open map[Key]*Flight
}

// Flight is one request at work, with all who wait for its answer: the leader,
// who does the work, and followers.
type Flight struct {
	of     *Flights
	key    Key
	aboard int  // leader and followers that are still there
	gone   bool // the leader's client has left
	over   bool
	cancel context.CancelFunc // of the leader's work
	landed chan struct{}
	answer *Answer
}

// Join boards the flight of a key. The one who leads must call Lead and Land,
// and all others Wait.
func (f *Flights) Join(key Key) (flight *Flight, leads bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if flight = f.open[key]; flight != nil {
		flight.aboard++
		return flight, false
	}
	flight = &Flight{of: f, key: key, aboard: 1, landed: make(chan struct{})}
	if f.open == nil {
		f.open = map[Key]*Flight{}
	}
	f.open[key] = flight
	return flight, true
}

// Len is how many flights are open.
func (f *Flights) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}

// Wait waits for the leader's answer. It is nil when there is none to share, and
// when ctx ended first: ask ctx.
func (f *Flight) Wait(ctx context.Context) *Answer {
	select {
	case <-f.landed:
		return f.answer
	case <-ctx.Done():
		f.of.mu.Lock()
		defer f.of.mu.Unlock()
		f.leave()
		return nil
	}
}

// Lead returns the context for the leader's work: it has the values of ctx, and
// ends when the leader's client, whose context ctx is, and all followers have
// left. Call stop when the work is done.
func (f *Flight) Lead(ctx context.Context) (work context.Context, stop func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.of.mu.Lock()
	f.cancel = cancel
	f.of.mu.Unlock()
	forget := context.AfterFunc(ctx, func() { f.Abandon() })
	return work, func() { forget(); cancel() }
}

// Abandon says that the leader's client has left, and tells whether somebody
// still waits for the answer.
func (f *Flight) Abandon() (followed bool) {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if !f.gone {
		f.gone = true
		f.leave()
	}
	return f.aboard > 0
}

// Land ends the flight with the answer, or nil when it is not one to share. Only
// the first call counts.
func (f *Flight) Land(a *Answer) {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.over {
		return
	}
	f.over, f.answer = true, a
	f.close()
	close(f.landed)
}

// leave counts one less aboard. Without anybody the work is for nothing.
func (f *Flight) leave() {
	if f.aboard--; f.aboard > 0 || f.over {
		return
	}
	f.close()
	if f.cancel != nil {
		f.cancel()
	}
}

// close takes the flight off the board; requests from here on begin another.
func (f *Flight) close() {
	if f.of.open[f.key] == f {
		delete(f.of.open, f.key)
	}
}
