package simulator

import (
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/sizing/cost"
)

// outcome is what the model says to an entry that samples, and how many drafts
// there will be for the next one.
func (p *replica) outcome(r *request, e *sched.Entry) sched.Result {
	return sched.Result{ID: e.ID, Tokens: 1 + p.accepted(r, int(e.Drafts)), Drafts: p.kind.Serving.Speculative.Tokens}
}

// accepted is how many of the drafts of an entry are right: each with the same
// chance while all before it were. It depends on the run's seed, the request and
// how far its answer is, and not on where or when it runs.
func (p *replica) accepted(r *request, drafts int) int {
	if drafts == 0 {
		return 0
	}
	place := mix(mix(p.s.config.Seed, uint64(r.id)), uint64(r.produced))
	for i := range drafts {
		if unit(mix(place, uint64(i))) >= p.kind.Serving.Speculative.Acceptance {
			return i
		}
	}
	return drafts
}

// unit is a number from 0 to below 1 of the upper 53 bits of x.
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// addDrafting adds what proposing takes at the end of a step: with k drafts of a cost
// c each, c·k times a step of the model in which those who sampled decode one token.
// That is γ·c of Leviathan, Kalman and Matias, "Fast inference from transformers via
// speculative decoding" (2023, section 3.1), where c is the time of the draft's step
// ÷ the model's; with more sequences the draft's steps grow as the model's do.
func (p *replica) addDrafting(terms *cost.Step, b *sched.Batch) {
	sp := &p.kind.Serving.Speculative
	if sp.Tokens == 0 || sp.DraftCost == 0 {
		return
	}
	p.drafts.Reset()
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Sample {
			p.drafts.AddDecode(e.Start + e.Tokens)
		}
	}
	d, n := p.drafts.Step(), float64(sp.DraftCost*float64(sp.Tokens))
	terms.Seconds += float64(n * d.Seconds)
	terms.Fixed += float64(n * d.Fixed)
	terms.Memory += float64(n * d.Memory)
	terms.Compute += float64(n * d.Compute)
	terms.Collective += float64(n * d.Collective)
}
