package cost

import "github.com/llmctl/llmctl/profiles"

// Chunk is what a chunk of a prompt brings into a step that carries decodes, in
// seconds. As reading and computing overlap, what it adds depends on the step:
// next to many decodes, which are bound by memory, a short prompt costs little.
type Chunk struct {
	launch, memory, compute, exchange float64

	experts     float64 // reading all experts
	expertBytes float64
	touched     float64 // share of the experts that it visits
}

// NewChunk computes the parts of a chunk.
func NewChunk(f Facts, a *profiles.Accelerator, c Constants, p Prefill) Chunk {
	alone := StepTime(f, a, c, Batch{Prefill: []Prefill{p}})
	k := Chunk{
		launch: c.PromptS * float64(f.Layers), compute: alone.Compute,
		experts: c.ExpertMemoryFactor * f.ExpertBytes / a.BandwidthBytesPerS, expertBytes: f.ExpertBytes, touched: f.touched(p.Tokens),
	}
	k.memory = alone.Memory - c.MemoryFactor*f.SharedBytes/a.BandwidthBytesPerS - float64(k.experts*k.touched)
	token := StepTime(f, a, c, Batch{Decode: []Decode{{Sequences: 1}}})
	k.exchange = max(0, alone.Collective-token.Collective)
	return k
}

// Beside is what the chunk adds to equal steps among which it is divided evenly.
func (k *Chunk) Beside(s *Step, steps float64) float64 {
	memory := s.Memory + k.memory/steps
	if k.expertBytes > 0 {
		memory += float64(k.experts * k.touched * (1 - s.ExpertBytes/k.expertBytes))
	}
	return float64(steps*(k.launch+overlap(memory, s.Compute+k.compute/steps)-overlap(s.Memory, s.Compute))) + k.exchange
}

// Without is the step that is left of one that carries the chunk alone when its
// prompt takes no time: launches, weights and the experts that it visits.
func (k *Chunk) Without(alone Step) Step {
	alone.Fixed -= k.launch
	alone.Memory -= k.memory
	alone.Compute, alone.Collective = 0, 0
	alone.Seconds = alone.Fixed + alone.Memory
	return alone
}
