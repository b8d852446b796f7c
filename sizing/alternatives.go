package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/shell"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Alternative is a change of the request that makes a plan feasible.
type Alternative struct {
	Change       string  `json:"change"`                 // the flags that change, "--tp 8"
	Command      string  `json:"command"`                // the whole command line
	Accelerators int     `json:"accelerators"`           // of one replica
	USDPerHour   float64 `json:"usd_per_hour,omitempty"` // of all replicas that the load takes, good to a few percent
	FewerBits    bool    `json:"fewer_bits,omitempty"`   // of weights or cache: what that does to the answers is not judged

	args []string
}

// Wrapped is the command over lines of at most width columns, for a shell.
func (a Alternative) Wrapped(width int) string { return shell.Wrap(a.args, width) }

// A change is flags and their values in pairs.
type change []string

// apply sets the flags in a request. Another accelerator has a memory and a price
// of its own.
func (c change) apply(r *Request) {
	for i := 0; i+1 < len(c); i += 2 {
		n, _ := strconv.Atoi(c[i+1])
		switch c[i] {
		case "--tp":
			r.Scenario.Parallel.Tensor = n
		case "--pp":
			r.Scenario.Parallel.Pipeline = n
		case "--dp":
			r.Scenario.Parallel.Data = n
		case "--ep":
			r.Scenario.Parallel.Expert = n
		case "--count":
			r.Count = n
		case "--gpu-memory-utilization":
			r.GPUMemoryUtilization, _ = strconv.ParseFloat(c[i+1], 64)
		case "--kv-cache-memory":
			if size, err := units.ParseBytes(c[i+1]); err == nil {
				r.KVCacheMemory = size
			}
		case "--max-model-len":
			r.MaxModelLen = n
		case "--max-num-seqs":
			r.MaxNumSeqs = n
		case "--max-num-batched-tokens":
			r.MaxNumBatchedTokens = n
		case "--kv-dtype":
			r.KVDType = c[i+1]
		case "--weight-dtype":
			r.WeightDType = c[i+1]
		case "--slo":
			if slo, err := profiles.ParseSLO(c[i+1]); err == nil {
				r.Scenario.SLO = []profiles.SLO{slo}
			}
		case "--accelerator":
			r.Scenario.Accelerator, r.AcceleratorMemory, r.Scenario.Price.USDPerAcceleratorHour = c[i+1], 0, 0
		}
	}
}

// has reports whether a flag is part of the change.
func (c change) has(flag string) bool { return slices.Contains(c, flag) }

// with is both changes.
func (c change) with(other change) change { return slices.Concat(c, other) }

// mostAlternatives is how many are offered.
const mostAlternatives = 6

// suggestion looks for changes of an infeasible request.
type suggestion struct {
	request Request
	found   []Alternative

	nearest change // that misses the objective by least
	misses  string // by what
	instead string // the objective that it holds
	off     float64
}

// works tries a change and keeps it when the request is feasible with it.
func (g *suggestion) works(c change) bool {
	changed := g.request
	c.apply(&changed)
	t, err := resolve(changed)
	if err != nil {
		return false
	}
	r, fits := t.trial()
	if !fits {
		return false
	}
	if t.sloGiven {
		if lone := t.limits.lone(r); !(worst(lone) <= 1) {
			g.miss(c, t, r, lone)
			return false
		}
	}
	if !t.carries(r) {
		return false
	}
	args := changed.Args()
	g.found = append(g.found, Alternative{
		Change: shell.Join(c), Command: shell.Join(args), Accelerators: t.inputs.accelerators(), USDPerHour: t.roughCost(r), FewerBits: c.has("--weight-dtype") || c.has("--kv-dtype"), args: args,
	})
	return true
}

// carries reports whether accelerators that are given carry the load that is, too.
func (s *situation) carries(r replica) bool {
	if s.inputs.Count == 0 || !s.inputs.loaded() {
		return true
	}
	rate := s.roughRate(r)
	if rate == 0 {
		return false
	}
	var p Plan
	return s.judge(&p, r, planLoad(r, s.inputs, rate), rate) && len(p.Reasons) == 0
}

// miss remembers the change that misses the objective by least.
func (g *suggestion) miss(c change, t *situation, r replica, lone []clause) {
	off := worst(lone)
	if off >= g.off || len(lone) == 0 {
		return
	}
	l := t.limits
	g.off, g.nearest, g.misses = off, c, broken(lone, l.quantile)
	l.take(l.raise(r))
	slo := profiles.SLO{TTFT: duration(l.ttft), TPOT: duration(l.tpot), E2E: duration(l.e2e)}
	if l.quantile != profiles.DefaultAttainment {
		slo.Attainment = l.quantile
	}
	g.instead = slo.String()
}

// first tries changes until one works.
func (g *suggestion) first(ladder []change) bool { return slices.ContainsFunc(ladder, g.works) }

// roughRate is the largest rate of a replica, to a few percent: of a default
// objective that a lone request breaks, under the one that takes its place.
func (s *situation) roughRate(r replica) float64 {
	rate, _ := r.quickRate(s.limits)
	if rate == 0 && !s.sloGiven {
		l := s.limits
		l.take(l.raise(r))
		rate, _ = r.quickRate(l)
	}
	return rate
}

// roughCost is what the replicas of the load cost per hour.
func (s *situation) roughCost(r replica) float64 {
	rate := s.roughRate(r)
	if rate == 0 {
		return 0
	}
	return float64(planLoad(r, s.inputs, rate).replicas*s.inputs.accelerators()) * s.inputs.USDPerAcceleratorHour
}

// suggest looks for small changes that make an infeasible request feasible, and
// adds them to the reasons in words: the cheapest first where prices are known.
func (s *situation) suggest(p *Plan, r Request, l layout) {
	g := &suggestion{request: r, off: math.Inf(1)}
	s.tryHere(g, p.Memory, l)
	s.tryMore(g)
	s.tryParallel(g)
	s.tryOthers(g)
	if len(g.found) == 0 && g.nearest != nil {
		nearest := g.nearest
		p.Reasons = append(p.Reasons, fmt.Sprintf("nothing that was tried meets the objective; the nearest is %s%s", shell.Join(nearest), g.misses))
		if kept := nearest.with(change{"--slo", g.instead}); g.works(kept) {
			p.Alternatives = g.found
			p.Reasons = append(p.Reasons, "it works with "+g.found[0].Change)
		}
		return
	}
	if len(g.found) == 0 {
		p.Reasons = append(p.Reasons, "nothing that was tried helps: smaller batches, more of the memory, fewer tokens, fp8 cache, 8-bit and 4-bit weights, tensor and pipeline parallelism, larger accelerators")
		return
	}
	slices.SortStableFunc(g.found, func(a, b Alternative) int { return cmp.Compare(a.rank(), b.rank()) })
	p.Alternatives = g.found[:min(mostAlternatives, len(g.found))]
	for _, a := range p.Alternatives {
		p.Reasons = append(p.Reasons, "it works with "+a.String())
	}
}

// tryMore takes as many accelerators as the load wants, where there are too few.
func (s *situation) tryMore(g *suggestion) {
	if s.inputs.Count == 0 || !s.inputs.loaded() {
		return
	}
	r, fits := s.trial()
	if !fits {
		return
	}
	rate := s.roughRate(r)
	if rate == 0 {
		return
	}
	free := s.inputs
	free.Count = 0
	enough := planLoad(r, free, rate/coarseness).replicas * s.inputs.accelerators()
	g.works(change{"--count", strconv.Itoa(enough)})
}

// rank is the price, or for want of one first what keeps the accelerator and last
// what does not. A pool that was given too small is before all.
func (a Alternative) rank() float64 {
	switch {
	case strings.HasPrefix(a.Change, "--kv-cache-memory"):
		return -1
	case a.USDPerHour > 0:
		return a.USDPerHour
	case strings.HasPrefix(a.Change, "--accelerator"):
		return math.Inf(1)
	}
	return 0
}

// priceText writes dollars to a cent, and whole ones with separators from 1,000.
func priceText(usd float64) string {
	if usd >= 1000 {
		return units.Count(int64(usd + 0.5))
	}
	return fmt.Sprintf("%.2f", usd)
}

// String is the change, its price and what is to be measured about it.
func (a Alternative) String() string {
	text := a.Change
	if a.USDPerHour > 0 {
		text += ", about $" + priceText(a.USDPerHour) + " per hour"
	}
	if a.FewerBits {
		text += "; fewer bits, so measure the answers"
	}
	return text
}

// trial is the replica of a situation, and whether model and requests fit.
func (s *situation) trial() (replica, bool) {
	l, err := s.newLayout()
	if err != nil {
		return replica{}, false
	}
	s.raiseBlock(l)
	m, x := s.fit(l)
	if len(s.memoryReasons(m, l, x)) > 0 {
		return replica{}, false
	}
	return s.newReplica(m, x), true
}

// prefillBound says what prefilling a prompt of the longest percent is made of.
func (s *situation) prefillBound(r replica) string {
	tokens := min(r.mix.longest, r.batched)
	step := cost.StepTime(r.facts, r.device, r.constants, cost.Batch{Prefill: []cost.Prefill{{Tokens: tokens, Final: true}}})
	return fmt.Sprintf("a step that prefills %s tokens takes %s, most of it %s", units.Number(tokens), units.Seconds(step.Seconds), step.Bound())
}
