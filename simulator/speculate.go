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

// draftTime is what proposing takes at the end of a step, in seconds: with k drafts
// of a cost c each, c·k times a step of the model in which those who sampled decode
// one token. That is γ·c of Leviathan, Kalman and Matias, "Fast inference from
// transformers via speculative decoding" (2023, section 3.1), where c is the time of
// the draft's step ÷ the model's; with more sequences the draft's steps grow as the
// model's do.
func (p *replica) draftTime(b *sched.Batch) float64 {
	sp := &p.kind.Serving.Speculative
	if sp.Tokens == 0 || sp.DraftCost == 0 {
		return 0
	}
	p.drafting.Decode = p.drafting.Decode[:0]
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Sample {
			p.drafting.Decode = append(p.drafting.Decode, cost.Decode{Sequences: 1, Context: float64(e.Start + e.Tokens)})
		}
	}
	step := cost.StepTime(p.kind.Facts, p.kind.Device, p.kind.Constants, p.drafting).Seconds
	return sp.DraftCost * float64(sp.Tokens) * step
}
