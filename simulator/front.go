package simulator

import (
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/reports/record"
)

// front is what stands between senders and replicas.
type front struct {
	s        *sim
	replicas []*replica
	turn     uint64
	picks    []route.Endpoint // reused
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

func (f *front) several() bool { return len(f.replicas) > 1 }

// arrive is a request that was sent.
func (f *front) arrive(r *request) {
	r.attempts++
	r.replica = f.pick(r)
	r.replica.load++
	// Time outside of the engine comes before it: server and tokenizer.
	delay := seconds(r.replica.kind.Constants.RequestS)
	f.s.agenda.plan(f.s.now+delay, handOver{r})
}

// handOver is a request that comes to its engine.
type handOver struct{ r *request }

func (h handOver) happen(*sim) {
	if !h.r.ended {
		h.r.replica.submit(h.r)
	}
}

func (f *front) pick(*request) *replica {
	f.picks = f.picks[:0]
	for _, r := range f.replicas {
		f.picks = append(f.picks, route.Endpoint{Load: int64(r.load)})
	}
	f.turn++
	return f.replicas[route.LeastLoaded(f.picks, f.turn)]
}

// withdraw takes a request back that has not ended.
func (f *front) withdraw(r *request) {
	if r.replica != nil {
		r.replica.abort(r)
		r.replica.load--
	}
}

// release is a request that its replica has answered.
func (f *front) release(r *request) { r.replica.load-- }

// refused is a request that its engine does not take: it can never run.
func (s *sim) refused(r *request) {
	s.front.release(r)
	s.over(r, record.Failed, record.HTTPFailure(400))
}
