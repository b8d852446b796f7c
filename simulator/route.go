package simulator

import (
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/profiles"
)

// Names of the router's policies, beside least_loaded.
const (
	roundRobin     = "round_robin"
	prefixAffinity = "prefix_affinity"
)

// entry is the role of replicas that requests come to first: those that serve
// alone, or those that prefill.
const entry = ""

// takes tells whether replicas of the kind have a role.
func (k *Kind) takes(role string) bool {
	if role == entry {
		return k.Role != "decode"
	}
	return k.Role == role
}

// choose picks a replica that serves, has the role and, where requests come in,
// has room by the gateway's limit; nil when there is none. The router's policy is
// for where requests come in: what comes to another role goes to the least loaded.
func (f *front) choose(r *request, role string) *replica {
	f.picks, f.picked = f.picks[:0], f.picked[:0]
	for _, p := range f.replicas {
		if !f.open(p, role) {
			continue
		}
		f.picks = append(f.picks, route.Endpoint{Load: int64(p.load), Resting: f.gateway != nil && !f.gateway.fit(p)})
		f.picked = append(f.picked, p)
	}
	f.turn++
	i := f.pick(r, role)
	if i < 0 {
		return nil
	}
	return f.picked[i]
}

// open tells whether a replica takes one more request for a role.
func (f *front) open(p *replica, role string) bool {
	return p.state == serving && p.kind.takes(role) && (role != entry || f.gateway == nil || f.gateway.hasRoom(p))
}

// pick applies the policy to the facts in picks.
func (f *front) pick(r *request, role string) int {
	switch {
	case role != entry:
	case f.affinity != nil:
		return f.affinity.pick(r, f.picks, f.picked, f.turn)
	case f.s.config.Cluster.Router.Policy == roundRobin:
		return route.RoundRobin(f.picks, f.turn)
	}
	return route.LeastLoaded(f.picks, f.turn)
}

// affinity routes by an index of which replica was sent which blocks.
type affinity struct {
	index   *route.Index
	kind    *Kind // that says what a block is
	loadCap float64
	prompt  []route.Block // reused
}

func newAffinity(r profiles.Router, k *Kind) *affinity {
	a := &affinity{index: route.NewIndex(k.Blocks), kind: k, loadCap: r.LoadCap}
	if a.loadCap == 0 {
		a.loadCap = route.DefaultLoadCap
	}
	return a
}

// pick chooses a replica, and notes the prompt there at once: requests that come
// together then go together.
func (a *affinity) pick(r *request, picks []route.Endpoint, picked []*replica, turn uint64) int {
	a.prompt = a.prompt[:0]
	for i := range r.prompt / a.kind.BlockSize {
		a.prompt = append(a.prompt, route.Block(a.kind.identity(r, i)))
	}
	for i := range picks {
		picks[i].Match = a.index.Match(picked[i].index, a.prompt)
	}
	i := route.PrefixAffinity(picks, a.loadCap, turn)
	if i >= 0 {
		a.index.Insert(picked[i].index, a.prompt)
	}
	return i
}
