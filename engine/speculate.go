package engine

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/model"
)

// Speculate says how tokens are proposed that may come next, so that one step can
// verify several. What is sampled at a place is a function of the logits there, the
// request's seed and the place alone, and a proposal stands only while it equals that:
// texts are the very same with and without, at any temperature.
type Speculate struct {
	Method SpeculateMethod
	Tokens int // proposed for a step; 0 is 4
	// NgramMin and NgramMax are the lengths of the end of the text that NGram looks
	// for; 0 is 2 and 4.
	NgramMin, NgramMax int
	Draft              *model.Weights // for DraftModel: of the same vocabulary
}

// SpeculateMethod is who proposes.
type SpeculateMethod string

// The methods. NGram finds where the last few tokens stood before and proposes what
// came after them (vllm/v1/spec_decode/ngram_proposer.py); DraftModel asks a smaller
// model.
const (
	NoSpeculation SpeculateMethod = ""
	NGram         SpeculateMethod = "ngram"
	DraftModel    SpeculateMethod = "draft"
)

const maxDrafts = 64 // more would make a step late for everybody

func (s Speculate) withDefaults(target model.Shape, window int) (Speculate, error) {
	if s.Method == NoSpeculation {
		return Speculate{}, nil
	}
	for _, f := range []struct {
		value  *int
		common int
	}{{&s.Tokens, 4}, {&s.NgramMin, 2}, {&s.NgramMax, max(4, s.NgramMin)}} {
		if *f.value == 0 {
			*f.value = f.common
		}
	}
	switch {
	case s.Method != NGram && s.Method != DraftModel:
		return s, fmt.Errorf("speculating by %q, expected %s or %s", s.Method, NGram, DraftModel)
	case s.Tokens < 1 || s.Tokens > maxDrafts:
		return s, fmt.Errorf("speculating %d tokens, expected 1 to %d", s.Tokens, maxDrafts)
	case s.Method == NGram && (s.NgramMin < 1 || s.NgramMax < s.NgramMin || s.NgramMax > maxGram):
		return s, fmt.Errorf("speculating by n-grams of %d to %d tokens, expected 1 to %d", s.NgramMin, s.NgramMax, maxGram)
	case s.Method == DraftModel && s.Draft == nil:
		return s, fmt.Errorf("speculating by a draft model, but there is none")
	case s.Method == DraftModel && s.Draft.Vocab != target.Vocab:
		return s, fmt.Errorf("the draft model %q has a vocabulary of %d, expected the %d of model %q", s.Draft.Name, s.Draft.Vocab, target.Vocab, target.Name)
	case s.Method == DraftModel && s.Draft.MaxPositions < window:
		return s, fmt.Errorf("the draft model %q has %d positions, expected max_model_len %d at least", s.Draft.Name, s.Draft.MaxPositions, window)
	}
	return s, nil
}

// propose is how many tokens the next step of an answer shall verify. A draft model
// is asked when that step is there.
func (e *Engine) propose(a *answer) int {
	n := e.config.Speculate.Tokens
	switch {
	case e.drafter != nil:
		if a.drafts == nil {
			a.drafts = make([]int32, n)
		}
	case a.grams != nil:
		a.grams.update(a.tokens)
		a.drafts = a.grams.propose(a.drafts[:0], a.tokens, n)
		a.drafts = a.drafts[:permitted(a.sequence.Guide, a.drafts)]
	}
	return len(a.drafts)
}

// permitted is how many of some tokens a guide would let pass.
func permitted(g model.Guide, tokens []int32) int {
	if g == nil {
		return len(tokens)
	}
	n := 0
	for n < len(tokens) && g.Accept(tokens[n]) {
		n++
	}
	g.Rollback(n)
	return n
}

// drafter runs a draft model beside the served one. Its cache has the same blocks: it
// runs every entry of every step in the same order, so that a block which holds K and
// V of one model holds those of the other for the same tokens, whether it is shared,
// copied, or found in the prefix cache.
type drafter struct {
	executor  Executor
	sequences []model.Sequence
	step      []*model.Sequence
}

func (c Config) drafter(poolBlocks int) (*drafter, error) {
	if c.Speculate.Method != DraftModel {
		return nil, nil
	}
	executor, err := c.onCPU(c.Speculate.Draft, poolBlocks)
	if err != nil {
		return nil, fmt.Errorf("draft model: %w", err)
	}
	return &drafter{executor: executor}, nil
}

// fill puts proposals where a step has room for them. It first runs what is known of
// all sequences, and then one proposal after the other, the last one included: K and
// V of all tokens are there if all are right.
func (d *drafter) fill(sequences []*model.Sequence) error {
	d.sequences = append(d.sequences[:0], make([]model.Sequence, len(sequences))...)
	most := 0
	for _, q := range sequences {
		most = max(most, q.Drafts)
	}
	for pass := range most + 1 {
		d.step = d.step[:0]
		for i, q := range sequences {
			if q.Drafts < pass {
				continue
			}
			known := len(q.Tokens) - q.Drafts
			s := &d.sequences[i]
			switch pass {
			case 0:
				*s = model.Sequence{Tokens: q.Tokens[:known], Start: q.Start, Blocks: q.Blocks, Copies: q.Copies, Sampling: q.Sampling}
			default:
				at := known + pass - 1
				q.Tokens[at] = max(s.Next, 0)
				s.Tokens, s.Start, s.Copies = q.Tokens[at:at+1], q.Start+at, nil
			}
			s.Sample = pass < q.Drafts
			d.step = append(d.step, s)
		}
		if err := d.executor.Execute(d.step); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) closeExecutors() {
	e.executor.Close()
	if e.drafter != nil {
		e.drafter.executor.Close()
	}
}

// Speculation counts what became of proposals.
type Speculation struct {
	Drafts, Tokens, Accepted int64   // steps that verified some, and tokens
	PerPosition              []int64 // accepted, by their place in the proposal
}

func (s *Speculation) count(drafts, accepted int) {
	s.Drafts++
	s.Tokens += int64(drafts)
	s.Accepted += int64(accepted)
	for i := range accepted {
		s.PerPosition[i]++
	}
}
