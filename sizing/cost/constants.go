package cost

import "strings"

// Constants are the engine's part of a step's time. Seconds are fixed costs,
// factors are the time of a kind of work over its ideal.
type Constants struct {
	StepS     float64 // per step
	LayerS    float64 // per layer
	LatentS   float64 // more per layer with latent attention
	ExpertS   float64 // more per layer with routed experts
	PromptS   float64 // more per layer of a step that carries prompts
	SequenceS float64 // per sequence that samples a token
	LatencyS  float64 // per round of a collective

	MemoryFactor        float64 // shared weights and cache
	ExpertMemoryFactor  float64 // weights of routed experts
	ComputeFactor       float64 // products and attention
	ExpertComputeFactor float64 // products of routed experts
	LinkFactor          float64 // bytes of collectives

	Error  Error
	Source string
}

// Error is how far off the model was on measured points that took no part in
// the fit: the median distance relative to the measurement, and the interval
// that held 80 % of them, as factors on a predicted time.
type Error struct {
	Relative  float64 `yaml:"median"`
	Low, High float64
}

// Terms is the number of fitted constants.
const Terms = 12

// TermNames are the keys of the constants in files, in the order of Vector. Those
// in µs hold microseconds; the others are factors.
var TermNames = [Terms]string{
	"step_us", "layer_us", "latent_layer_us", "expert_layer_us", "prompt_layer_us", "sequence_us", "exchange_us",
	"memory_factor", "expert_memory_factor", "compute_factor", "expert_compute_factor", "link_factor",
}

// term points at a constant by its place in TermNames.
func (c *Constants) term(i int) *float64 {
	return [Terms]*float64{
		&c.StepS, &c.LayerS, &c.LatentS, &c.ExpertS, &c.PromptS, &c.SequenceS, &c.LatencyS,
		&c.MemoryFactor, &c.ExpertMemoryFactor, &c.ComputeFactor, &c.ExpertComputeFactor, &c.LinkFactor,
	}[i]
}

// Vector is the constants in the order and the units of TermNames.
func (c Constants) Vector() [Terms]float64 {
	var v [Terms]float64
	for i := range v {
		v[i] = *c.term(i) / unit(i)
	}
	return v
}

// FromVector is the inverse of Vector.
func FromVector(v [Terms]float64) Constants {
	var c Constants
	for i := range v {
		*c.term(i) = v[i] * unit(i)
	}
	return c
}

func unit(term int) float64 {
	if strings.HasSuffix(TermNames[term], "_us") {
		return 1e-6
	}
	return 1
}
