package workload

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/internal/portable"
	"github.com/llmctl/llmctl/profiles"
)

// delays draws times from one distribution.
type delays struct {
	d         profiles.Delay
	mu, sigma float64 // of the logarithm of nanoseconds, lognormal only
}

func newDelays(what string, d profiles.Delay) (delays, error) {
	if err := checkDelay(d); err != nil {
		return delays{}, fmt.Errorf("%s: %w", what, err)
	}
	delay := delays{d: d}
	if d.Kind == profiles.Lognormal {
		shape := profiles.Distribution{Kind: profiles.Lognormal, Mean: float64(d.Mean), P99: float64(d.P99)}
		delay.mu, delay.sigma = shape.LogParameters()
	}
	return delay, nil
}

// checkDelay reports the first parameter that makes no sense.
func checkDelay(d profiles.Delay) error {
	switch d.Kind {
	case "":
		if d != (profiles.Delay{}) {
			return fmt.Errorf("times without a kind of distribution")
		}
	case profiles.Fixed, profiles.Exponential, profiles.Normal:
		if d.Mean < 0 || d.StdDev < 0 {
			return fmt.Errorf("mean %v and stddev %v, expected neither below 0", d.Mean, d.StdDev)
		}
	case profiles.Uniform:
		if d.Min < 0 || d.Max < d.Min {
			return fmt.Errorf("uniform from %v to %v, expected 0 or more, and no end before the beginning", d.Min, d.Max)
		}
	case profiles.Lognormal:
		if d.Mean <= 0 {
			return fmt.Errorf("mean %v, expected more than 0", d.Mean)
		}
		// The ratio of the two decides whether such a distribution exists.
		ratio := profiles.Distribution{Kind: profiles.Lognormal, Mean: 1, P99: float64(d.P99) / float64(d.Mean)}
		if err := ratio.Validate(); err != nil {
			return fmt.Errorf("p99 %v does not go with mean %v: no lognormal distribution has both", d.P99, d.Mean)
		}
	default:
		return fmt.Errorf("unknown distribution of times %q, expected fixed, uniform, normal, lognormal or exponential", d.Kind)
	}
	return nil
}

// draw returns a time, at least 0.
func (l *delays) draw(r random) time.Duration {
	switch l.d.Kind {
	case profiles.Fixed:
		return l.d.Mean
	case profiles.Uniform:
		return l.d.Min + time.Duration(toTicks(r.uniform()*float64(l.d.Max-l.d.Min)))
	case profiles.Normal:
		return time.Duration(toTicks(max(0, float64(l.d.Mean)+float64(float64(l.d.StdDev)*r.normal()))))
	case profiles.Lognormal:
		return time.Duration(toTicks(portable.Exp(l.mu + float64(l.sigma*r.normal()))))
	case profiles.Exponential:
		return time.Duration(toTicks(float64(l.d.Mean) * r.exponential()))
	}
	return 0
}
