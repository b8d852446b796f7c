package simulator

import (
	"errors"
	"fmt"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// Roles of replicas, beside those that serve alone.
const (
	prefill = "prefill" // compute prompts and send their K and V on
	decode  = "decode"  // generate after prompts that come to them
)

// wire is when the network adapters of a replica are free again.
type wire struct{ sends, receives time.Duration }

// part makes of a request what a replica of its role does of it.
//
// That is what vLLM's NIXL connector and its proxy do (docs/features/
// nixl_connector_usage.md, and toy_proxy_server.py beside its tests): the prefill
// replica samples one token, which nobody gets to see; the decode replica has the
// K and V of the whole prompt, computes the last token of it once more, and samples
// the first token that goes to the user. TTFT so contains the transfer, as in the
// plan. (LMCache's proxy shows the prefill replica's token at once.)
func (p *replica) part(r *request, q *sched.Request) *sched.Request {
	switch p.kind.Role {
	case prefill:
		q.MaxTokens = 1
	case decode:
		q.Loaded = r.prompt
	}
	return q
}

// transfer is the K and V of a prompt on the way from one replica to another.
type transfer struct {
	r        *request
	from, to *replica
	pinned   *sched.Pinned // at from
	try      int           // of the request
}

// transfer sends a request on that has been prefilled.
//
// Transfers wait in the order of their begin until the adapters of both replicas
// are free, and then have all of the bandwidth. The blocks at the prefill replica
// are held until they are over; those of the decode replica are taken when it
// admits the request.
func (s *sim) transfer(from *replica, r *request) {
	pinned := r.pinned
	r.pinned = nil
	from.life.sending++
	s.front.release(r)
	to := s.front.choose(r, decode)
	if to == nil {
		from.sent(pinned)
		s.front.lost(r)
		return
	}
	s.front.hold(r, to)
	begin := max(s.now, from.life.wire.sends, to.life.wire.receives)
	end := later(begin, seconds(s.transferTime(from, to, r.prompt)))
	from.life.wire.sends, to.life.wire.receives = end, end
	s.agenda.plan(later(end, s.config.Cluster.Link.Latency), &transfer{r, from, to, pinned, r.attempts})
}

// transferTime is how long a prompt's K and V take on the wire, in seconds. Each
// accelerator has an adapter of its own; where the two sides divide the cache over
// different numbers of them, the side with fewer takes as long as it takes.
func (s *sim) transferTime(from, to *replica, tokens int) float64 {
	bandwidth := s.config.Cluster.Link.BandwidthPerS
	if bandwidth <= 0 {
		return 0
	}
	return max(from.kind.cacheBytes(tokens), to.kind.cacheBytes(tokens)) / bandwidth
}

// cacheBytes are those of a sequence on one accelerator; its stages each have a
// part.
func (k *Kind) cacheBytes(tokens int) float64 {
	return k.Facts.KVBytes(float64(tokens)) / float64(max(1, k.Facts.Pipeline))
}

// happen is a transfer that is over.
func (t *transfer) happen(s *sim) {
	t.from.sent(t.pinned)
	r := t.r
	switch {
	case r.ended || !r.held || r.replica != t.to || r.attempts != t.try:
		// It was given up on the way.
	case t.from.state == down || t.to.state == down:
		s.front.lost(r)
	default:
		t.to.submit(r)
	}
}

// sent frees the blocks of a prompt that has been sent.
func (p *replica) sent(pinned *sched.Pinned) {
	p.life.sending--
	if p.state == down {
		return // they went with it
	}
	p.sched.Unpin(pinned)
	if p.idle() {
		p.step() // somebody may have waited for them
	}
	p.s.emptied(p)
}

// checkRoles reports pools between which requests can not pass.
func (c *Config) checkRoles() error {
	count := map[string]int{}
	for _, p := range c.Pools {
		switch role := p.Kind.Role; role {
		case "", "serve", prefill, decode:
			count[role] += p.Replicas
		default:
			return fmt.Errorf("pool %s: role %q, expected serve, prefill or decode", p.Name, role)
		}
	}
	switch all := count[""] + count["serve"] + count[prefill]; {
	case all == 0 && count[decode] > 0:
		return errors.New("requests have nowhere to come in: every pool has the role decode")
	case count[prefill] > 0 && count[decode] == 0:
		return errors.New("a pool with the role prefill needs one with the role decode")
	}
	return nil
}
