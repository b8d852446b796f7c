package sizing

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// mix is what requests of a workload are like: weighted points of the input
// lengths, and the distribution of the output lengths. The two are independent.
type mix struct {
	inputs  []requestPoint
	outputs lengths
	later   []weighted // tokens after the first, at least one

	outputPoints []weighted

	input, output    float64 // means
	outputSquare     float64 // mean of the square
	cached           float64 // mean prompt tokens that the prefix cache has
	common           float64 // those of them that requests of others have too: all but what a session said before
	shared           float64 // mean prompt tokens in shared prefixes, whole blocks
	groups           int
	longest, longOut float64 // 99th percentiles
}

// requestPoint is one length of prompts and the share of the requests that have
// it.
type requestPoint struct {
	weight float64
	tokens float64
	cached float64
	common float64 // of cached, what other sessions have too
}

// newMix reads a workload. A prompt's shared part is at most the prompt less
// one token, which must be computed to get the first output, in whole blocks.
// Of it the share resident is in the cache (prefixHits); the misses of a prefix's
// first use vanish over a long run.
func newMix(w profiles.Workload, blockSize int, resident float64, limit int) mix {
	return mixOf(w, limit, func(_ int, tokens float64) (cached, common, shared float64) {
		if w.Prefix.Groups > 0 {
			shared = wholeBlocks(min(float64(w.Prefix.Tokens), tokens-1), blockSize)
		}
		return shared * resident, shared * resident, shared
	})
}

// wholeBlocks is the part of so many tokens that fills blocks.
func wholeBlocks(tokens float64, blockSize int) float64 {
	return math.Floor(tokens/float64(blockSize)) * float64(blockSize)
}

// mixOf is the mix of a workload whose prompts are cached as kept says, which gets
// the number of a point and its length.
func mixOf(w profiles.Workload, limit int, kept func(i int, tokens float64) (cached, common, shared float64)) mix {
	inputs, outputs := newLengths(w.Input, limit), newLengths(w.Output, limit)
	m := mix{
		outputs: outputs,
		groups:  w.Prefix.Groups,
		longest: inputs.quantile(0.99),
		longOut: outputs.quantile(0.99),
	}
	for i, point := range inputs.points() {
		cached, common, shared := kept(i, point.value)
		p := requestPoint{weight: point.weight, tokens: point.value, cached: cached, common: common}
		m.inputs = append(m.inputs, p)
		m.input += p.weight * p.tokens
		m.cached += p.weight * p.cached
		m.common += p.weight * p.common
		m.shared += p.weight * shared
	}
	m.outputPoints = outputs.points()
	for _, point := range m.outputPoints {
		m.output += point.weight * point.value
		m.outputSquare += point.weight * point.value * point.value
		m.later = append(m.later, weighted{point.weight, max(1, point.value-1)})
	}
	return m
}

// alike reports whether all prompts have one length.
func (m mix) alike() bool {
	for _, p := range m.inputs {
		if p.tokens != m.inputs[0].tokens || p.cached != m.inputs[0].cached {
			return false
		}
	}
	return true
}

// hitRate is cached prompt tokens over prompt tokens.
func (m mix) hitRate() float64 { return m.cached / m.input }

// context is the mean number of tokens that a sequence in decode has, sampled
// over time: long outputs are in flight for longer, so that half the mean of
// the square over the mean is generated already.
func (m mix) context() float64 { return m.input + m.outputSquare/(2*m.output) }

// own is the mean number of tokens that a running sequence holds alone: less the
// prefixes that it shares.
func (m mix) own() float64 { return m.context() - m.common }

// unequal are squared coefficients of variation. That of the tokens which running
// sequences hold alone: a request of n output tokens has, at a random moment of its
// stay, any number up to n, and is met in proportion to n. And that of tokens × time
// over requests, in which a long request weighs twice, with its tokens and with its
// time.
func (m mix) unequal() (held, footprint float64) {
	square, cube, fourth := m.outputSquare, 0.0, 0.0
	for _, p := range m.outputPoints {
		cube += p.weight * p.value * p.value * p.value
		fourth += p.weight * p.value * p.value * p.value * p.value
	}
	inputs := 0.0
	for _, p := range m.inputs {
		inputs += p.weight * (p.tokens - p.common) * (p.tokens - p.common)
	}
	own, age := m.input-m.common, square/(2*m.output)
	held = (inputs - own*own + cube/(3*m.output) - age*age) / (m.own() * m.own())
	mean := own*m.output + square/2
	footprint = (inputs*square+own*cube+fourth/4)/(mean*mean) - 1
	return max(0, held), max(0, footprint)
}

// settled is the mean over outputs of m tokens after the first of 1 − ρ^m, the
// part of a delay by ρ, ρ², ρ³ … that falls into m steps, and of the same per
// token.
func (m mix) settled(rho float64) (part, perToken float64) {
	for _, p := range m.later {
		gone := 1 - math.Pow(rho, p.value)
		part += p.weight * gone
		perToken += p.weight * gone / p.value
	}
	return part, perToken
}
