package simulator

import (
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// source sends the requests of one stream: an open loop at their times, a closed
// one as answers come in. It sends what the load generator would send, in the same
// order and at the same times, to a target that answers as fast: a turn that was
// not answered ends its session, and what is due at one time goes in the order of
// sessions.
type source struct {
	index  int
	stream *workload.Stream
	open   bool
	next   int64 // session

	first *request // of an open loop: the next session's, which is not due yet; nil after the last
	later dueQueue // turns of an open loop that wait for their time, or of a closed one for a slot
	live  int      // sessions of an open loop that have begun and will send again
}

// slot is one of the requests that a closed loop keeps in flight, or a user.
type slot struct{ user bool }

func newSource(index int, stream *workload.Stream) *source {
	_, closed := stream.Closed()
	_, users := stream.Users()
	return &source{index: index, stream: stream, open: !closed && !users}
}

// start plans the first requests.
func (src *source) start(s *sim) {
	slots, user := 0, false
	if n, ok := src.stream.Closed(); ok {
		slots = n
	}
	if n, ok := src.stream.Users(); ok {
		slots, user = n, true
	}
	for i := range slots {
		sl := &slot{user: user}
		s.agenda.plan(src.stream.Joins(i), call(func(s *sim) { src.fill(s, sl) }))
	}
	if src.open {
		src.upcoming(s)
	}
}

// upcoming makes the next session of an open loop the one to come.
func (src *source) upcoming(s *sim) {
	if src.first = src.newSession(nil); src.first == nil {
		return
	}
	src.first.due = src.first.session.Offset
	s.agenda.plan(src.first.due, src)
}

// happen sends what an open loop has due.
func (src *source) happen(s *sim) {
	for s.ended < 0 {
		r := src.takeDue(s)
		if r == nil {
			return
		}
		if len(r.session.Turns) > 1 {
			src.count(r)
		}
		s.send(r)
		if src.spent() {
			s.exhausted()
		}
	}
}

// takeDue takes out the first request that is due by now; nil when there is none.
func (src *source) takeDue(s *sim) *request {
	if f := src.first; f != nil && f.due <= s.now && (len(src.later) == 0 || before(f, src.later[0])) {
		src.upcoming(s)
		return f
	}
	if len(src.later) > 0 && src.later[0].due <= s.now {
		return src.later.pop()
	}
	return nil
}

// count keeps the number of sessions that will send again, of which r is a turn
// that is sent now.
func (src *source) count(r *request) {
	if r.turn == 0 {
		src.live++
	}
	if r.turn == len(r.session.Turns)-1 {
		src.live--
	}
}

// spent reports whether the stream will never send again.
func (src *source) spent() bool { return src.open && src.first == nil && src.live == 0 }

// newSession is the first request of the next session; nil when there are no more.
func (src *source) newSession(sl *slot) *request {
	session := src.stream.Session(src.next)
	if len(session.Turns) == 0 {
		return nil
	}
	src.next++
	return src.newTurn(&session, 0, 0, sl)
}

func (src *source) newTurn(session *workload.Session, turn, said int, sl *slot) *request {
	t := &session.Turns[turn]
	return &request{
		stream: src.index, session: session, turn: turn, said: said, slot: sl,
		prompt: max(1, said+t.Input), output: max(1, t.Output), cached: -1,
	}
}

// answered goes on with the session of a request that has ended, and fills its
// slot. Nobody goes on from an answer that is not there, and a user who left does
// not come back to it.
func (src *source) answered(s *sim, r *request, ok bool) {
	if s.ended >= 0 {
		return
	}
	var next *request
	if left := r.turn+1 < len(r.session.Turns); left && ok {
		next = src.newTurn(r.session, r.turn+1, r.prompt+r.produced, r.slot)
		next.due = s.now + next.turnOf().Think
	} else if left && src.open {
		src.live--
	}
	switch {
	case src.open && next != nil:
		src.later.push(next)
		s.agenda.plan(next.due, src)
	case src.open:
		if src.spent() {
			s.exhausted()
		}
	case r.slot.user:
		src.goOn(s, r, next, pause(s, r, ok))
	default:
		if next != nil {
			src.later.push(next)
		}
		s.agenda.plan(s.now+pause(s, r, ok), call(func(s *sim) { src.fill(s, r.slot) })) // not at once: the caller is still at work
	}
}

// goOn has a user think and send the next turn, or the first one of another
// session, no sooner than after a pause.
func (src *source) goOn(s *sim, r, next *request, pause time.Duration) {
	if next == nil {
		if next = src.newSession(r.slot); next == nil {
			return
		}
		next.due = s.now + next.turnOf().Think
	}
	s.agenda.plan(max(next.due, s.now+pause), next)
}

// noticed is the least time between two requests of a sender in a closed loop when
// the first got no answer, or took no time. Without it, a loop whose requests all end
// at once would go round for ever at one moment, or nearly.
const noticed = time.Millisecond

func pause(s *sim, r *request, ok bool) time.Duration {
	if ok && s.now > r.sent {
		return 0
	}
	return max(0, r.sent+noticed-s.now)
}

// fill sends the next request of a slot: the later turn that has waited longest,
// else a new session. A user's first one it sends at once.
func (src *source) fill(s *sim, sl *slot) {
	if s.ended >= 0 {
		return
	}
	var r *request
	if len(src.later) > 0 && src.later[0].due <= s.now {
		r = src.later.pop()
	} else if r = src.newSession(sl); r == nil {
		return
	}
	r.slot, r.due = sl, s.now
	s.send(r)
}
