package model

import "github.com/llmctl/llmctl/engine/kv"

// Sequence is one request's part of a step, as an executor sees it.
type Sequence struct {
	Tokens []int32    // tokens to run: those at Start … Start+len(Tokens)−1
	Start  int        // tokens before them, whose K and V are in the cache
	Blocks []kv.Block // block table that covers all of them
	// Copies are blocks to copy before any K or V of the step is written: those of
	// all sequences one after the other, because one may copy what a later one
	// overwrites.
	Copies []Copy

	// Score are tokens of the prompt whose log-probabilities are wanted: of one
	// after the other, at the places before those of Sample. Scores takes them.
	Score  []int32
	Scores []Logprob

	Sample    bool     // produce the token after the last one
	Drafts    int      // of Tokens, the last ones are proposals: they stand while each is what is sampled
	Sampling  Sampling // how
	Forbidden []int32  // tokens that must not be sampled …
	Until     int      // … at so many of the places to sample
	Guide     Guide    // which tokens may come next; nil: all
	History   *History // what penalties count; nil where there are none
	// Logprobs asks for the log-probability of each sampled token, Top and TopScore
	// for those of so many others beside the sampled ones and those of Score.
	Logprobs      bool
	Top, TopScore int
	// Siblings take their first token from the same logits as this sequence: other
	// answers to the prompt. Of them only what says how to sample counts, and what
	// comes of it.
	Siblings []*Sequence

	// What comes of it: Accepted of the drafts were right, and Next is the token
	// behind them, −1 if there is none that may come. Sampled has the
	// log-probabilities of these tokens. An executor without logits sets Next alone,
	// that of the siblings, too.
	Accepted int
	Next     int32
	Sampled  []Logprob
	Broken   bool // logits are NaN or infinite, so that nothing else of this counts
}

// Copy is a KV block whose content another one gets as well, in all layers: of a
// block that several sequences share and one is about to write to.
type Copy struct{ From, To kv.Block }

// Places is how many of the step's last tokens need logits: the executor computes
// those after each of them and hands them to Sampler.Take in order.
func (q *Sequence) Places() int {
	if q.Sample {
		return len(q.Score) + 1 + q.Drafts
	}
	return len(q.Score)
}

// Take uses the logits of a sequence's i-th place, which it may change. It returns
// false when the places behind it do not count any more: the sequence goes on with
// another token than was proposed there. All places of one sequence, in order, are
// one goroutine's.
func (s *Sampler) Take(q *Sequence, i int, logits []float32) (more bool) {
	if broken(logits) {
		q.Broken = true
		return false
	}
	if i < len(q.Score) {
		q.Scores = append(q.Scores, s.logprob(logits, q.Score[i], q.TopScore))
		return true
	}
	i -= len(q.Score)
	position := q.Start + len(q.Tokens) - q.Drafts + i
	for _, sibling := range q.Siblings {
		s.spareLogits = append(s.spareLogits[:0], logits...)
		s.take(sibling, 0, position, s.spareLogits)
	}
	token := s.take(q, i, position, logits)
	if i < q.Drafts && token == q.Tokens[len(q.Tokens)-q.Drafts+i] {
		q.Accepted++
		return true
	}
	return false
}

// take samples the token at a place, the i-th after what is known.
func (s *Sampler) take(q *Sequence, i, position int, logits []float32) int32 {
	if i == 0 {
		q.Accepted, q.Sampled = 0, nil
	}
	use := logits
	if q.Logprobs && q.changes(i) {
		s.changed = append(s.changed[:0], logits...)
		use = s.changed
	}
	s.change(q, i, use)
	q.Next = s.Sample(use, q.Sampling, position)
	if q.Next < 0 {
		q.Broken = q.Guide == nil // otherwise the guide has reached its end
		return q.Next
	}
	if q.Logprobs {
		q.Sampled = append(q.Sampled, s.logprob(logits, q.Next, q.Top))
	}
	if q.Guide != nil {
		q.Guide.Accept(q.Next)
	}
	if q.History != nil {
		q.History.Add(q.Next)
	}
	return q.Next
}
