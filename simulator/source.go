package simulator

import "github.com/llmctl/llmctl/loadgen/workload"

// source sends the requests of one stream: an open loop at their times, a closed
// one as answers come in.
type source struct {
	index  int
	stream *workload.Stream
	open   bool
	next   int64      // session
	later  []*request // turns that wait for a slot of a closed loop, in order of their time
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
		src.arrive(s)
	}
}

// arrive plans the next session of an open loop.
func (src *source) arrive(s *sim) {
	r := src.newSession(nil)
	if r == nil {
		return
	}
	r.due = r.session.Offset
	s.agenda.plan(r.due, arrival{src, r})
}

// arrival is a session of an open loop that begins.
type arrival struct {
	src *source
	r   *request
}

func (a arrival) happen(s *sim) {
	if s.ended >= 0 {
		return
	}
	a.src.arrive(s)
	s.send(a.r)
}

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
// slot.
func (src *source) answered(s *sim, r *request) {
	var next *request
	if r.turn+1 < len(r.session.Turns) {
		next = src.newTurn(r.session, r.turn+1, r.prompt+r.produced, r.slot)
		next.due = s.now + next.turnOf().Think
	}
	switch {
	case src.open:
		if next != nil {
			s.agenda.plan(next.due, next)
		}
	case r.slot.user:
		if next == nil {
			if next = src.newSession(r.slot); next == nil {
				return
			}
			next.due = s.now + next.turnOf().Think
		}
		s.agenda.plan(next.due, next)
	default:
		if next != nil {
			src.later = append(src.later, next)
			for i := len(src.later) - 1; i > 0 && src.later[i].due < src.later[i-1].due; i-- {
				src.later[i], src.later[i-1] = src.later[i-1], src.later[i]
			}
		}
		src.fill(s, r.slot)
	}
}

// fill sends the next request of a slot: the later turn that has waited longest,
// else a new session.
func (src *source) fill(s *sim, sl *slot) {
	if s.ended >= 0 {
		return
	}
	var r *request
	if len(src.later) > 0 && src.later[0].due <= s.now {
		r = src.later[0]
		src.later = src.later[1:]
	} else if r = src.newSession(sl); r == nil {
		return
	}
	r.slot, r.due = sl, s.now
	s.agenda.plan(s.now, r) // not at once: the caller is still at work
}
