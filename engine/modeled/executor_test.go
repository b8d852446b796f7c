package modeled

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// script is a clock that wakes late, by what late says of each sleep.
type script struct {
	now  time.Duration
	late []time.Duration
	ends []time.Duration // that were asked for
}

func (s *script) Now() time.Duration { return s.now }

func (s *script) SleepUntil(end time.Duration) {
	s.ends = append(s.ends, end)
	s.now = max(s.now, end)
	if len(s.late) > 0 {
		s.now += s.late[0]
		s.late = s.late[1:]
	}
}

func executor(t *testing.T, c Clock) *Executor {
	t.Helper()
	m, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	device, err := profiles.LoadAccelerator("h100-sxm-80gb")
	if err != nil {
		t.Fatal(err)
	}
	facts := cost.NewFacts(m, shape.FormatOf(m), "bf16", cost.Parallel{})
	return New(Config{Facts: facts, Device: device, Constants: cost.Pick(cost.Table(), "vllm", "hopper", facts), Clock: c})
}

func decode(at int) *model.Sequence {
	return &model.Sequence{Tokens: make([]int32, 1), Start: at, Sample: true}
}

// Steps that follow each other end where the cost model says, however late this
// machine wakes up.
func TestLatenessDoesNotAddUp(t *testing.T) {
	clock := &script{now: time.Second, late: []time.Duration{time.Millisecond, 2 * time.Millisecond, 0, 0}}
	e := executor(t, clock)
	each := e.duration([]*model.Sequence{decode(100)})
	for range 3 {
		if err := e.Execute([]*model.Sequence{decode(100)}); err != nil {
			t.Fatal(err)
		}
		if begin, end := e.LastStep(); end-begin != each || end != clock.ends[len(clock.ends)-1] {
			t.Errorf("a step from %s to %s, want one of %s until %s", begin, end, each, clock.ends[len(clock.ends)-1])
		}
	}
	want := []time.Duration{time.Second + each, time.Second + 2*each, time.Second + 3*each}
	if diff := cmp.Diff(want, clock.ends); diff != "" {
		t.Errorf("steps end at the wrong times:\n%s", diff)
	}
}

// After nothing was to do, and after a machine was held up, a step begins now.
func TestStepsThatFollowNone(t *testing.T) {
	for _, c := range []struct {
		name string
		late time.Duration
		idle bool
	}{
		{"idle", time.Millisecond, true},
		{"held up", mostBehind, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &script{late: []time.Duration{c.late}}
			e := executor(t, clock)
			each := e.duration([]*model.Sequence{decode(100)})
			for range 2 {
				if err := e.Execute([]*model.Sequence{decode(100)}); err != nil {
					t.Fatal(err)
				}
				if c.idle {
					e.Idle()
				}
			}
			if got, want := clock.ends[1], 2*each+c.late; got != want {
				t.Errorf("the second step ends at %s, want %s", got, want)
			}
		})
	}
}

// The steps last what the cost model says of their prompts and decodes.
func TestStepsLastWhatTheyCost(t *testing.T) {
	clock := &script{}
	e := executor(t, clock)
	prompt := &model.Sequence{Tokens: make([]int32, 300), Start: 64, Sample: true}
	piece := &model.Sequence{Tokens: make([]int32, 1), Start: 8}
	if err := e.Execute([]*model.Sequence{decode(100), prompt, piece, decode(7)}); err != nil {
		t.Fatal(err)
	}
	want := cost.StepTime(e.config.Facts, e.config.Device, e.config.Constants, cost.Batch{
		Prefill: []cost.Prefill{{Tokens: 300, Context: 64, Final: true}, {Tokens: 1, Context: 8}},
		Decode:  []cost.Decode{{Sequences: 1, Context: 100}, {Sequences: 1, Context: 7}},
	})
	if clock.ends[0] != cost.Duration(want.Seconds) {
		t.Errorf("the step lasts %s, want %s", clock.ends[0], cost.Duration(want.Seconds))
	}
}

// An answer that comes back as text becomes the same tokens, so that the next turn
// finds it in the prefix cache, and depends on nothing but seed and place.
func TestAnswersSurviveTheirText(t *testing.T) {
	var tokens []int32
	for at := range 2000 {
		tokens = append(tokens, word(7, at))
	}
	if diff := cmp.Diff(tokens, tokenizer.Encode(nil, tokenizer.Decode(tokens))); diff != "" {
		t.Errorf("the tokens of the text are others:\n%s", diff)
	}
	same := 0
	for at := range tokens {
		if word(8, at) == tokens[at] {
			same++
		}
	}
	if same > len(tokens)/50 {
		t.Errorf("%d of %d words are those of another seed", same, len(tokens))
	}
}

// Several answers to a prompt get words of their own from its last step.
func TestAnswersToOnePromptDiffer(t *testing.T) {
	e := executor(t, &script{})
	q := decode(100)
	for seed := range uint64(3) {
		q.Siblings = append(q.Siblings, &model.Sequence{Sampling: model.Sampling{Seed: seed + 1}})
	}
	if err := e.Execute([]*model.Sequence{q}); err != nil {
		t.Fatal(err)
	}
	for i, s := range append([]*model.Sequence{q}, q.Siblings...) {
		if want := word(uint64(i), 101); s.Next != want {
			t.Errorf("answer %d: %d, want %d", i, s.Next, want)
		}
	}
}

// An executor that is asked for log-probabilities gives an entry to every token, of
// output and prompt, with as many others as were wanted.
func TestWordsHaveLogprobs(t *testing.T) {
	e := executor(t, &script{})
	q := &model.Sequence{Tokens: []int32{0, 350, 351}, Score: []int32{350, 351}, Sample: true, Logprobs: true, Top: 5, TopScore: 1}
	q.Siblings = []*model.Sequence{{Logprobs: true, Sampling: model.Sampling{Seed: 3}}}
	if err := e.Execute([]*model.Sequence{q}); err != nil {
		t.Fatal(err)
	}
	if len(q.Sampled) != 1 || q.Sampled[0].Token != q.Next || len(q.Sampled[0].Top) != 5 || len(q.Scores) != 2 || q.Scores[1].Token != 351 || len(q.Scores[1].Top) != 1 {
		t.Errorf("sampled %+v, scores %+v", q.Sampled, q.Scores)
	}
	total, seen := 0.0, map[int32]bool{}
	for _, l := range q.Sampled[0].Top {
		total, seen[l.Token] = total+math.Exp(float64(l.Logprob)), true
	}
	if total >= 1 || !seen[q.Next] || len(seen) != 5 {
		t.Errorf("the five likeliest are %v with %v together", q.Sampled[0].Top, total)
	}
	if s := q.Siblings[0]; len(s.Sampled) != 1 || s.Sampled[0].Token != s.Next || s.Sampled[0].Top != nil {
		t.Errorf("the other answer: %+v", s.Sampled)
	}
}

// A machine that cannot keep up with the scale says once what it could; one that is
// held up for a moment, or has time left, says nothing.
func TestAScaleThatDoesNotHoldIsTold(t *testing.T) {
	for _, c := range []struct {
		name string
		late func(each time.Duration, step int) time.Duration
		want []float64
	}{
		{"every step takes twice as long", func(each time.Duration, _ int) time.Duration { return 2 * each }, []float64{0.5}},
		{"in time", func(time.Duration, int) time.Duration { return 0 }, nil},
		{"held up once", func(_ time.Duration, step int) time.Duration {
			if step == 40 {
				return 2 * mostBehind
			}
			return 0
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &script{}
			e := executor(t, clock)
			var told []float64
			e.config.OnBehind = func(held float64) { told = append(told, held) }
			each := e.duration([]*model.Sequence{decode(100)})
			for step := range 500 {
				clock.now += c.late(each, step) // what the engine does between two steps
				if err := e.Execute([]*model.Sequence{decode(100)}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, told, cmpopts.EquateApprox(0.1, 0)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The real clock does not return early.
func TestWallClock(t *testing.T) {
	w := Wall()
	for _, d := range []time.Duration{-time.Second, 0, 200 * time.Microsecond, 4 * time.Millisecond} {
		end := w.Now() + d
		w.SleepUntil(end)
		if now := w.Now(); now < end {
			t.Errorf("a sleep until %s ended at %s", end, now)
		}
	}
}

// A clock that goes ten times as fast wakes after a tenth of the time, and not early.
func TestScaledClock(t *testing.T) {
	slow := &script{}
	fast := Scaled(slow, 10)
	fast.SleepUntil(5 * time.Second)
	if diff := cmp.Diff([]time.Duration{500*time.Millisecond + 1}, slow.ends); diff != "" {
		t.Errorf("sleeping until 5 s of the fast clock:\n%s", diff)
	}
	if now := fast.Now(); now < 5*time.Second || now > 5*time.Second+20*time.Nanosecond {
		t.Errorf("the fast clock then says %s", now)
	}
}
