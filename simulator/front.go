package simulator

import (
	"time"

	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/reports/record"
)

// front is what stands between senders and replicas. What happens to replicas
// comes to it by four calls: ready, gone, lost and choose.
type front struct {
	s        *sim
	replicas []*replica // a replica's index is its place; none is ever taken out
	turn     uint64
	picks    []route.Endpoint // reused
	picked   []*replica       // reused: whose facts picks are
}

func newFront(s *sim) *front {
	f := &front{s: s}
	for i := range s.config.Pools {
		p := &s.config.Pools[i]
		for range p.Replicas {
			f.replicas = append(f.replicas, newReplica(s, len(f.replicas), p))
		}
	}
	return f
}

func (f *front) several() bool { return len(f.replicas) > 1 || f.s.config.scaled() }

// refusalTime is how long a refusal takes: a round trip within a data centre and
// a gateway's decision. It also keeps a closed loop whose requests are refused
// from sending without end at one instant.
const refusalTime = time.Millisecond

// arrive is a request that was sent.
func (f *front) arrive(r *request) { f.try(r) }

// try sends a request to a replica.
func (f *front) try(r *request) {
	r.attempts++
	p := f.choose(r, entry)
	if p == nil {
		f.refuse(r, record.Connect)
		return
	}
	f.hold(r, p)
	// Time outside of the engine comes before it: server and tokenizer.
	r.arrives = f.s.now + seconds(p.kind.Constants.RequestS)
	f.s.agenda.plan(r.arrives, handOver{r})
}

// handOver is a request that comes to its engine.
type handOver struct{ r *request }

func (h handOver) happen(s *sim) {
	r := h.r
	switch {
	case r.ended || !r.held || r.arrives != s.now || r.key != 0:
		// The try that this belongs to was given up on the way.
	case r.replica.state == down:
		s.front.lost(r)
	default:
		r.replica.submit(r)
	}
}

// entry is the role of replicas that requests come to first: those that serve
// alone, or those that prefill.
const entry = ""

// choose picks a replica that serves and has the role; nil when there is none.
func (f *front) choose(_ *request, role string) *replica {
	f.picks, f.picked = f.picks[:0], f.picked[:0]
	for _, p := range f.replicas {
		if p.state == serving && p.kind.takes(role) {
			f.picks = append(f.picks, route.Endpoint{Load: int64(p.load)})
			f.picked = append(f.picked, p)
		}
	}
	f.turn++
	if i := route.LeastLoaded(f.picks, f.turn); i >= 0 {
		return f.picked[i]
	}
	return nil
}

// takes tells whether replicas of the kind have a role.
func (k *Kind) takes(role string) bool {
	if role == entry {
		return k.Role != "decode"
	}
	return k.Role == role
}

// ready is a replica that has begun to serve.
func (f *front) ready(*replica) {}

// gone is a replica whose cache is lost. Its requests are told one by one, to
// lost.
func (f *front) gone(*replica) {}

// lost is a request whose replica has died, or broken off, under it, and has
// forgotten it.
func (f *front) lost(r *request) {
	f.release(r)
	if r.produced > 0 {
		f.s.over(r, record.Failed, record.Truncated)
		return
	}
	f.refuse(r, record.Connect)
}

// refuse fails a request that has no answer.
func (f *front) refuse(r *request, failure record.Failure) {
	f.s.agenda.plan(f.s.now+refusalTime, call(func(s *sim) {
		if !r.ended {
			s.over(r, record.Failed, failure)
		}
	}))
}

// withdraw takes a request back that has not ended.
func (f *front) withdraw(r *request) {
	if r.held {
		r.replica.abort(r)
		f.release(r)
	}
}

// hold makes a request count as a replica's load, until release.
func (f *front) hold(r *request, p *replica) {
	r.replica, r.held = p, true
	p.load++
}

// release is a request that has left its replica.
func (f *front) release(r *request) {
	if r.held {
		r.held = false
		r.replica.load--
		f.s.emptied(r.replica)
	}
}

// refused is a request that its engine does not take: it can never run.
func (s *sim) refused(r *request) {
	s.front.release(r)
	s.front.refuse(r, record.HTTPFailure(400))
}
