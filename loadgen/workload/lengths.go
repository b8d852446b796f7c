package workload

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// lengths draws token counts from one distribution.
type lengths struct {
	d         profiles.Distribution
	mu, sigma float64 // of the logarithm, lognormal only
}

func newLengths(what string, d profiles.Distribution) (lengths, error) {
	l := lengths{d: d}
	if err := d.Validate(); err != nil {
		return l, fmt.Errorf("%s: %w", what, err)
	}
	if d.Kind == profiles.Lognormal {
		l.mu, l.sigma = d.LogParameters()
	}
	return l, nil
}

// draw returns a length, at least 1.
func (l *lengths) draw(r random) int {
	v := l.d.Mean
	switch l.d.Kind {
	case profiles.Uniform:
		v = math.Floor(l.d.Min + r.uniform()*(math.Floor(l.d.Max)-l.d.Min+1))
	case profiles.Normal:
		v = l.d.Mean + l.d.StdDev*r.normal()
	case profiles.Lognormal:
		v = math.Exp(l.mu + l.sigma*r.normal())
	}
	return int(math.Round(max(v, 1)))
}
