package simulator

import (
	"time"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/reports/record"
)

// fleet keeps the books of replicas that come and go.
type fleet struct {
	paid    []payment
	changes []FleetChange
	starts  bool // a replica, now
}

// payment is what one replica was there for.
type payment struct {
	from, to     time.Duration
	usdPerHour   float64
	accelerators int
}

// FleetChange is how many replicas there are in each state from a time on. A
// crashed one is Down until it is back.
type FleetChange struct {
	At                                time.Duration
	Serving, Starting, Draining, Down int
}

// life is what a replica has beside its engine.
type life struct {
	from     time.Duration // when it was asked for
	left     bool          // it will not come back
	factor   float64       // of failures on the time of its steps; 0 is 1
	runs     bool          // a step does
	since    time.Duration // when that changed last
	ran      time.Duration // time that steps ran before since
	ranThen  time.Duration // that the autoscaler saw last
	sending  int           // requests whose blocks are on their way to a decode replica
	wire     wire
	counters sched.Stats // of the engines that were in its place before
}

// turned notes that steps begin to run, or that there are none to run.
func (l *life) turned(now time.Duration, runs bool) {
	if l.runs == runs {
		return
	}
	l.ran = l.busy(now)
	l.runs, l.since = runs, now
}

// busy is for how long steps have run.
func (l *life) busy(now time.Duration) time.Duration {
	if l.runs {
		return l.ran + now - l.since
	}
	return l.ran
}

// stats are what the engine in this place says, with counters that go on when it
// is replaced: a new engine's begin at 0, which would hide what the run counted.
func (p *replica) stats() sched.Stats {
	st := p.sched.Stats()
	old := &p.life.counters
	st.Preemptions += old.Preemptions
	st.PrefixQueries += old.PrefixQueries
	st.PrefixHits += old.PrefixHits
	st.PreemptedPrefixQueries += old.PreemptedPrefixQueries
	st.PreemptedPrefixHits += old.PreemptedPrefixHits
	st.ExternalQueries += old.ExternalQueries
	st.ExternalHits += old.ExternalHits
	st.Drafts += old.Drafts
	st.AcceptedDrafts += old.AcceptedDrafts
	return st
}

// noteFleet writes down how many replicas are in each state.
func (s *sim) noteFleet() {
	s.noteQueue()
	c := FleetChange{At: s.now}
	for _, p := range s.front.replicas {
		switch {
		case p.life.left:
		case p.state == serving:
			c.Serving++
		case p.state == starting:
			c.Starting++
		case p.state == draining:
			c.Draining++
		default:
			c.Down++
		}
	}
	s.fleet.starts = c.Starting > 0
	if n := len(s.fleet.changes); n > 0 && s.fleet.changes[n-1].At == s.now {
		s.fleet.changes[n-1] = c
		return
	}
	s.fleet.changes = append(s.fleet.changes, c)
}

// renew puts a fresh engine with nothing in its cache into the place of a replica
// that has none. The old one stays with whoever still points to it, and is dead.
func (s *sim) renew(old *replica) *replica {
	p := newReplica(s, old.index, old.pool)
	p.life, p.counts, p.account = old.life, old.counts, old.account
	p.life.sending, p.life.wire = 0, wire{}
	s.front.replicas[old.index] = p
	return p
}

// begin has a replica take requests.
func (s *sim) begin(p *replica) {
	p.state = serving
	p.account.start(s.now)
	s.tell(p, Serves)
	s.front.ready(p)
	s.noteFleet()
	s.meter.see(s, p)
}

// stop takes the engine from a replica: what it held is lost.
func (s *sim) stop(p *replica) {
	p.life.turned(s.now, false)
	if p.tells() {
		s.meter.see(s, p)
		s.meter.unsee(s, p)
		p.account.stop(s.now, s.windowEnd())
	}
	p.life.counters = p.stats()
	p.state, p.sched = down, noEngine()
	s.front.gone(p)
}

// noEngine is in the place of an engine that is gone: it has nothing, and takes up
// next to no memory, since a long run may see many replicas come and go.
func noEngine() *sched.Scheduler {
	return sched.New(sched.Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 1, MaxModelLen: 2}, kv.NewPool(2, 1))
}

// leave ends a replica that will not be needed any more.
func (s *sim) leave(p *replica) {
	if p.state != down {
		s.stop(p)
	}
	p.life.left = true
	s.tell(p, Leaves)
	s.pay(p)
	s.noteFleet()
}

// pay closes the account of a replica.
func (s *sim) pay(p *replica) {
	s.fleet.paid = append(s.fleet.paid, payment{p.life.from, s.now, p.kind.USDPerHour, p.kind.Accelerators})
}

// emptied is told of a replica that has one request less.
func (s *sim) emptied(p *replica) {
	if p.state == draining && p.load == 0 && p.life.sending == 0 {
		s.leave(p)
	}
}

// settleFleet closes the accounts that are open, and writes into the result what
// the window has cost.
func (s *sim) settleFleet() {
	for _, p := range s.front.replicas {
		if !p.life.left {
			s.pay(p)
		}
	}
	w := s.result.Window
	var usdSeconds float64
	for _, paid := range s.fleet.paid {
		span := float64(max(0, min(paid.to, w.End)-max(paid.from, w.Start))) / 1e9
		s.result.ReplicaSeconds += span
		s.result.AcceleratorSeconds += float64(span * float64(paid.accelerators))
		usdSeconds += float64(span * paid.usdPerHour)
	}
	if length := float64(w.End-w.Start) / 1e9; length > 0 {
		s.result.USDPerHour = usdSeconds / length
	}
	s.result.Fleet = s.fleet.changes
}

// tells reports whether a replica has a metrics page.
func (p *replica) tells() bool { return p.state == serving || p.state == draining }

// see takes one more sample of a replica.
func (m *meter) see(s *sim, p *replica) { m.samples = append(m.samples, p.sample(s.now)) }

// unsee says that a replica has nothing to tell from now on.
func (m *meter) unsee(s *sim, p *replica) {
	v := record.UnknownSample()
	v.At, v.Page = s.now, p.page()
	m.samples = append(m.samples, v)
}
