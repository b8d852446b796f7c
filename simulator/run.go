package simulator

import (
	"context"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/reports/record"
)

// sim is a run.
type sim struct {
	config  Config
	now     time.Duration
	agenda  agenda
	sources []*source
	front   *front
	meter   *meter
	fleet   fleet
	waits   waits
	emit    func(*record.Record)
	record  record.Record // reused

	ids     int64
	counted int           // requests of the window so far
	open    int           // requests sent and not ended
	lastDue time.Duration // of the requests sent
	ended   time.Duration // when sending ended; −1 before
	patient bool          // the window lasts until the last answer
	known   bool          // the end of the window is
	onEnd   func(record.Window)
	flying  map[int64]*request
	runsOn  bool // a replica may end its step itself when nothing comes before
	result  Result
}

// Run simulates. Each request's record is handed to emit when it has ended, in
// order of time; the record and what it points to are valid until emit returns.
// Once sending has ended, which onEnd hears, the window is known: no request that
// was emitted before has a moment after its end.
func Run(ctx context.Context, c Config, onEnd func(record.Window), emit func(*record.Record)) (Result, error) {
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	s := newSim(c, onEnd, emit)
	s.runsOn = true
	for n := 0; ; n++ {
		if n%watchEvery == 0 {
			if ctx.Err() != nil {
				return s.finish(), context.Cause(ctx)
			}
			s.watch()
		}
		e, ok := s.agenda.next()
		if !ok {
			break
		}
		s.now = e.at
		s.result.Events++
		e.do.happen(s)
		if s.allOver() {
			break
		}
	}
	s.endWindow()
	return s.finish(), nil
}

// newSim is a run before its first event.
func newSim(c Config, onEnd func(record.Window), emit func(*record.Record)) *sim {
	s := &sim{config: c, emit: emit, onEnd: onEnd, ended: -1, flying: map[int64]*request{}}
	s.front = newFront(s)
	s.meter = newMeter(s)
	s.noteFleet()
	s.planFailures()
	s.planScaling()
	if end := s.planned(); end > 0 {
		s.agenda.plan(end, call((*sim).endSending))
	}
	s.startSources()
	return s
}

// allOver reports whether nothing is sent any more and everybody has an answer: what
// replicas still do for those who have left is of no interest.
func (s *sim) allOver() bool { return s.ended >= 0 && s.open == 0 }

func (s *sim) finish() Result {
	s.result.End = s.now
	s.settleFleet()
	s.result.Server = s.meter.samples
	s.result.Spent = s.spent()
	s.settleGateway()
	return s.result
}

// send is a request that goes out, unless sending has ended.
func (s *sim) send(r *request) {
	if !s.admits() {
		return
	}
	s.lastDue = r.due
	r.id = s.ids
	s.ids++
	r.sent = s.now
	s.flying[r.id] = r
	s.open++
	if after := r.turnOf().CancelAfter; after > 0 {
		s.agenda.plan(s.now+after, leave{r})
	}
	s.front.arrive(r)
}

// cancel is a user who leaves. Where replicas are not told, the request goes on
// without one; a fallback is told in any case.
func (s *sim) cancel(r *request) {
	if g := s.front.gateway; g != nil && g.PropagateCancel == "off" && r.passage.provided == nil {
		r.soFar()
		s.hear(r, record.Cancelled, "")
		r.orphan, r.heard = true, r.produced
		return
	}
	s.withdraw(r)
	s.over(r, record.Cancelled, "")
}

// withdraw takes a request out of wherever it is.
func (s *sim) withdraw(r *request) { s.front.withdraw(r) }

// over ends a request, and tells its user, unless that one has left before.
func (s *sim) over(r *request, outcome record.Outcome, failure record.Failure) {
	r.ended = true
	delete(s.flying, r.id)
	if r.passage != nil {
		s.front.gateway.over(r, outcome)
	}
	switch {
	case !r.orphan:
		s.hear(r, outcome, failure)
	case r.replica != nil && r.passage.provided == nil:
		unread := r.produced - r.heard
		r.replica.counts.unheard += float64(unread)
		if s.measuring() {
			r.replica.account.spent.Unread += int64(unread)
		}
	}
}

// hear is a user for whom a request is over: its record goes out, and whoever sent
// it goes on.
func (s *sim) hear(r *request, outcome record.Outcome, failure record.Failure) {
	s.open--
	s.write(r, outcome, failure)
	s.sources[r.stream].answered(s, r, outcome == record.OK)
}

// finished is what a replica tells of a request that has its answer.
func (s *sim) finished(r *request, reason sched.FinishReason) {
	s.front.release(r)
	s.over(r, record.OK, "")
}
