package sizing

import (
	"math"
	"slices"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/stats"
)

// mix is what requests of a workload are like, as equally likely points of its
// distributions. Input and output lengths are independent.
type mix struct {
	inputs  []requestPoint
	outputs []float64

	input, output    float64 // means
	outputSquare     float64 // mean of the square
	medianOutput     float64
	cached           float64 // mean prompt tokens that the prefix cache has
	shared           float64 // mean prompt tokens in shared prefixes, whole blocks
	groups           int
	longest, longOut float64 // 99th percentiles
}

// requestPoint is one length of prompts.
type requestPoint struct {
	tokens float64
	cached float64
}

const (
	inputPoints  = 64
	outputPoints = 32
)

// newMix reads a workload. A prompt's shared part is at most the prompt less
// one token, which must be computed to get the first output, in whole blocks.
// Of it the share resident is in the cache; the misses of a prefix's first use
// vanish over a long run.
func newMix(w profiles.Workload, blockSize int, resident float64, limit int) mix {
	m := mix{
		outputs:      points(w.Output, outputPoints, float64(limit)),
		groups:       w.Prefix.Groups,
		medianOutput: quantile(w.Output, 0.5),
		longest:      quantile(w.Input, 0.99),
		longOut:      quantile(w.Output, 0.99),
	}
	for _, tokens := range points(w.Input, inputPoints, float64(limit)) {
		shared := 0.0
		if w.Prefix.Groups > 0 {
			shared = math.Floor(min(float64(w.Prefix.Tokens), tokens-1)/float64(blockSize)) * float64(blockSize)
		}
		p := requestPoint{tokens: tokens, cached: shared * resident}
		m.inputs = append(m.inputs, p)
		m.input += tokens / inputPoints
		m.cached += p.cached / inputPoints
		m.shared += shared / inputPoints
	}
	for _, tokens := range m.outputs {
		m.output += tokens / outputPoints
		m.outputSquare += tokens * tokens / outputPoints
	}
	return m
}

// hitRate is cached prompt tokens over prompt tokens.
func (m mix) hitRate() float64 { return m.cached / m.input }

// context is the mean number of tokens that a sequence in decode has, sampled
// over time: long outputs are in flight for longer, so that half the mean of
// the square over the mean is generated already.
func (m mix) context() float64 { return m.input + m.outputSquare/(2*m.output) }

// points returns n equally likely values of a distribution: the middles of n
// slices of equal probability, scaled so that their mean is the distribution's,
// within 1 and limit.
func points(d profiles.Distribution, n int, limit float64) []float64 {
	values := make([]float64, n)
	sum := 0.0
	for i := range values {
		values[i] = max(1, quantile(d, (float64(i)+0.5)/float64(n)))
		sum += values[i]
	}
	scale := max(1, mean(d)) * float64(n) / sum
	for i := range values {
		values[i] = max(1, min(limit, values[i]*scale))
	}
	return values
}

// mean of a distribution before it is cut at 1.
func mean(d profiles.Distribution) float64 {
	if d.Kind == profiles.Uniform {
		return (d.Min + d.Max) / 2
	}
	return d.Mean
}

// quantile of a distribution.
func quantile(d profiles.Distribution, p float64) float64 {
	switch d.Kind {
	case profiles.Uniform:
		return d.Min + p*(d.Max-d.Min)
	case profiles.Normal:
		return max(1, d.Mean+d.StdDev*normalQuantile(p))
	case profiles.Lognormal:
		mu, sigma := d.LogParameters()
		return math.Exp(mu + sigma*normalQuantile(p))
	}
	return d.Mean
}

// normalQuantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// sampleQuantile is the p-quantile of values, which it sorts.
func sampleQuantile(values []float64, p float64) float64 {
	slices.Sort(values)
	return stats.Percentile(values, 100*p)
}
