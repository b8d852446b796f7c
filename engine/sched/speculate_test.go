package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/kv"
)

// draftsOf writes the entries of a batch down as id, start, tokens and drafts.
func draftsOf(b *Batch) (out [][4]int) {
	for _, e := range b.Entries {
		out = append(out, [4]int{int(e.ID), e.Start, e.Tokens, int(e.Drafts)})
	}
	return out
}

// TestDraftsAreVerifiedAndRolledBack: an entry carries the last token and the
// drafts; what was wrong is computed again.
func TestDraftsAreVerifiedAndRolledBack(t *testing.T) {
	d := newDriver(roomy(), 50, 4, 0)
	d.propose = func() int { return 3 }
	right := []int{3, 0, 1}
	d.accept = func(int) int { n := right[0]; right = right[1:]; return n }
	d.add(t, Request{ID: 1, Prompt: 6, MaxTokens: 10})
	var got [][4]int
	for range 4 {
		got = append(got, draftsOf(d.step(t))...)
	}
	want := [][4]int{{1, 0, 6, 0}, {1, 6, 4, 3}, {1, 10, 4, 3}, {1, 11, 4, 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	// 1 + 4 + 1 + 2 tokens are there; of the two that are left, one is sampled.
	right = []int{1}
	if diff := cmp.Diff([][4]int{{1, 13, 2, 1}}, draftsOf(d.step(t))); diff != "" {
		t.Errorf("the last entry (-want +got):\n%s", diff)
	}
	if f := d.finished[1]; f.Output != 10 || f.Reason != Length {
		t.Errorf("ended as %+v, want 10 tokens and length", f)
	}
	if st := d.s.Stats(); st.Drafts != 10 || st.AcceptedDrafts != 5 {
		t.Errorf("%d drafts and %d accepted, want 10 and 5", st.Drafts, st.AcceptedDrafts)
	}
	d.idle(t)
}

// TestDraftsAreCut: to the budget, to the largest chunk, and before the end of the
// context window.
func TestDraftsAreCut(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *Config)
		max    int
		want   [][4]int // second step
	}{
		"room for all":    {func(*Config) {}, 50, [][4]int{{1, 4, 6, 5}, {2, 4, 6, 5}}},
		"budget":          {func(c *Config) { c.MaxNumBatchedTokens = 9 }, 50, [][4]int{{1, 4, 6, 5}, {2, 4, 3, 2}}},
		"budget for one":  {func(c *Config) { c.MaxNumBatchedTokens = 8 }, 50, [][4]int{{1, 4, 6, 5}, {2, 4, 2, 1}}},
		"threshold":       {func(c *Config) { c.LongPrefillTokenThreshold = 4 }, 50, [][4]int{{1, 4, 4, 3}, {2, 4, 4, 3}}},
		"window":          {func(c *Config) { c.MaxModelLen = 8 }, 50, [][4]int{{1, 4, 3, 2}, {2, 4, 3, 2}}},
		"output":          {func(*Config) {}, 3, [][4]int{{1, 4, 2, 1}, {2, 4, 2, 1}}},
		"one token to go": {func(*Config) {}, 2, [][4]int{{1, 4, 1, 0}, {2, 4, 1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64}
			tc.change(&cfg)
			d := newDriver(cfg, 50, 4, 0)
			d.propose = func() int { return 5 }
			d.accept = func(int) int { return 0 }
			d.add(t, Request{ID: 1, Prompt: 4, MaxTokens: tc.max})
			d.add(t, Request{ID: 2, Prompt: 4, MaxTokens: tc.max})
			d.step(t)
			if diff := cmp.Diff(tc.want, draftsOf(d.step(t))); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			d.drain(t, 200)
		})
	}
}

// TestDraftsAreNeverCached: a block that drafts have filled is offered when its
// tokens are known, and not before.
func TestDraftsAreNeverCached(t *testing.T) {
	s := New(roomy(), kv.NewPool(50, 4))
	tokens := make([]int, 20)
	if err := s.Add(&Request{ID: 1, Prompt: 3, MaxTokens: 10, Hash: chain(4, 0, &tokens)}); err != nil {
		t.Fatal(err)
	}
	b := s.Schedule(0)
	s.Complete(b, []Result{{ID: 1, Tokens: 1, Drafts: 5}})
	b = s.Schedule(0) // positions 3 to 8; position 3 is known
	if got := s.pool.Cached(); got != 1 {
		t.Fatalf("%d blocks cached with 4 tokens known, want 1", got)
	}
	s.Complete(b, []Result{{ID: 1, Tokens: 4}})
	if got := s.pool.Cached(); got != 1 {
		t.Errorf("%d blocks cached with 7 tokens computed, want 1", got)
	}
	b = s.Schedule(0)
	s.Complete(b, []Result{{ID: 1, Tokens: 1}})
	if got := s.pool.Cached(); got != 2 {
		t.Errorf("%d blocks cached with 8 tokens computed, want 2", got)
	}
}

// TestDraftsWaitForTheirVerdict: one step ahead, whoever has drafts in flight is left
// out of the next batch, and drafts that come too late are dropped.
func TestDraftsWaitForTheirVerdict(t *testing.T) {
	s := New(roomy(), kv.NewPool(50, 4))
	for id := ID(1); id <= 2; id++ {
		if err := s.Add(&Request{ID: id, Prompt: 4, MaxTokens: 10}); err != nil {
			t.Fatal(err)
		}
	}
	b := s.Schedule(0)
	s.Complete(b, []Result{{ID: 1, Tokens: 1, Drafts: 2}, {ID: 2, Tokens: 1}})
	first := s.Schedule(0)
	ahead := s.Schedule(0)
	if diff := cmp.Diff([][4]int{{2, 5, 1, 0}}, draftsOf(ahead)); diff != "" {
		t.Errorf("one step ahead (-want +got):\n%s", diff)
	}
	s.Complete(first, []Result{{ID: 1, Tokens: 3}, {ID: 2, Tokens: 1, Drafts: 2}})
	if diff := cmp.Diff([][4]int{{1, 7, 1, 0}, {2, 6, 1, 0}}, draftsOf(s.Schedule(0))); diff != "" {
		t.Errorf("after the verdict (-want +got):\n%s", diff)
	}
	if err := s.CheckIntegrity(); err != nil {
		t.Error(err)
	}
}

// TestPreemptionDropsDrafts: a request that lost its blocks, even with drafts in
// flight, keeps the tokens that were right and has no drafts when it comes back.
func TestPreemptionDropsDrafts(t *testing.T) {
	s := New(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64}, kv.NewPool(5, 4))
	for id := ID(1); id <= 2; id++ {
		if err := s.Add(&Request{ID: id, Prompt: 6, MaxTokens: 10}); err != nil {
			t.Fatal(err)
		}
	}
	s.Complete(s.Schedule(0), []Result{{ID: 1, Tokens: 1}, {ID: 2, Tokens: 1, Drafts: 1}})
	first := s.Schedule(0) // 7 and 8 tokens in 2 blocks each
	s2 := s.Schedule(0)    // 1 needs no block yet, 2 waits for its verdict
	s.Complete(first, []Result{{ID: 1, Tokens: 1}, {ID: 2, Tokens: 2, Drafts: 3}})
	third := s.Schedule(0) // 1 takes the blocks of 2
	if diff := cmp.Diff([]ID{2}, third.Preempted); diff != "" {
		t.Fatalf("preempted (-want +got):\n%s", diff)
	}
	s.Complete(s2, []Result{{ID: 1, Tokens: 1}})
	s.Complete(third, []Result{{ID: 1, Tokens: 1, Finish: Stop}})
	if diff := cmp.Diff([][4]int{{2, 0, 9, 0}}, draftsOf(s.Schedule(0))); diff != "" {
		t.Errorf("back again (-want +got):\n%s", diff)
	}
	if err := s.CheckIntegrity(); err != nil {
		t.Error(err)
	}
}

func TestCompleteRefusesTooManyTokens(t *testing.T) {
	for name, result := range map[string]Result{
		"more than the drafts allow": {ID: 1, Tokens: 4},
		"fewer than none":            {ID: 1, Tokens: -1},
		"a negative proposal":        {ID: 1, Tokens: 1, Drafts: -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(roomy(), kv.NewPool(50, 4))
			if err := s.Add(&Request{ID: 1, Prompt: 4, MaxTokens: 10}); err != nil {
				t.Fatal(err)
			}
			s.Complete(s.Schedule(0), []Result{{ID: 1, Tokens: 1, Drafts: 2}})
			b := s.Schedule(0)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			s.Complete(b, []Result{result})
		})
	}
}
