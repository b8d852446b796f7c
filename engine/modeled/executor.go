package modeled

import (
	"cmp"
	"time"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Config says what steps last.
type Config struct {
	Facts     cost.Facts // of the model that is served
	Device    *profiles.Accelerator
	Constants cost.Constants // of the engine that is imitated
	Clock     Clock          // nil: the real time
	Behind    time.Duration  // see mostBehind, on the Clock; 0 is that
	// OnBehind hears once, of the first stretch in which step after step began too late
	// until Behind was reached, which part of its pace held: 0.5 is steps that took
	// twice as long as they should. nil: nobody.
	OnBehind func(held float64)
}

// Executor implements engine.Executor. It belongs to the engine's loop.
type Executor struct {
	config Config
	batch  cost.Batch    // reused
	begin  time.Duration // when the last step was to begin
	end    time.Duration // and to end
	busy   bool          // and nothing has been idle since
	late   late
}

// New returns an executor that imitates.
func New(c Config) *Executor {
	if c.Clock == nil {
		c.Clock = Wall()
	}
	c.Behind = cmp.Or(c.Behind, mostBehind)
	return &Executor{config: c}
}

// mostBehind is how late, in the real time, a step may begin after the one before it and still be
// taken to follow at once. A machine that is held up for longer does not run the
// missed steps in a burst.
const mostBehind = 100 * time.Millisecond

// Execute lasts as long as the batch would. A step that follows another begins
// when that one was to end, and not when this machine woke up, so that lateness
// does not add up.
func (e *Executor) Execute(sequences []*model.Sequence) error {
	start := e.config.Clock.Now()
	if e.busy && start-e.end < e.config.Behind {
		start = e.end
	} else {
		if e.busy {
			e.tellBehind(start)
		}
		e.late = late{from: start}
	}
	e.begin, e.end, e.busy = start, start+e.duration(sequences), true
	for _, s := range sequences {
		write(s)
	}
	if now := e.config.Clock.Now(); now < e.end {
		e.late = late{from: e.end}
	} else {
		e.late.steps++
	}
	e.config.Clock.SleepUntil(e.end)
	return nil
}

// LastStep implements engine.Timed, on the Clock: a scaled one tells modeled time.
func (e *Executor) LastStep() (begin, end time.Duration) { return e.begin, e.end }

// late is a stretch of steps that follow each other, none of which had any time left.
type late struct {
	from  time.Duration // when the first one began, or was to begin
	steps int
}

// fewSteps is a stretch that may be one hitch of the machine.
const fewSteps = 10

// tellBehind reports how slow the stretch was that ends now.
func (e *Executor) tellBehind(now time.Duration) {
	if e.config.OnBehind == nil || e.late.steps < fewSteps {
		return
	}
	e.config.OnBehind(float64(e.end-e.late.from) / float64(now-e.late.from))
	e.config.OnBehind = nil
}

// Idle tells that no step follows at once.
func (e *Executor) Idle() { e.busy = false }

// Close implements engine.Executor.
func (e *Executor) Close() {}

// duration is how long a step takes. What brings one token and samples the next
// is a decode; all else is a piece of a prompt.
func (e *Executor) duration(sequences []*model.Sequence) time.Duration {
	b := &e.batch
	b.Prefill, b.Decode = b.Prefill[:0], b.Decode[:0]
	for _, s := range sequences {
		if len(s.Tokens) == 1 && s.Sample {
			b.Decode = append(b.Decode, cost.Decode{Sequences: 1, Context: float64(s.Start)})
		} else {
			b.Prefill = append(b.Prefill, cost.Prefill{Tokens: float64(len(s.Tokens)), Context: float64(s.Start), Final: s.Sample})
		}
	}
	return max(1, cost.Duration(cost.StepTime(e.config.Facts, e.config.Device, e.config.Constants, *b).Seconds))
}
