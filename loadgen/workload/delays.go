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
	if err := d.Validate(); err != nil {
		return delays{}, fmt.Errorf("%s: %w", what, err)
	}
	delay := delays{d: d}
	if d.Kind == profiles.Lognormal {
		shape := profiles.Distribution{Kind: profiles.Lognormal, Mean: float64(d.Mean), P99: float64(d.P99)}
		delay.mu, delay.sigma = shape.LogParameters()
	}
	return delay, nil
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
