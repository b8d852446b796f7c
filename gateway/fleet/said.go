package fleet

import (
	"math"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// said is what an endpoint's metrics told, beside what was in flight there from
// here at that moment. What a page did not tell is NaN.
type said struct {
	at                      time.Duration // when it was asked; what it says is not older
	running, waiting, usage float64
	own                     int64 // requests
	tokens                  int64 // their estimated tokens
}

// stale is after how many periods without an answer nothing is known any more.
const stale = 3

// room is how many requests an engine was seen to run at once, learned as TCP
// learns a path's: where a reading found the engine full, it is what ran then; where
// one finds nothing waiting and as many running as that, it is taken to be half as
// much more. 0 is unknown.
//
// It is what tells between two readings how many wait: without it, all that wait
// in the gateway would be sent as soon as one reading finds an engine with a place.
type room int64

func (r room) learn(s said, full int64) room {
	running := room(s.running)
	switch {
	case math.IsNaN(s.running) || math.IsNaN(s.waiting) || full == 0:
		return 0
	case s.waiting >= float64(full):
		return max(1, running)
	case r > 0 && s.waiting == 0 && running >= r:
		return r + r/2 + 1
	}
	return r
}

// view is what an endpoint has to do now: what its metrics said, carried on by
// what has been sent there and has ended since.
type view struct {
	load    int64   // requests of this gateway and of others
	waiting int64   // of those, in the engine's queue; 0 when unknown
	usage   float64 // share of the KV cache in use; 0 when unknown
}

// view is the endpoint's state at now. A page that is silent for too long says
// nothing, and then what is in flight from here counts alone.
func (e *Endpoint) view(now time.Duration) view {
	v := view{load: e.inFlight}
	s := &e.said
	if s.at == never || now-s.at > stale*e.every {
		return v
	}
	if all := s.running + s.waiting; !math.IsNaN(all) {
		v.load += max(0, int64(all)-s.own) // those of others
		switch {
		case e.room > 0:
			v.waiting = max(0, v.load-int64(e.room))
		case s.waiting > 0: // so whatever came since waits, too
			v.waiting = int64(s.waiting) + max(0, v.load-int64(all))
		}
	} else if !math.IsNaN(s.waiting) {
		v.waiting = int64(s.waiting)
	}
	if !math.IsNaN(s.usage) {
		v.usage = s.usage
		if size := e.kvTokens(); size > 0 {
			v.usage = max(0, s.usage+float64(e.tokens-s.tokens)/size)
		}
	}
	return v
}

// kvTokens is the size of the KV cache: what the engine says, else what follows
// from how much of it the tokens in flight have taken; 0 when nothing does.
func (e *Endpoint) kvTokens() float64 {
	if e.capacity > 0 {
		return float64(e.capacity)
	}
	if e.said.tokens > 0 && e.said.usage > minUsage {
		return float64(e.said.tokens) / e.said.usage
	}
	return 0
}

// minUsage is the use of a cache from which its size can be told by it.
const minUsage = 0.05

// full tells whether the endpoint takes no more. One with nothing to do always
// takes a request: there are engines whose cache is full of what nobody uses.
func (e *Endpoint) full(v view, s *Spec) bool {
	switch {
	case s.InFlight > 0 && e.inFlight >= s.InFlight:
		return true
	case v.load == 0:
		return false
	}
	return s.ShedQueue > 0 && v.waiting >= s.ShedQueue || s.ShedUsage > 0 && v.usage >= s.ShedUsage
}

// told notes a page that was asked for at a time, when own requests of so many
// tokens were in flight.
func (e *Endpoint) told(page record.ServerSample, at time.Duration, own, tokens int64, full int64) {
	e.said = said{
		at: at, running: page.Running, waiting: page.Waiting, usage: page.KVUsage,
		// What ended while the page was made may be on it or not: counted as sent
		// from here, it is not taken for others' work.
		own: max(own, e.inFlight), tokens: max(tokens, e.tokens),
	}
	e.room = e.room.learn(e.said, full)
}
