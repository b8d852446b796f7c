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
	RequestS  float64 // per request and outside of the steps: server, tokenizer and the way to the client

	MemoryFactor        float64 // shared weights and cache
	ExpertMemoryFactor  float64 // weights of routed experts
	ComputeFactor       float64 // products and attention
	ExpertComputeFactor float64 // products of routed experts
	LinkFactor          float64 // bytes of collectives

	Error  Error
	Source string
}

// Error is how far off the times of steps and tokens are, and that of the first
// token, which depends on more than steps.
type Error struct {
	Spread `yaml:",inline"`
	First  Spread `yaml:"ttft,flow"`
}

// Spread is how far off the model was on measured points that took no part in
// the fit: the median distance relative to the measurement, and the interval
// that held 80 % of them, as factors on a predicted time. Basis says what those
// points shared with none that were fitted.
type Spread struct {
	Relative float64 `yaml:"median"`
	Low      float64
	High     float64
	Basis    Basis `yaml:"basis"`
}

// Basis is what was held out for a Spread, from what is known best to what is
// known least.
type Basis string

// The model itself was measured, at other loads; other models were, with this
// engine on this family; this engine was, on other families; this family was,
// with other engines; neither was.
const (
	HeldLoad   Basis = "own"
	HeldModel  Basis = "model"
	HeldFamily Basis = "family"
	HeldEngine Basis = "engine"
	HeldBoth   Basis = "engine and family"
)

// Bases are all of them, in this order.
var Bases = []Basis{HeldLoad, HeldModel, HeldFamily, HeldEngine, HeldBoth}

// Terms is the number of fitted constants.
const Terms = 13

// TermNames are the keys of the constants in files, in the order of Vector. Those
// in µs hold microseconds; the others are factors.
var TermNames = [Terms]string{
	"step_us", "layer_us", "latent_layer_us", "expert_layer_us", "prompt_layer_us", "sequence_us", "exchange_us",
	"memory_factor", "expert_memory_factor", "compute_factor", "expert_compute_factor", "link_factor", "request_us",
}

// term points at a constant by its place in TermNames.
func (c *Constants) term(i int) *float64 {
	return [Terms]*float64{
		&c.StepS, &c.LayerS, &c.LatentS, &c.ExpertS, &c.PromptS, &c.SequenceS, &c.LatencyS,
		&c.MemoryFactor, &c.ExpertMemoryFactor, &c.ComputeFactor, &c.ExpertComputeFactor, &c.LinkFactor, &c.RequestS,
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
