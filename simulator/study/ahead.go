package study

import (
	"math"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// leastAhead is the rate per second below which the scenario's arrivals do not fall
// between a moment and the end of the run. What cannot be told beforehand — clients
// of a closed loop, who wait for their answers, and traces — counts for nothing.
func (s *Study) leastAhead(now, end time.Duration) (rate float64) {
	sc := s.request.Sizing.Scenario
	rate = leastOf(sc.Workload.Arrival, now, end)
	for _, w := range sc.Also {
		rate += leastOf(w.Arrival, now, end)
	}
	return rate
}

// leastOf is leastAhead of one workload. Of a sine it is the mean where a whole
// period is left, since a queue lives through its low.
func leastOf(a profiles.Arrival, now, end time.Duration) float64 {
	switch a.Process {
	case profiles.Constant, profiles.Poisson, profiles.Gamma:
		return a.RatePerS
	case profiles.Ramp:
		done := 1.0
		if now < a.Over {
			done = now.Seconds() / a.Over.Seconds()
		}
		return min(a.FromPerS+float64(done*(a.ToPerS-a.FromPerS)), a.ToPerS)
	case profiles.Steps:
		return leastStep(a.Curve.Steps, now, end)
	case profiles.Sine:
		if end-now >= a.Period {
			return a.RatePerS
		}
		return max(0, a.RatePerS-a.AmplitudePerS)
	}
	return 0
}

// leastStep is the lowest rate of the steps of which some part lies between two
// moments. The last step goes on for ever.
func leastStep(steps []profiles.Step, now, end time.Duration) float64 {
	least := math.Inf(1)
	begin := time.Duration(0)
	for i, step := range steps {
		until := begin + step.For
		if i == len(steps)-1 {
			until = end + 1
		}
		if begin < end && until > now {
			least = min(least, step.RatePerS)
		}
		begin = until
	}
	return least
}

// settled reports whether no failure begins or ends between two moments.
func (s *Study) settled(from, to time.Duration) bool {
	for _, f := range s.request.Sizing.Scenario.Cluster.Failures {
		for _, at := range []time.Duration{f.At, f.At + f.For} {
			if from < at && at < to && (at == f.At || f.For > 0) {
				return false
			}
		}
	}
	return true
}

// clients are those of all closed loops together.
func (s *Study) clients() int {
	sc := s.request.Sizing.Scenario
	n := sc.Workload.Arrival.Concurrency + sc.Workload.Arrival.Count
	for _, w := range sc.Also {
		n += w.Arrival.Concurrency + w.Arrival.Count
	}
	return n
}
