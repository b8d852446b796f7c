package cost

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// Batch is what one step of an engine runs.
type Batch struct {
	Prefill []Prefill
	Decode  []Decode
}

// Prefill is a chunk of a prompt: Tokens new ones after Context that are
// cached. Final chunks sample a token.
type Prefill struct {
	Tokens, Context float64
	Final           bool
}

// Decode is Sequences sequences that each get one token after Context others.
type Decode struct {
	Sequences, Context float64
}

// Step is the time of one step in seconds, the terms it is the sum of, and the
// roofline limit below which no engine can go.
type Step struct {
	Seconds float64
	Limit   float64

	Fixed, Memory, Compute, Collective float64

	Tokens, Bytes, Operations float64 // Bytes and Operations on one rank
	Attention                 float64 // the part of Operations that is attention's, always at the 16-bit rate
}

// Bound names the largest term.
func (s Step) Bound() string {
	name, most := "fixed cost per layer", s.Fixed
	for _, t := range []struct {
		name string
		time float64
	}{{"memory bandwidth", s.Memory}, {"compute", s.Compute}, {"collectives", s.Collective}} {
		if t.time > most {
			name, most = t.name, t.time
		}
	}
	return name
}

// StepTime is the time that one batch takes from its start until its tokens are
// there: with a pipeline, the way through all stages.
//
// Of a mixture of experts, a step of n tokens touches the share 1 − (1 − k/E)^n
// of the experts, if routing is uniform and independent. Attention costs
// 2·(head width + value width) operations per head for each pair of a new token
// and one that it attends to; a chunk attends to half of itself on average.
// Tensor parallelism exchanges two activations per layer, each with a ring
// all-reduce that moves 2·(t−1)/t of it through the link (Megatron-LM, arXiv
// 1909.08053 §3); its latency is part of the fitted fixed cost.
func StepTime(f Facts, a *profiles.Accelerator, c Constants, b Batch) Step {
	var s Step
	sampled, pairs := 0.0, 0.0
	for _, p := range b.Prefill {
		if p.Tokens <= 0 {
			continue
		}
		s.Tokens += p.Tokens
		s.Bytes += f.KVBytes(p.Context) + f.KVBytes(p.Tokens)
		pairs += p.Tokens * f.attended(p.Context+p.Tokens/2)
		if p.Final {
			sampled++
		}
	}
	for _, d := range b.Decode {
		s.Tokens += d.Sequences
		sampled += d.Sequences
		s.Bytes += d.Sequences * f.KVBytes(d.Context)
		pairs += d.Sequences * f.attended(d.Context)
	}
	if s.Tokens == 0 {
		return s
	}
	s.Bytes += f.SharedBytes
	if f.Experts > 0 {
		untouched := math.Pow(1-float64(f.PerToken)/float64(f.Experts), s.Tokens)
		s.Bytes += f.ExpertBytes * (1 - untouched)
	}
	products := 2 * (f.LayerParameters*s.Tokens + f.HeadParameters*sampled)
	attention := 2 * f.HeadsWidth * pairs
	s.Operations, s.Attention = products+attention, attention

	memory := s.Bytes / a.BandwidthBytesPerS
	compute := products/Rate(a, f.WeightBit) + attention/Rate(a, 16)
	s.Fixed = c.PerLayerS * float64(f.Layers)
	s.Memory = c.MemoryFactor * memory
	s.Compute = c.ComputeFactor * compute
	if f.Tensor > 1 && a.LinkBytesPerS > 0 {
		t := float64(f.Tensor)
		s.Collective = 2 * float64(f.Layers) * 2 * (t - 1) / t * s.Tokens * float64(f.Hidden) * 2 / a.LinkBytesPerS
	}
	s.Seconds = s.Fixed + s.Memory + s.Compute + s.Collective
	s.Limit = max(memory, compute)
	return s
}

// Rate is the dense matrix rate of an accelerator for a width of values, in
// operations per second; a device without units of that width uses the next
// wider ones.
func Rate(a *profiles.Accelerator, bits int) float64 {
	if bits <= 4 && a.FP4FlopsPerS > 0 {
		return a.FP4FlopsPerS
	}
	if bits <= 8 && a.FP8FlopsPerS > 0 {
		return a.FP8FlopsPerS
	}
	return a.BF16FlopsPerS
}

// Marginal is what a chunk of a prompt adds to a step that runs anyway: its
// operations, its collectives and the cache that it reads and writes, without
// the fixed cost and the weights, which the step has read already.
func Marginal(f Facts, a *profiles.Accelerator, c Constants, p Prefill) float64 {
	s := StepTime(f, a, c, Batch{Prefill: []Prefill{p}})
	if s.Tokens == 0 {
		return 0
	}
	cache := f.KVBytes(p.Context) + f.KVBytes(p.Tokens)
	return s.Compute + s.Collective + c.MemoryFactor*cache/a.BandwidthBytesPerS
}
