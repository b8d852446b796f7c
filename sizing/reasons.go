package sizing

import (
	"fmt"
	"math"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// memoryReasons says why the model or its requests do not fit, and by how much;
// empty when they do.
func (s *situation) memoryReasons(m Memory, l layout, x mix) []string {
	in := s.inputs
	if m.KVCacheBytes <= 0 {
		return []string{fmt.Sprintf("the weights take %s of the %s that one %s gives the engine, and with activations and overhead %s are missing",
			units.Bytes(m.WeightsBytes), units.Bytes(int64(float64(m.TotalBytes)*in.GPUMemoryUtilization)), s.device.Name, units.Bytes(-m.KVCacheBytes))}
	}
	need := l.perRequest(in.MaxModelLen, in.MaxNumBatchedTokens)
	if need > m.KVCacheBlocks || m.KVCacheBlocks == 0 {
		missing := (need - m.KVCacheBlocks) * l.largestBlock()
		fits := l.longest(m.KVCacheBlocks, in.MaxModelLen, in.MaxNumBatchedTokens)
		return []string{fmt.Sprintf("one request of max_model_len %d needs %s of KV cache on each accelerator, the pool has %s: %s are missing; the longest that fits is %d tokens",
			in.MaxModelLen, units.Bytes(need*l.largestBlock()), units.Bytes(m.KVCacheBytes), units.Bytes(missing), fits)}
	}
	if long := x.longest + x.longOut; !s.lenGiven && float64(in.MaxModelLen) < min(long, float64(s.model.MaxPositions)) {
		return []string{fmt.Sprintf("the pool of %s holds requests of %d tokens, but the workload's longest percent has %s and more",
			units.Bytes(m.KVCacheBytes), in.MaxModelLen, units.Number(long))}
	}
	if m.MixSequences < 1 {
		return []string{fmt.Sprintf("the pool of %s does not hold one average request of the workload", units.Bytes(m.KVCacheBytes))}
	}
	return nil
}

// A clause is a bound of the objective and what a lone request takes.
type clause struct {
	name       string
	bound, got float64
}

// lone is what a lone request takes, for each bound that applies; empty when
// even one is too much.
func (l limits) lone(r replica) []clause {
	idle := r.at(idleRate)
	if !idle.stable {
		return nil
	}
	var clauses []clause
	for _, c := range []struct {
		name  string
		bound float64
		got   func() float64
	}{
		{"TTFT", l.ttft, func() float64 { return idle.ttftQuantile(l.quantile) }},
		{"TPOT", l.tpot, func() float64 { return idle.tpotQuantile(r, l.quantile) }},
		{"E2E", l.e2e, func() float64 { return idle.latency(r).quantile(l.quantile) }},
	} {
		if c.bound > 0 {
			clauses = append(clauses, clause{c.name, c.bound, c.got()})
		}
	}
	return clauses
}

// worst is how far the worst clause is beyond its bound, 1 where it just holds.
func worst(clauses []clause) float64 {
	most := math.Inf(1)
	for i, c := range clauses {
		if most = max(most, c.got/c.bound); i == 0 {
			most = c.got / c.bound
		}
	}
	return most
}

// broken words the clauses that do not hold.
func broken(clauses []clause, quantile float64) string {
	text := ""
	for _, c := range clauses {
		if c.got > c.bound {
			text += fmt.Sprintf("; %s p%g is %s against %s", c.name, quantile*100, units.Seconds(c.got), units.Seconds(c.bound))
		}
	}
	return text
}

// sloReason says which bound a lone request already breaks, and what its time
// is made of.
func (s *situation) sloReason(r replica, bound string) string {
	step := r.at(idleRate).decode
	var terms []string
	for _, t := range []struct {
		name    string
		seconds float64
	}{{"fixed cost per layer", step.Fixed}, {"memory", step.Memory}, {"compute", step.Compute}, {"collectives", step.Collective}} {
		if t.seconds > 0 {
			terms = append(terms, t.name+" "+units.Seconds(t.seconds))
		}
	}
	text := fmt.Sprintf("a lone request already breaks the %s%s; most of a decode step is %s (%s), its roofline limit is %s",
		bound, broken(s.limits.lone(r), s.limits.quantile), step.Bound(), strings.Join(terms, ", "), units.Seconds(step.Limit))
	if bound == "TTFT objective" {
		text += "; " + s.prefillBound(r)
	}
	return text
}
