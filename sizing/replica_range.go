package sizing

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing/cost"
)

// ReplicaRange is how many replicas there would be if all steps took as much less
// or more time as the forecast may be off. Near the bound of an objective a few
// percent of a step are half of the rate that a replica carries.
type ReplicaRange struct {
	Low  int `json:"replicas_low"`
	High int `json:"replicas_high,omitempty"` // 0 when no number meets the objective then

	low, high edge
}

// edge is one end: the largest rate of a replica, and how long its requests take
// at the planned share of it.
type edge struct{ rate, e2e float64 }

// moved is the share of the replicas from which their range is worth a line.
const moved = 0.1

// fillReplicaRange computes the range for a load that was said.
func (s *situation) fillReplicaRange(p *Plan, r replica) {
	in, f := s.inputs, p.Fleet
	if in.Count > 0 || !in.loaded() {
		return
	}
	now, _ := r.quickRate(s.limits)
	if now == 0 {
		return
	}
	e := p.Performance.Error
	// at is one end; the quick rates are compared with each other, so that what they
	// are off by together does not count.
	at := func(factor float64) (edge, int) {
		slow := r
		slow.constants = slower(r.constants, factor)
		slow = newReplica(slow)
		rate, _ := slow.quickRate(s.limits)
		if rate == 0 {
			return edge{}, 0
		}
		rate *= p.Performance.MaxRPS / now
		return edge{rate, slow.at(rate * in.TargetUtilization).e2e()}, slow.needed(in, rate) + in.Spare
	}
	out := ReplicaRange{}
	out.low, out.Low = at(e.Low)
	out.high, out.High = at(e.High)
	planned := float64(f.Replicas)
	if out.Low == 0 || (out.High > 0 && math.Abs(float64(out.Low)-planned) <= moved*planned && math.Abs(float64(out.High)-planned) <= moved*planned) {
		return
	}
	f.ReplicaRange = &out
}

// slower are constants with which every step takes so many times as long.
func slower(c cost.Constants, factor float64) cost.Constants {
	v := c.Vector()
	for i, name := range cost.TermNames {
		if name != "request_us" {
			v[i] *= factor
		}
	}
	out := cost.FromVector(v)
	out.Error, out.Source = c.Error, c.Source
	return out
}

// replicaRange explains it.
func (d *derivations) replicaRange(p *Plan) {
	f, in := p.Fleet, p.Inputs
	if f.ReplicaRange == nil {
		return
	}
	for _, c := range []struct {
		end      string
		edge     edge
		factor   float64
		replicas int
	}{{"low", f.low, p.Performance.Error.Low, f.Low}, {"high", f.high, p.Performance.Error.High, f.High}} {
		if c.replicas == 0 {
			continue
		}
		d.note("largest rate per replica, "+c.end, "largest rate when every step takes × "+setting(c.factor),
			"bisection", c.edge.rate, "requests/s", c.end+" end of 80%")
		planned := fmt.Sprintf("%s/s × %s", precise(c.edge.rate), setting(in.TargetUtilization))
		formula, text := "⌈rate ÷ (largest rate × target utilization)⌉ + spare", fmt.Sprintf("⌈%s/s ÷ (%s)⌉ + %d", figure(in.RPS), planned, in.Spare)
		if in.RPS == 0 {
			formula = "⌈requests in flight ÷ (largest rate × target utilization × E2E at that rate)⌉ + spare"
			text = fmt.Sprintf("⌈%s ÷ (%s × %s s)⌉ + %d", units.Count(int64(in.Concurrency)), planned, precise(c.edge.e2e), in.Spare)
		}
		d.add("replicas, "+c.end, formula, text, float64(c.replicas), "replicas", "largest rate per replica, "+c.end)
	}
}
