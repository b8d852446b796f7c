package study

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

// surelyTooMuch is the load of a cluster, as a share of what the closed form has it
// serve at most, beyond which no simulation keeps up: the closed form leaves a tenth
// of the cache, and finds its rate within 3 %.
const surelyTooMuch = 1.33

// Least is the fewest replicas of a request that may serve a rate, in requests per
// second, whatever they take to answer: one, where the closed form does not know how
// much of the load gets to them or what they are capable of.
func Least(r sizing.Request, rate float64) int {
	if !foreseen(r.Scenario) {
		return 1
	}
	served, err := sizing.Serve(r)
	if err != nil || len(served.Reasons) > 0 {
		return 1 // the simulation says why
	}
	most := served.LargestRate()
	if most <= 0 {
		return 1
	}
	return int(max(1, math.Ceil(rate/(surelyTooMuch*most))))
}

// foreseen reports whether all of a steady load gets to replicas that are no faster
// than the closed form has them.
func foreseen(sc profiles.Scenario) bool {
	switch sc.Workload.Arrival.Process {
	case "", profiles.Constant, profiles.Poisson, profiles.Gamma:
	default:
		return false
	}
	s := sc.Serving
	return sc.Cluster.Gateway == (profiles.Gateway{}) && sc.Cluster.Autoscale == (profiles.Autoscale{}) &&
		s.Speculative == (profiles.Speculative{}) && s.Offload == (profiles.Offload{}) && s.ChunkedPrefill != "off"
}
