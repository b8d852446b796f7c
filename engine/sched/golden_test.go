package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/kv"
)

// TestGoldenWave is the schedule that the differential test of vllm.cpp
// (tests/fixtures/scheduler_wave) recorded from vLLM 0.25's own Scheduler: two
// of 32 or 8 running requests finish in one step while two fresh prompts of
// 1,024 tokens wait, with a budget of 2,048 tokens and no prefix cache.
func TestGoldenWave(t *testing.T) {
	for name, tc := range map[string]struct {
		seqs int
		want []int // tokens of the entries that are not decodes
	}{
		"32 sequences": {32, []int{1024, 994}},
		"8 sequences":  {8, []int{1024, 1018}},
	} {
		for _, ahead := range []int{0, 1} {
			t.Run(name+map[int]string{0: " sync", 1: " one step ahead"}[ahead], func(t *testing.T) {
				s := New(Config{
					MaxNumSeqs:          tc.seqs,
					MaxNumBatchedTokens: 2048,
					MaxModelLen:         4096,
					DisablePrefixCache:  true,
				}, kv.NewPool(4096, 16))
				d := &driver{s: s, ahead: ahead}
				for i := range tc.seqs {
					output := 100
					if i == 3 || i == 5 {
						output = 5
					}
					d.add(t, Request{ID: ID(i), Prompt: 16, MaxTokens: output})
				}
				for i := range 2 {
					d.add(t, Request{ID: ID(100 + i), Prompt: 1024, MaxTokens: 10})
				}
				for range 5 {
					if b := d.step(t); len(b.Entries) != tc.seqs {
						t.Fatalf("step %d has %d entries, want %d", b.Step, len(b.Entries), tc.seqs)
					}
				}
				var decodes int
				var rest []int
				b := d.step(t)
				for _, e := range b.Entries {
					if e.Tokens == 1 {
						decodes++
					} else {
						rest = append(rest, e.Tokens)
					}
				}
				if diff := cmp.Diff(tc.want, rest); diff != "" {
					t.Errorf("prompt chunks (-want +got):\n%s", diff)
				}
				if decodes != tc.seqs-2 || b.Tokens != 2048 {
					t.Errorf("got %d decodes and %d tokens, want %d and 2048", decodes, b.Tokens, tc.seqs-2)
				}
			})
		}
	}
}
