package engine

import (
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// Step says what one step of the engine did and how long it took: what a cost model
// of steps is fitted to. Its JSON is one line of a step log; units are in the names.
type Step struct {
	Step     uint64        `json:"step"`
	Start    float64       `json:"start_s"`    // on the engine's clock
	Duration float64       `json:"duration_s"` // of the executor, drafting included; of a Timed one, what it was to be
	Prefill  []PrefillPart `json:"prefill,omitempty"`
	// Decodes are sequences with one known token and its drafts; DecodeContext is the
	// sum of the tokens before theirs.
	Decodes       int     `json:"decodes,omitempty"`
	DecodeContext int     `json:"decode_context_tokens,omitempty"`
	Drafts        int     `json:"draft_tokens,omitempty"` // verified
	Tokens        int     `json:"tokens"`                 // all that ran
	Usage         float64 `json:"kv_cache_usage"`         // 0 to 1
	Running       int     `json:"running"`
	Waiting       int     `json:"waiting"`
	Preempted     int     `json:"preempted,omitempty"`
}

// PrefillPart is a piece of a prompt in a step.
type PrefillPart struct {
	Tokens  int  `json:"tokens"`
	Context int  `json:"context_tokens"`  // before them
	Final   bool `json:"final,omitempty"` // the first token of the answer came of it
}

// A Timed executor imitates another device, and says from when to when its last step
// was to run, on the engine's clock. What this machine made of that, which wakes late
// and may then sleep less, is not in the log.
type Timed interface {
	LastStep() (begin, end time.Duration)
}

// logStep tells StepLog what a step was.
func (e *Engine) logStep(batch *sched.Batch, begin, end time.Duration) {
	if e.config.StepLog == nil {
		return
	}
	if t, ok := e.executor.(Timed); ok {
		begin, end = t.LastStep()
	}
	st := e.sched.Stats()
	e.step = Step{
		Step: batch.Step, Start: begin.Seconds(), Duration: (end - begin).Seconds(), Prefill: e.step.Prefill[:0],
		Tokens: batch.Tokens, Usage: st.Usage, Running: st.Running, Waiting: st.Waiting, Preempted: len(batch.Preempted),
	}
	for i := range batch.Entries {
		x := &batch.Entries[i]
		known := x.Tokens - int(x.Drafts)
		e.step.Drafts += int(x.Drafts)
		if known == 1 && x.Sample {
			e.step.Decodes++
			e.step.DecodeContext += x.Start
			continue
		}
		e.step.Prefill = append(e.step.Prefill, PrefillPart{Tokens: known, Context: x.Start, Final: x.Sample})
	}
	e.config.StepLog(&e.step)
}
