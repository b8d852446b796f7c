package mock

import (
	"sync"
	"time"
)

// state is what the server knows about what it is doing.
type state struct {
	mu       sync.Mutex
	requests []Request
	next     int64 // index of the next request for tokens
	inFlight int   // requests for tokens, those that wait included
	peak     int
	running  int
	waiting  []*ticket // first come, first served; given up ones are skipped
	queued   int       // of those, not given up

	outcome struct{ finished, refused, left int64 }
	tokens  struct{ prompt, cached, output int64 }
	lengths struct{ prompt, output map[int]int64 } // answered requests by their tokens
	kv      int64                                  // tokens of the requests that run
	ttft    Lateness
	itl     Lateness
	e2e     Lateness
	late    Lateness // writes: done − due
	blocked int64    // writes that the client's full socket did not take at once
	cache   prefixCache
}

// A ticket is a request's place in the queue.
type ticket struct {
	grant func() // called once, when the request may run
	gone  bool
}

// enter counts a request for tokens and runs grant when there is a place for it:
// at once (then it has not been called, and wait is nil), or later.
func (s *Server) enter(grant func()) (wait *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
	if s.MaxConcurrency == 0 || s.running < s.MaxConcurrency {
		s.running++
		return nil
	}
	s.queued++
	wait = &ticket{grant: grant}
	s.waiting = append(s.waiting, wait)
	return wait
}

// leave ends a request that ran, and lets the next one run.
func (s *Server) leave() {
	s.mu.Lock()
	s.inFlight--
	s.running--
	var next *ticket
	for next == nil && len(s.waiting) > 0 && (s.MaxConcurrency == 0 || s.running < s.MaxConcurrency) {
		next, s.waiting = s.waiting[0], s.waiting[1:]
		if next.gone {
			next = nil
		}
	}
	if next != nil {
		next.gone = true // it can not be given up any more
		s.queued--
		s.running++
	}
	s.mu.Unlock()
	if next != nil {
		next.grant()
	}
}

// giveUp ends a request that waits. ok is false when it runs already.
func (s *Server) giveUp(t *ticket) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.gone {
		return false
	}
	t.gone = true
	s.queued--
	s.inFlight--
	s.outcome.left++
	return true
}

// A flight is a request that runs.
type flight struct {
	server  *Server
	a       *answer
	arrived time.Duration
	output  int64
	last    time.Duration // when the latest tokens were sent
}

// start says that an answer begins to be sent.
func (s *Server) start(a *answer, arrived time.Duration) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens.prompt += int64(a.prompt)
	s.tokens.cached += int64(a.cached)
	s.kv += int64(a.prompt)
	return &flight{server: s, a: a, arrived: arrived}
}

// sent says that a write was done at a time when it was due. A write that had to
// wait for the client's socket is not the server's lateness; blocked counts it.
func (f *flight) sent(p *piece, due, done time.Duration, blocked bool) {
	s := f.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if blocked {
		s.blocked++
	} else {
		s.late.Add(done - due)
	}
	if p.tokens == 0 {
		return
	}
	if f.output == 0 {
		s.ttft.Add(done - f.arrived)
	} else {
		s.itl.Add((done - f.last) / time.Duration(p.tokens))
	}
	f.last = done
	f.output += int64(p.tokens)
	s.tokens.output += int64(p.tokens)
	s.kv += int64(p.tokens)
}

// end says that the answer is over; left, that the client went before.
func (f *flight) end(now time.Duration, left bool) {
	s := f.server
	s.mu.Lock()
	s.kv -= int64(f.a.prompt) + f.output
	switch {
	case left:
		s.outcome.left++
	case f.a.status/100 != 2:
		s.outcome.refused++
	default:
		s.outcome.finished++
		s.e2e.Add(now - f.arrived)
		if s.lengths.prompt == nil {
			s.lengths.prompt, s.lengths.output = map[int]int64{}, map[int]int64{}
		}
		s.lengths.prompt[f.a.prompt]++
		s.lengths.output[int(f.output)]++
	}
	s.mu.Unlock()
	s.leave()
}

// Served is what a server has done so far.
type Served struct {
	Finished, Refused, Left int64 // requests for tokens: answered, answered with an error, given up by the client
	InFlight                int
	PromptTokens            int64
	CachedTokens            int64
	OutputTokens            int64
	Blocked                 int64    // writes that the client's full socket did not take at once
	Late                    Lateness // of the other writes
}

// Served sums up what the server has done so far.
func (s *Server) Served() Served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Served{
		Finished: s.outcome.finished, Refused: s.outcome.refused, Left: s.outcome.left, InFlight: s.inFlight,
		PromptTokens: s.tokens.prompt, CachedTokens: s.tokens.cached, OutputTokens: s.tokens.output,
		Blocked: s.blocked, Late: s.late,
	}
}

// Requests are the requests for tokens that came so far, in order. A server that
// Exact runs keeps none.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Peak is the largest number of requests for tokens that were in flight at one
// time.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// InFlight is how many requests for tokens are in flight.
func (s *Server) InFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight
}
