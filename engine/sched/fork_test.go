package sched

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/kv"
)

// copies are the blocks that a batch copies, by request, as indices of their table.
func copies(b *Batch) map[ID]int {
	out := map[ID]int{}
	for _, e := range b.Entries {
		for i, block := range e.Blocks {
			if e.CopyTo != kv.Null && block == e.CopyTo {
				out[e.ID] = i
			}
		}
	}
	return out
}

// TestSiblingsCopyTheTailBlock: with n answers, the prompt runs once; whoever writes
// to the partly filled tail block while others hold it copies it first, the last one
// need not. The driver checks that everybody finds the prompt and its own tokens.
func TestSiblingsCopyTheTailBlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		prompt int
		want   map[ID]int
		blocks int // in use after the first decode
	}{
		{"a tail of one token", 9, map[ID]int{1: 2, 2: 2}, 2 + 3},
		{"a tail with room for one", 11, map[ID]int{1: 2, 2: 2}, 2 + 3},
		{"whole blocks share nothing that is written", 12, map[ID]int{}, 3 + 3},
		{"less than a block", 1, map[ID]int{1: 0, 2: 0}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDriver(roomy(), 60, 4, 0)
			d.forks[1] = []Request{{ID: 2, MaxTokens: 9}, {ID: 3, MaxTokens: 9}}
			d.add(t, Request{ID: 1, Prompt: c.prompt, MaxTokens: 9})
			if b := d.step(t); b.Tokens != c.prompt {
				t.Fatalf("the first step has %d tokens, want those of one prompt", b.Tokens)
			}
			if used := d.s.pool.Usable() - d.s.pool.Free(); used != kv.BlocksFor(c.prompt, 4) {
				t.Errorf("%d blocks in use behind the prompt, want those of one", used)
			}
			if diff := cmp.Diff(c.want, copies(d.step(t))); diff != "" {
				t.Errorf("copies (-want +got):\n%s", diff)
			}
			if used := d.s.pool.Usable() - d.s.pool.Free(); used != c.blocks {
				t.Errorf("%d blocks in use, want %d", used, c.blocks)
			}
			if b := d.step(t); len(copies(b)) != 0 {
				t.Errorf("copies again: %v", copies(b))
			}
			d.drain(t, 50)
		})
	}
}

// TestSiblingsBeyondTheSlotsWait: they come next, find the prompt in the cache, and
// count as no hit of anybody's.
func TestSiblingsBeyondTheSlotsWait(t *testing.T) {
	cfg := roomy()
	cfg.MaxNumSeqs = 2
	d := newDriver(cfg, 60, 4, 0)
	d.forks[1] = []Request{{ID: 2, MaxTokens: 3}, {ID: 3, MaxTokens: 3}, {ID: 4, MaxTokens: 3}}
	d.add(t, Request{ID: 1, Prompt: 9, MaxTokens: 3})
	d.add(t, Request{ID: 5, Prompt: 4, MaxTokens: 3})
	var order []ID
	for range 20 {
		b := d.step(t)
		if b == nil {
			break
		}
		for _, e := range b.Entries {
			if e.Admitted {
				order = append(order, e.ID)
			}
		}
	}
	// 5 had a slot before 1 had its first token.
	if diff := cmp.Diff([]ID{1, 5, 2, 3, 4}, order); diff != "" {
		t.Errorf("order of admission (-want +got):\n%s", diff)
	}
	if st := d.s.Stats(); st.PrefixHits != 0 || st.PrefixQueries != 13 || st.PreemptedPrefixHits != 24 {
		t.Errorf("%+v, want 13 queries, and 24 hits of those that came back", st)
	}
	d.idle(t)
}

// TestSiblingsSurviveEachOther: aborts and preemptions at the moment when the tail is
// shared.
func TestSiblingsSurviveEachOther(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks int
		abort  []ID
	}{
		{"the parent leaves", 60, []ID{1}},
		{"a sibling leaves", 60, []ID{3}},
		{"all but one leave", 60, []ID{1, 2}},
		{"all leave", 60, []ID{3, 1, 2}},
		{"no block for a copy", 4, nil},
		{"one block for copies", 5, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := roomy()
			cfg.MaxModelLen = 12
			d := newDriver(cfg, c.blocks, 4, 0)
			d.forks[1] = []Request{{ID: 2, MaxTokens: 3}, {ID: 3, MaxTokens: 3}}
			d.add(t, Request{ID: 1, Prompt: 9, MaxTokens: 3})
			d.step(t)
			for _, id := range c.abort {
				d.abort(t, id)
			}
			d.drain(t, 60)
			if len(d.finished) != 3-len(c.abort) {
				t.Errorf("%d finished, want %d", len(d.finished), 3-len(c.abort))
			}
			if p := d.s.Stats().Preemptions; (c.blocks < 10) != (p > 0) {
				t.Errorf("%d preemptions with %d blocks", p, c.blocks)
			}
		})
	}
}

func TestForkRefuses(t *testing.T) {
	s := New(roomy(), kv.NewPool(50, 4))
	if err := s.Add(&Request{ID: 1, Prompt: 5, MaxTokens: 9}); err != nil {
		t.Fatal(err)
	}
	b := s.Schedule(0)
	if err := s.Fork(1, &Request{ID: 1, Prompt: 5, MaxTokens: 9}); !errors.Is(err, ErrDuplicateID) {
		t.Errorf("its own number: %v", err)
	}
	if err := s.Fork(1, &Request{ID: 2, Prompt: 5, MaxTokens: 1}); !errors.Is(err, ErrNoTokens) {
		t.Errorf("nothing but the first token: %v", err)
	}
	s.Complete(b, []Result{{ID: 1, Tokens: 1}})
	s.Schedule(0)
	defer func() {
		if recover() == nil {
			t.Error("no panic in the second step")
		}
	}()
	_ = s.Fork(1, &Request{ID: 2, Prompt: 5, MaxTokens: 9})
}
