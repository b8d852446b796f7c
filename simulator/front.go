package simulator

import (
	"errors"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/reports/record"
)

// front is what stands between senders and replicas: nothing but a choice of
// replica, and a gateway if the cluster has one. What happens to replicas comes to
// it by four calls: ready, gone, lost and choose.
type front struct {
	s        *sim
	replicas []*replica // a replica's index is its place; none is ever taken out
	turn     uint64
	picks    []route.Endpoint // reused
	picked   []*replica       // reused: whose facts picks are
	affinity *affinity        // nil under another policy
	gateway  *gateway         // nil: none
	outages  outages
}

func newFront(s *sim) *front {
	f := &front{s: s}
	for i := range s.config.Pools {
		p := &s.config.Pools[i]
		for range p.Replicas {
			f.replicas = append(f.replicas, newReplica(s, len(f.replicas), p))
		}
	}
	if s.config.Cluster.Router.Policy == prefixAffinity {
		f.affinity = newAffinity(s.config.Cluster.Router, &f.replicas[0].pool.Kind)
	}
	f.gateway = newGateway(f)
	f.planOutages()
	return f
}

func (f *front) several() bool { return len(f.replicas) > 1 || f.s.config.scaled() }

// refusalTime is how long a refusal takes: a round trip within a data centre and
// a gateway's decision. It also keeps a closed loop whose requests are refused
// from sending without end at one instant.
const refusalTime = time.Millisecond

// arrive is a request that was sent.
func (f *front) arrive(r *request) {
	if f.gateway != nil {
		f.gateway.admit(r)
		return
	}
	p := f.choose(r, entry)
	if p == nil {
		r.attempts++
		r.why = noneServes
		f.refuse(r, record.Connect)
		return
	}
	f.try(r, p)
}

// try sends a request to a replica.
func (f *front) try(r *request, p *replica) {
	r.attempts++
	r.key = 0
	f.hold(r, p)
	// Time outside of the engine comes before it: server and tokenizer.
	r.arrives = f.s.now + seconds(p.kind.Constants.RequestS)
	if f.outages.replicas > 0 {
		r.arrives = f.s.now + refusalTime
	}
	f.s.agenda.plan(r.arrives, handOver{r})
}

// handOver is a request that comes to its engine.
type handOver struct{ r *request }

func (h handOver) happen(s *sim) {
	r := h.r
	switch {
	case r.ended || !r.held || r.arrives != s.now || r.key != 0:
		// The try that this belongs to was given up on the way.
	case r.replica.state == down || s.front.outages.replicas > 0:
		s.front.lost(r)
	default:
		r.replica.submit(r)
	}
}

// ready is a replica that has begun to serve.
func (f *front) ready(*replica) {
	if f.gateway != nil {
		f.gateway.pump()
	}
}

// gone is a replica whose cache is lost. Its requests are told one by one, to
// lost.
func (f *front) gone(p *replica) {
	if f.affinity != nil {
		f.affinity.index.Forget(p.index)
	}
	if f.gateway != nil {
		f.gateway.flush()
	}
}

// Why requests fail, for a person, where no policy says it.
const (
	noneServes = "no replica serves"
	brokeOff   = "its replica failed"
)

// lost is a request whose replica has died, or broken off, under it, and has
// forgotten it. One that has begun to answer can not be answered by another.
func (f *front) lost(r *request) {
	r.why = brokeOff
	switch {
	case f.gateway != nil:
		f.gateway.lost(r)
	case r.produced > 0:
		f.release(r)
		f.s.over(r, record.Failed, record.Truncated)
	default:
		f.release(r)
		f.refuse(r, record.Connect)
	}
}

// answering is a request of which the first token is there.
func (f *front) answering(r *request) {
	if r.passage != nil {
		r.passage.answered(f.s.now)
	}
}

// refuse fails a request that gets no answer.
func (f *front) refuse(r *request, failure record.Failure) {
	f.s.agenda.plan(f.s.now+refusalTime, refusal{r, failure})
}

// refusal is the end of a request that was refused, if its user is still there.
type refusal struct {
	r       *request
	failure record.Failure
}

func (e refusal) happen(s *sim) {
	if !e.r.ended {
		s.over(e.r, record.Failed, e.failure)
	}
}

// withdraw takes a request back that has not ended.
func (f *front) withdraw(r *request) {
	if r.held {
		r.replica.abort(r)
		f.release(r)
	}
	if r.passage != nil {
		f.gateway.withdraw(r)
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
		if f.gateway != nil {
			f.gateway.pump()
		}
	}
}

// refused is a request that its engine does not take: it can never run.
func (s *sim) refused(r *request, why error) {
	if long := (*sched.TooLongError)(nil); errors.As(why, &long) {
		why = long
	}
	r.why = why.Error()
	s.front.release(r)
	s.front.refuse(r, record.HTTPFailure(400))
}
