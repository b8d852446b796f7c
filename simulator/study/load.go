package study

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

// load gives an open loop of which nobody says the rate the one that a plan
// recommends: as much as the replicas take at the target utilization.
func (s *Study) load() error {
	sc := &s.request.Sizing.Scenario
	a := &sc.Workload.Arrival
	if *a == (profiles.Arrival{}) {
		a.Process = profiles.Poisson
	}
	if !a.Process.Takes("rate") || a.RatePerS > 0 {
		return nil
	}
	each, err := s.recommended()
	if err != nil {
		return err
	}
	n := max(1, sc.Cluster.Replicas)
	if sc.Cluster.Replicas == 0 && len(sc.Cluster.Pools) == 0 && s.request.Sizing.Count == 0 {
		sc.Cluster.Replicas = 1
		s.assume("replicas", "1", "--replicas")
	}
	a.RatePerS = nice(each * float64(n))
	s.assume("rate", fmt.Sprintf("%g/s", a.RatePerS), "--rps or --concurrency")
	return nil
}

// recommended is the rate that one replica is planned to take.
func (s *Study) recommended() (float64, error) {
	r := s.request.Sizing
	r.Scenario.Workload.Arrival = profiles.Arrival{}
	r.Count = 0
	plan, err := sizing.Compute(r)
	if err != nil {
		return 0, err
	}
	if !plan.Feasible || plan.Fleet == nil {
		return 0, &CannotServe{plan.Reasons}
	}
	return plan.Fleet.RPS / float64(max(1, plan.Fleet.Replicas)), nil
}

// nice rounds a rate that nobody asked for to two digits, by the decimal ones: they
// are the same on every machine, which powers and logarithms are not.
func nice(rate float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 2, 64), 64)
	if err != nil {
		return rate
	}
	return out
}

// At is the same cluster at another load: a rate, or a concurrency of a closed
// loop. A length that nobody said is chosen anew.
func (s *Study) At(load float64, length Length) (*Study, error) {
	other := *s
	a := &other.request.Sizing.Scenario.Workload.Arrival
	if a.Process == profiles.Closed {
		a.Concurrency = int(math.Round(load))
	} else {
		a.RatePerS = load
	}
	var err error
	other.request.Length, err = length.complete(&other)
	return &other, err
}

// Unjudged is the same study without assertions, for a simulation that is one
// point of many.
func (s *Study) Unjudged() *Study {
	other := *s
	other.request.Run.Asserts = nil
	return &other
}
