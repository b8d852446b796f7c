package simulator

import (
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

// account sums up what a replica's time went to over the window, and for what
// requests waited meanwhile. It does a constant amount of work per step.
type account struct {
	spent record.Spent
	from  time.Duration // of the window
	up    time.Duration // since when it is alive; below 0 while it is not

	steps, tokens float64 // of the whole run

	// The step that runs.
	began time.Duration
	terms cost.Step
	held  sched.Hold
	help  bool // a replica started meanwhile
}

func newAccount(window, now time.Duration) account { return account{from: window, up: now} }

// start is a replica that begins to serve.
func (a *account) start(now time.Duration) { a.up = now }

// stop is a replica that no longer serves; end is that of the window.
func (a *account) stop(now, end time.Duration) {
	if a.up >= 0 {
		a.spent.Alive += max(0, min(now, end)-max(a.up, a.from))
	}
	a.up = -1
}

// begin is a step that begins: the terms of its time, what kept others from being in
// it, and whether help is on its way, a replica that starts.
func (a *account) begin(now time.Duration, terms cost.Step, held sched.Hold, help bool) {
	a.began, a.terms, a.held, a.help = now, terms, held, help
}

// end is the step's end. The part of it that lies in the window counts.
func (a *account) end(now, windowEnd time.Duration) {
	a.steps++
	a.tokens += a.terms.Tokens
	took := min(now, windowEnd) - max(a.began, a.from)
	a.began = now // of a pipeline, others may run that began before
	if took <= 0 {
		return
	}
	s := &a.spent
	s.Steps++
	s.Tokens += int64(a.terms.Tokens)
	s.Busy += took
	// Reading and computing overlap: together they take the root of the sum of
	// their squares, of which each has the part of its square.
	memory, compute := float64(a.terms.Memory*a.terms.Memory), float64(a.terms.Compute*a.terms.Compute)
	overlapped := 0.0
	if memory+compute > 0 {
		overlapped = (a.terms.Seconds - a.terms.Fixed - a.terms.Collective) / (memory + compute)
	}
	part := func(seconds float64) time.Duration { return time.Duration(float64(took) * (seconds / a.terms.Seconds)) }
	m, c, x := part(overlapped*memory), part(overlapped*compute), part(a.terms.Collective)
	s.Memory, s.Compute, s.Collectives, s.Fixed = s.Memory+m, s.Compute+c, s.Collectives+x, s.Fixed+took-m-c-x
	if a.help && a.held != sched.HeldNothing {
		s.HeldStart += took
		return
	}
	switch a.held {
	case sched.HeldSlots:
		s.HeldSlots += took
	case sched.HeldBlocks:
		s.HeldBlocks += took
	case sched.HeldBudget:
		s.HeldBudget += took
	case sched.HeldBatch:
		s.HeldBatch += took
	}
}

// wait is what those who wait at the gateway wait for.
type wait uint8

const (
	nobody   wait = iota // waits
	forRoom              // at replicas that serve
	forStart             // of a replica: one starts, or none serves
)

// waits is for how long of the window somebody has waited at the gateway, and for
// what.
type waits struct {
	now   wait
	since time.Duration
	held  [forStart + 1]time.Duration
}

// noteQueue notes whether somebody waits from now on. It is called when the queue
// has changed, and when replicas have.
func (s *sim) noteQueue() {
	w := &s.waits
	w.held[w.now] += max(0, min(s.now, s.windowEnd())-max(w.since, s.config.Warmup))
	w.now, w.since = nobody, s.now
	if s.front.waiting() > 0 {
		w.now = s.front.awaited()
	}
}

// awaited is what who waits at the gateway waits for.
func (f *front) awaited() wait {
	serves := false
	for _, p := range f.replicas {
		switch {
		case !p.kind.takes(entry):
		case p.state == starting:
			return forStart
		case p.state == serving:
			serves = true
		}
	}
	if serves {
		return forRoom
	}
	return forStart
}

// spent is what the replicas' time went to, once the window is known.
func (s *sim) spent() (all []record.Spent) {
	s.noteQueue()
	for _, p := range s.front.replicas {
		if p.tells() {
			p.account.stop(s.now, s.windowEnd())
		}
		p.account.spent.Page = p.page()
		p.account.spent.HeldGateway, p.account.spent.HeldGatewayStart = s.waits.held[forRoom], s.waits.held[forStart]
		all = append(all, p.account.spent)
	}
	return all
}

// windowEnd is the end of the window, or now while it has not ended.
func (s *sim) windowEnd() time.Duration {
	if !s.known {
		return s.now
	}
	return s.result.Window.End
}
