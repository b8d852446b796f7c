package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
