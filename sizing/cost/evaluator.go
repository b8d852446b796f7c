package cost

import "github.com/llmctl/llmctl/profiles"

// Evaluator is StepTime of a batch that is told sequence by sequence, for callers
// with many steps: it keeps what does not change, and knows a number of decodes by
// the sum of their contexts where that is enough.
//
// What decodes read is summed up in tokens, which is exact, and only then weighed:
// the same batch costs the same to the last bit, however it is told.
type Evaluator struct {
	f *Facts
	a *profiles.Accelerator
	c *Constants

	w     work
	reads []float64 // tokens that decodes read of each kind of cache
	sums  bool
}

// NewEvaluator returns an evaluator of an empty batch. It keeps the pointers.
func NewEvaluator(f *Facts, a *profiles.Accelerator, c *Constants) *Evaluator {
	e := &Evaluator{f: f, a: a, c: c, reads: make([]float64, len(f.KV)), sums: true}
	for i := range f.KV {
		if k := &f.KV[i]; k.Window > 0 || k.Selected > 0 {
			e.sums = false
		}
	}
	return e
}

// Reset begins a new batch.
func (e *Evaluator) Reset() {
	e.w = work{}
	clear(e.reads)
}

// AddPrefill adds a chunk of a prompt.
func (e *Evaluator) AddPrefill(p Prefill) { e.w.addPrefill(e.f, p) }

// AddDecode adds a sequence that gets one token after context others.
func (e *Evaluator) AddDecode(context int) { e.add(Decode{1, float64(context)}) }

// AddDecodes adds sequences that get one token each, all after context others.
func (e *Evaluator) AddDecodes(sequences, context int) {
	e.add(Decode{float64(sequences), float64(context)})
}

func (e *Evaluator) add(d Decode) {
	e.w.tokens += d.Sequences
	e.w.sampled += d.Sequences
	for i := range e.f.KV {
		e.reads[i] += float64(d.Sequences * e.f.KV[i].read(d.Context))
	}
}

// Sums reports whether decodes may be added by AddSum: no layer sees less than all
// of a sequence.
func (e *Evaluator) Sums() bool { return e.sums }

// AddSum adds sequences that get one token each, after contexts of the given sum.
func (e *Evaluator) AddSum(sequences int, contexts int64) {
	e.w.tokens += float64(sequences)
	e.w.sampled += float64(sequences)
	for i := range e.f.KV {
		e.reads[i] += e.f.KV[i].read(float64(contexts))
	}
}

// Step is the time of the batch.
func (e *Evaluator) Step() Step {
	w := e.w
	for i := range e.f.KV {
		w.read(&e.f.KV[i], e.reads[i])
	}
	return stepTime(e.f, e.a, e.c, w)
}
