package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, ahead int) { testWave(t, ahead, tc.seqs, tc.want) })
		})
	}
}

func testWave(t *testing.T, ahead, seqs int, want []int) {
	d := newDriver(Config{
		MaxNumSeqs:          seqs,
		MaxNumBatchedTokens: 2048,
		MaxModelLen:         4096,
		DisablePrefixCache:  true,
	}, 4096, 16, ahead)
	for i := range seqs {
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
		if b := d.step(t); len(b.Entries) != seqs {
			t.Fatalf("step %d has %d entries, want %d", b.Step, len(b.Entries), seqs)
		}
	}
	b := d.step(t)
	decodes := 0
	var rest []int
	for _, e := range b.Entries {
		if e.Tokens == 1 {
			decodes++
		} else {
			rest = append(rest, e.Tokens)
		}
	}
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Errorf("prompt chunks (-want +got):\n%s", diff)
	}
	if decodes != seqs-2 || b.Tokens != 2048 {
		t.Errorf("got %d decodes and %d tokens, want %d and 2048", decodes, b.Tokens, seqs-2)
	}
	d.drain(t, 200)
}
