package simulator

import (
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/sizing/cost"
)

// group is a static batch. Requests that have their answer keep their row until the
// longest of the batch has its own; nothing is handed out before, so that the first
// token reaches everybody together with the last: servers that called the model's
// generate once per batch answered so. Rows that have ended are computed like the
// others; prompts are not padded.
type group struct {
	on   bool
	rows int              // that the batch began with
	over []sched.Finished // in the order in which they ended
}

// pad adds the rows that have ended to the step's work.
func (p *replica) pad(b *sched.Batch) {
	if !p.group.on {
		return
	}
	longest, begins := 0, false
	for i := range b.Entries {
		longest = max(longest, b.Entries[i].Start)
		begins = begins || b.Entries[i].Admitted
	}
	if begins {
		p.group.rows = len(b.Entries)
	}
	if n := p.group.rows - len(b.Entries); n > 0 {
		p.shape.Decode = append(p.shape.Decode, cost.Decode{Sequences: float64(n), Context: float64(longest)})
	}
}

// handOut gives all answers of a batch that is over to those who still wait.
func (p *replica) handOut(step int) {
	if p.sched.Running() > 0 {
		return
	}
	for _, f := range p.group.over {
		r := p.requests[f.ID]
		if r == nil {
			continue // it has left
		}
		delete(p.requests, f.ID)
		r.took(p, step, p.s.now, r.withheld)
		p.counts.finished++
		p.s.finished(r, f.Reason)
	}
	p.group.over = p.group.over[:0]
}
