package cost

import (
	"math"

	"github.com/llmctl/llmctl/internal/portable"
	"github.com/llmctl/llmctl/profiles"
)

// Batch is what one step of an engine runs.
type Batch struct {
	Prefill []Prefill
	Decode  []Decode
	Verify  []Verify
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
// roofline limit below which no engine can go. Bytes and operations are those of
// one rank.
type Step struct {
	Seconds float64
	Limit   float64

	Fixed, Memory, Compute, Collective float64

	Tokens, Sampled float64
	Bytes           float64 // read: shared weights, experts touched, cache
	ExpertBytes     float64 // the part of Bytes that is experts
	Operations      float64
	ExpertProducts  float64 // the part of Operations that is experts'
	Attention       float64 // the part of Operations that is attention's, always at the 16-bit rate
	Index           float64 // the part of Operations that scores a sparse attention's index, in fp8
	Exchanges       float64 // collectives, times the rounds that each takes
	ExchangedBytes  float64
}

// Bound names the largest term.
func (s Step) Bound() string {
	name, most := "fixed cost per layer", s.Fixed
	for _, t := range [...]struct {
		name string
		time float64
	}{{"memory bandwidth", s.Memory}, {"compute", s.Compute}, {"collectives", s.Collective}} {
		if t.time > most {
			name, most = t.name, t.time
		}
	}
	return name
}

// work is what the sequences of a batch are in sum.
type work struct {
	tokens, sampled  float64
	cache            float64 // bytes
	attention, index float64 // operations
	prefill          bool
}

func (w *work) addPrefill(f *Facts, p Prefill) {
	if p.Tokens <= 0 {
		return
	}
	w.prefill = true
	w.tokens += p.Tokens
	if p.Final {
		w.sampled++
	}
	w.addCache(f, p)
	for i := range f.KV {
		k := &f.KV[i]
		w.attend(k, float64(2*k.Width*k.pairs(p.Context, p.Tokens)))
	}
}

// addCache adds what a chunk reads of the cache, and writes to it.
func (w *work) addCache(f *Facts, p Prefill) {
	for i := range f.KV {
		k := &f.KV[i]
		w.cache += float64(k.BytesPerToken * (k.gathered(p.Context, p.Tokens) + k.written(p.Tokens)))
	}
}

func (w *work) addDecode(f *Facts, d Decode) {
	w.tokens += d.Sequences
	w.sampled += d.Sequences
	for i := range f.KV {
		w.read(&f.KV[i], d.Sequences*f.KV[i].read(d.Context))
	}
}

// read adds the tokens that decodes read of the cache of a kind.
func (w *work) read(k *KVKind, tokens float64) {
	w.cache += float64(k.BytesPerToken * tokens)
	w.attend(k, float64(2*k.DecodeWidth*tokens))
}

func (w *work) attend(k *KVKind, operations float64) {
	if k.Index {
		w.index += operations
	} else {
		w.attention += operations
	}
}

// StepTime is the time that one batch takes from its start until its tokens are
// there: with a pipeline, the way through all stages.
//
// Of a mixture of experts, a step of n tokens touches the share 1 − (1 − k/E)^n
// of the experts, if routing is uniform and independent. Attention costs
// 2·(head width + value width) operations per head for each pair of a new token
// and one that it attends to (KVKind has the exceptions).
// Data-parallel ranks hold the sequences of a batch in equal parts; the experts
// see the tokens of all.
//
// Reading and computing overlap in part: together they take √(memory² +
// compute²), between their sum (no overlap) and the larger of the two (perfect
// overlap, the roofline). Of the norms that were tried this one predicts models
// that were held out best.
func StepTime(f Facts, a *profiles.Accelerator, c Constants, b Batch) Step {
	e := NewEvaluator(&f, a, &c)
	for _, p := range b.Prefill {
		e.AddPrefill(p)
	}
	for _, d := range b.Decode {
		e.add(d)
	}
	for _, v := range b.Verify {
		e.AddVerify(v)
	}
	return e.Step()
}

func stepTime(f *Facts, a *profiles.Accelerator, c *Constants, w work) Step {
	s := Step{Tokens: w.tokens, Sampled: w.sampled}
	if s.Tokens == 0 {
		return s
	}
	ranks := 1 / float64(max(1, f.Data))
	local := float64(w.tokens * ranks)
	s.ExpertBytes = float64(f.ExpertBytes * f.touched(w.tokens))
	s.Bytes = f.SharedBytes + float64(w.cache*ranks) + s.ExpertBytes
	products := float64(2 * (float64(f.LayerParameters*local) + float64(f.HeadParameters*w.sampled*ranks)))
	s.ExpertProducts = float64(2 * f.ExpertParameters * w.tokens)
	s.Attention, s.Index = float64(w.attention*ranks), float64(w.index*ranks)
	s.Operations = products + s.ExpertProducts + s.Attention + s.Index

	rate := Rate(a, f.Units)
	attention := s.Attention/AttentionRate(a) + s.Index/Rate(a, FP8)
	s.Fixed = c.Fixed(f, w.sampled*ranks, w.prefill)
	s.Memory = (float64(c.MemoryFactor*(s.Bytes-s.ExpertBytes)) + float64(c.ExpertMemoryFactor*s.ExpertBytes)) / a.BandwidthBytesPerS
	s.Compute = (float64(c.ComputeFactor*products)+float64(c.ExpertComputeFactor*s.ExpertProducts))/rate + float64(c.ComputeFactor*attention)
	s.exchange(f, a, c, local)
	s.Seconds = s.Fixed + overlap(s.Memory, s.Compute) + s.Collective
	s.Limit = max(s.Bytes/a.BandwidthBytesPerS, (products+s.ExpertProducts)/rate+attention)
	return s
}

// Fixed is the part of a step's time that does not depend on the work in it, but
// on its launches: per step, per layer and kind of layer, per layer once more
// when the step also carries prompts, and per sequence that samples a token.
func (c *Constants) Fixed(f *Facts, sequences float64, prefill bool) float64 {
	layers := float64(f.Layers)
	t := c.StepS + float64(c.LayerS*layers) + float64(c.LatentS*float64(f.LatentLayers)) + float64(c.ExpertS*float64(f.ExpertLayers)) + float64(c.SequenceS*sequences)
	if prefill {
		t += float64(c.PromptS * layers)
	}
	return t
}

// overlap is the time of reading and computing together.
func overlap(memory, compute float64) float64 {
	return math.Sqrt(float64(memory*memory) + float64(compute*compute))
}

// power is x^n for x in 0 to 1: by squaring while n is a small whole number,
// which is most of what a simulator asks for, else through logarithms.
func power(x, n float64) float64 {
	if n < 0 || n > 64 || n != math.Trunc(n) {
		return portable.Exp(n * portable.Log(x))
	}
	result := 1.0
	for k := uint(n); k > 0; k >>= 1 {
		if k&1 == 1 {
			result *= x
		}
		x *= x
	}
	return result
}
