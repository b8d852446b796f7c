package sched

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/kv"
)

// sequenceOf returns n consecutive numbers, as a prompt.
func sequenceOf(n int) []int {
	prompt := make([]int, n)
	for i := range prompt {
		prompt[i] = i + 1
	}
	return prompt
}

func roomy() Config {
	return Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 512, MaxModelLen: 512}
}

// entryOf returns the entry of a request in a batch.
func entryOf(t *testing.T, b *Batch, id ID) Entry {
	t.Helper()
	for _, e := range b.Entries {
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("no entry of request %d in %v", id, shape(b))
	return Entry{}
}

// TestPartialBlockIsNeverShared: with blocks of two, A = [1 2 3] generates two
// tokens; B and C send [1 2 3 x y] and sample on. Only [1 2] and [3 x] may be
// shared (vllm#5188).
func TestPartialBlockIsNeverShared(t *testing.T) {
	d := newDriver(roomy(), 50, 2, 0)
	d.addPrompt(t, Request{ID: 1, MaxTokens: 3}, 0, 1, 2, 3)
	d.drain(t, 10)
	prompt := slices.Clone((*d.tokens[1])[:5])
	d.addPrompt(t, Request{ID: 2, MaxTokens: 4}, 0, prompt...)
	d.addPrompt(t, Request{ID: 3, MaxTokens: 4}, 0, prompt...)
	b := d.step(t)
	e2, e3 := entryOf(t, b, 2), entryOf(t, b, 3)
	if e2.Start != 4 || e3.Start != 4 {
		t.Fatalf("starts %d and %d, want 4: two shared blocks", e2.Start, e3.Start)
	}
	if !slices.Equal(e2.Blocks[:2], e3.Blocks[:2]) || e2.Blocks[2] == e3.Blocks[2] {
		t.Errorf("tables %v and %v: the first two blocks are shared, the third is not", e2.Blocks, e3.Blocks)
	}
	d.drain(t, 10)
}

// TestTailBlocksOfIdenticalPrompts: identical prompts that arrive together share
// the full blocks, which the first fills in the same step, and each writes its
// own tail.
func TestTailBlocksOfIdenticalPrompts(t *testing.T) {
	d := newDriver(roomy(), 50, 4, 0)
	for id := ID(1); id <= 3; id++ {
		d.addPrompt(t, Request{ID: id, MaxTokens: 9}, 0, sequenceOf(10)...)
	}
	b := d.step(t)
	tails := map[kv.Block]bool{}
	for i, e := range b.Entries {
		if !slices.Equal(e.Blocks[:2], b.Entries[0].Blocks[:2]) {
			t.Errorf("request %d does not share the full blocks: %v", e.ID, e.Blocks)
		}
		if want := min(i, 1) * 8; e.Start != want {
			t.Errorf("request %d starts at %d, want %d", e.ID, e.Start, want)
		}
		tails[e.Blocks[2]] = true
	}
	if len(tails) != 3 {
		t.Errorf("%d tail blocks for 3 requests", len(tails))
	}
	d.drain(t, 20)
}

// TestFullyCachedPrompt: the last token is always computed. A fully cached prompt
// whose length is a multiple of the block size recomputes exactly its last block
// (vllm#11186).
func TestFullyCachedPrompt(t *testing.T) {
	for name, tc := range map[string]struct{ prompt, cached int }{
		"multiple of the block size": {64, 48},
		"one token more":             {65, 64},
		"one token less":             {63, 48},
		"one block":                  {16, 0},
		"less than a block":          {5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(roomy(), 50, 16, 0)
			for id := ID(1); id <= 2; id++ {
				d.addPrompt(t, Request{ID: id, MaxTokens: 2}, 0, sequenceOf(tc.prompt)...)
				e := entryOf(t, d.step(t), id)
				want := 0
				if id == 2 {
					want = tc.cached
				}
				if e.Cached != want || e.Start != want || e.Tokens != tc.prompt-want {
					t.Errorf("entry %+v, want %d cached", e, want)
				}
				if n := len(e.Blocks); n != kv.BlocksFor(tc.prompt, 16) {
					t.Errorf("%d blocks for %d tokens", n, tc.prompt)
				}
				d.drain(t, 5)
			}
			want := Stats{PrefixQueries: int64(2 * tc.prompt), PrefixHits: int64(tc.cached)}
			if diff := cmp.Diff(want, d.s.Stats()); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPrefixCacheAfterPreemption: two requests of 34 prompt and 35 output tokens
// in 7 blocks of 16 preempt each other. What they resume with is checked by the
// driver; cached is frozen at the first admission, and finding one's own blocks
// again is counted apart (vllm#25787).
func TestPrefixCacheAfterPreemption(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 128, MaxModelLen: 96}, 8, 16, ahead)
		d.add(t, Request{ID: 1, Prompt: 34, MaxTokens: 35})
		d.add(t, Request{ID: 2, Prompt: 34, MaxTokens: 35})
		d.drain(t, 200)
		st := d.s.Stats()
		if st.Preemptions == 0 {
			t.Fatal("nobody was preempted: the case shows nothing")
		}
		if st.PrefixQueries != 68 || st.PrefixHits != 0 {
			t.Errorf("%d of %d tokens hit at first admission, want 0 of 68", st.PrefixHits, st.PrefixQueries)
		}
		if st.PreemptedPrefixQueries == 0 || st.PreemptedPrefixHits > st.PreemptedPrefixQueries {
			t.Errorf("%d of %d tokens hit on resuming", st.PreemptedPrefixHits, st.PreemptedPrefixQueries)
		}
		for id := ID(1); id <= 2; id++ {
			if f := d.finished[id]; f.Cached != 0 || f.Output != 35 {
				t.Errorf("ended as %+v, want 35 tokens and 0 cached", f)
			}
		}
	})
}

// TestResumeFindsOwnBlocks: blocks that nobody took meanwhile are found again.
func TestResumeFindsOwnBlocks(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 24}, 7, 4, 0)
	d.add(t, Request{ID: 1, Prompt: 12, MaxTokens: 2})
	d.add(t, Request{ID: 2, Prompt: 12, MaxTokens: 5})
	d.step(t)
	d.step(t) // 1 takes the tail of 2, which is preempted, and ends
	e := entryOf(t, d.step(t), 2)
	if !e.Admitted || e.Start != 8 || e.Cached != 0 {
		t.Errorf("request 2 resumed as %+v, want a start at 8 and 0 cached", e)
	}
	d.drain(t, 20)
}

// TestStopLeavesLastTokenUncached: the token that ended a request was never
// computed, or only by a step that should not have been, so no block that
// contains it is offered (vllm#49449).
func TestStopLeavesLastTokenUncached(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(roomy(), 50, 4, ahead)
		d.addPrompt(t, Request{ID: 1, MaxTokens: 50}, 0, sequenceOf(6)...)
		d.stopAfter[1] = 2
		d.drain(t, 20)
		if got := d.s.pool.Cached(); got != 1 {
			t.Errorf("%d blocks cached after 8 tokens of which 7 were computed, want 1", got)
		}
	})
}

// TestDisconnectKeepsCache: the next turn of an interrupted conversation finds
// what was computed before the abort.
func TestDisconnectKeepsCache(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(roomy(), 50, 4, ahead)
		d.addPrompt(t, Request{ID: 1, MaxTokens: 50}, 0, sequenceOf(17)...)
		for range 4 {
			d.step(t)
		}
		d.abort(t, 1)
		d.addPrompt(t, Request{ID: 2, MaxTokens: 1}, 0, sequenceOf(30)...)
		if e := entryOf(t, d.step(t), 2); e.Cached != 16 {
			t.Errorf("%d tokens cached, want 16", e.Cached)
		}
		d.drain(t, 20)
	})
}

// TestWhoReadsTheCache: requests that may not read it, or have no hashes, are
// not looked up and not counted.
func TestWhoReadsTheCache(t *testing.T) {
	for name, tc := range map[string]struct {
		disable, skip bool
		cached        int
		queries       int64
	}{
		"all":      {cached: 16, queries: 40},
		"skip":     {skip: true, queries: 20},
		"disabled": {disable: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := roomy()
			cfg.DisablePrefixCache = tc.disable
			d := newDriver(cfg, 50, 4, 0)
			d.addPrompt(t, Request{ID: 1, MaxTokens: 1}, 0, sequenceOf(20)...)
			d.drain(t, 5)
			d.addPrompt(t, Request{ID: 2, MaxTokens: 1, SkipCacheRead: tc.skip}, 0, sequenceOf(20)...)
			if e := entryOf(t, d.step(t), 2); e.Cached != tc.cached {
				t.Errorf("%d cached, want %d", e.Cached, tc.cached)
			}
			d.drain(t, 5)
			if st := d.s.Stats(); st.PrefixQueries != tc.queries || st.PrefixHits != int64(tc.cached) {
				t.Errorf("%d of %d tokens hit, want %d of %d", st.PrefixHits, st.PrefixQueries, tc.cached, tc.queries)
			}
		})
	}
}

// TestBlockedHeadIsCountedOnce: a request that waits for blocks for many steps
// is looked up in each, and counted when it starts.
func TestBlockedHeadIsCountedOnce(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 24, ReserveFullPrompt: true}, 7, 4, 0)
	d.add(t, Request{ID: 1, Prompt: 12, MaxTokens: 8})
	d.step(t)
	d.add(t, Request{ID: 2, Prompt: 16, MaxTokens: 1})
	for range 3 {
		d.step(t)
	}
	if st := d.s.Stats(); st.PrefixQueries != 12 || st.Waiting != 1 {
		t.Errorf("%d tokens looked up with %d waiting, want 12 and 1", st.PrefixQueries, st.Waiting)
	}
	d.drain(t, 20)
	if st := d.s.Stats(); st.PrefixQueries != 28 {
		t.Errorf("%d tokens looked up at the end, want 28", st.PrefixQueries)
	}
}

// TestReset: no hit survives ResetPrefixCache.
func TestReset(t *testing.T) {
	d := newDriver(roomy(), 50, 4, 0)
	d.addPrompt(t, Request{ID: 1, MaxTokens: 1}, 0, sequenceOf(20)...)
	d.drain(t, 5)
	if err := d.s.ResetPrefixCache(); err != nil {
		t.Fatal(err)
	}
	d.addPrompt(t, Request{ID: 2, MaxTokens: 1}, 0, sequenceOf(20)...)
	if e := entryOf(t, d.step(t), 2); e.Cached != 0 {
		t.Errorf("%d cached after a reset", e.Cached)
	}
}
