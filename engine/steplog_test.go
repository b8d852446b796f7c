package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// A step log has what a model of steps is fitted to: pieces of prompts with what stood
// before them, sequences that decode, and the time.
func TestStepLog(t *testing.T) {
	var lines []string
	now := time.Duration(0)
	e := start(t, Config{
		Executor: says(), Sched: sched.Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 16, MaxModelLen: 64}, Blocks: 4,
		Now: func() time.Duration { now += time.Millisecond; return now },
		StepLog: func(s *Step) {
			s.Start, s.Duration = 0, 0
			line, err := json.Marshal(s)
			if err != nil {
				t.Error(err)
			}
			lines = append(lines, string(line))
		},
	})
	collectAll(t, submit(t, e, Request{N: 2, Tokens: words(20, 1), MaxTokens: 3}), 2)
	e.Close()
	want := []string{
		`{"step":0,"start_s":0,"duration_s":0,"prefill":[{"tokens":16,"context_tokens":0}],"tokens":16,"kv_cache_usage":0.25,"running":1,"waiting":0}`,
		`{"step":1,"start_s":0,"duration_s":0,"prefill":[{"tokens":4,"context_tokens":16,"final":true}],"tokens":4,"kv_cache_usage":0.5,"running":1,"waiting":0}`,
		`{"step":2,"start_s":0,"duration_s":0,"decodes":2,"decode_context_tokens":40,"tokens":2,"kv_cache_usage":0.75,"running":2,"waiting":0}`,
		`{"step":3,"start_s":0,"duration_s":0,"decodes":2,"decode_context_tokens":42,"tokens":2,"kv_cache_usage":0.75,"running":2,"waiting":0}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// timed is an executor that says when its steps were to run.
type timed struct {
	Executor
	steps time.Duration
}

func (x *timed) Execute(s []*model.Sequence) error {
	x.steps++
	return x.Executor.Execute(s)
}

func (x *timed) LastStep() (begin, end time.Duration) {
	return x.steps * time.Second, x.steps*time.Second + 5*time.Millisecond
}

// The log of a modeled device has the durations of the model, not what was left of
// them for this machine to sleep.
func TestStepLogOfAModeledDevice(t *testing.T) {
	var steps []Step
	e := start(t, Config{
		Executor: &timed{Executor: says()}, Sched: sched.Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 16, MaxModelLen: 64}, Blocks: 4,
		Now:     func() time.Duration { return 0 },
		StepLog: func(s *Step) { steps = append(steps, *s) },
	})
	collectAll(t, submit(t, e, Request{Tokens: words(4, 1), MaxTokens: 3}), 1)
	e.Close()
	if len(steps) != 3 {
		t.Fatalf("%d steps, want 3", len(steps))
	}
	for i, s := range steps {
		if want := float64(i + 1); s.Start != want || s.Duration != (5*time.Millisecond).Seconds() {
			t.Errorf("step %d: from %v s for %v s, want from %v s for 0.005 s", i, s.Start, s.Duration, want)
		}
	}
}
