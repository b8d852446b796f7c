package model

import "github.com/llmctl/llmctl/engine/kv"

// Sequence is one request's part of a step, as an executor sees it.
type Sequence struct {
	Tokens []int32    // tokens to run: those at Start … Start+len(Tokens)−1
	Start  int        // tokens before them, whose K and V are in the cache
	Blocks []kv.Block // block table that covers all of them
	Copies []Copy     // blocks to copy before any K or V of the step is written

	Sample    bool     // produce the token after the last one
	Sampling  Sampling // how
	Forbidden []int32  // tokens that must not be sampled in this step
	Next      int32    // result; the executor sets it when Sample is true
}

// Copy is a KV block whose content another one gets as well, in all layers: of a
// block that several sequences share and one is about to write to.
type Copy struct{ From, To kv.Block }

// Places is how many of the step's last tokens need logits: the executor computes
// those after each of them and hands them to Sampler.Take in order.
func (q *Sequence) Places() int {
	if q.Sample {
		return 1
	}
	return 0
}

// Take uses the logits of a sequence's i-th place, which it may change. It returns
// false when the places behind it do not count any more: the sequence goes on with
// another token than was proposed there.
func (s *Sampler) Take(q *Sequence, _ int, logits []float32) (more bool) {
	q.Next = s.Sample(logits, q.Sampling, q.Start+len(q.Tokens), q.Forbidden)
	return true
}
