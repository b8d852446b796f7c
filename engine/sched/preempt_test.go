package sched

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// admissions runs until nothing is left and returns who started, in order.
func admissions(t *testing.T, d *driver) []ID {
	t.Helper()
	var order []ID
	for range 1000 {
		b := d.step(t)
		if b == nil {
			return order
		}
		for _, e := range b.Entries {
			if e.Admitted {
				order = append(order, e.ID)
			}
		}
	}
	t.Fatalf("not at rest after 1000 steps, admitted %v", order)
	return nil
}

// TestHeadOfLine: a request that finds no blocks is not overtaken by a small one
// behind it (FCFS; vllm#31731). It starts as soon as there is room, so nobody
// starves.
func TestHeadOfLine(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 64, ReserveFullPrompt: true}, 11, 4, ahead)
		d.add(t, Request{ID: 1, Prompt: 20, MaxTokens: 8})
		d.step(t)
		d.add(t, Request{ID: 2, Prompt: 30, MaxTokens: 1})
		d.add(t, Request{ID: 3, Prompt: 1, MaxTokens: 1})
		if diff := cmp.Diff([]ID{2, 3}, admissions(t, d)); diff != "" {
			t.Errorf("order of admission (-want +got):\n%s", diff)
		}
		if st := d.s.Stats(); st.Preemptions != 0 {
			t.Errorf("%d preemptions", st.Preemptions)
		}
	})
}

// TestPrefillThrash: two prompts that each need more than half of the pool, in
// chunks. When the first chunk alone decides admission, they take each other's
// blocks over and over (vllm#21793).
func TestPrefillThrash(t *testing.T) {
	run := func(t *testing.T, ahead int, reserve bool) int64 {
		d := newDriver(Config{
			MaxNumSeqs: 4, MaxNumBatchedTokens: 24, MaxModelLen: 100,
			LongPrefillTokenThreshold: 8, ReserveFullPrompt: reserve, DisablePrefixCache: true,
		}, 21, 5, ahead)
		d.add(t, Request{ID: 1, Prompt: 80, MaxTokens: 2})
		d.add(t, Request{ID: 2, Prompt: 80, MaxTokens: 2})
		d.drain(t, 200)
		return d.s.Stats().Preemptions
	}
	bothWays(t, func(t *testing.T, ahead int) {
		if n := run(t, ahead, true); n > 1 {
			t.Errorf("%d preemptions with ReserveFullPrompt, want at most 1", n)
		}
		if n := run(t, ahead, false); n <= 1 {
			t.Errorf("%d preemptions without ReserveFullPrompt: the case does not show the problem", n)
		}
	})
}

// TestPreemptedKeepTheirOrder: FCFS takes from the youngest and resumes the
// oldest first, before anybody who has not run yet.
func TestPreemptedKeepTheirOrder(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 16, DisablePrefixCache: true}, 9, 1, 0)
	for id := ID(1); id <= 3; id++ {
		d.add(t, Request{ID: id, Prompt: 2, MaxTokens: 6})
	}
	d.step(t) // 6 of 8 blocks
	d.add(t, Request{ID: 4, Prompt: 3, MaxTokens: 1})
	b := d.step(t) // 1 and 2 get the last two, 3 loses its own
	if diff := cmp.Diff([]ID{3}, b.Preempted); diff != "" {
		t.Fatalf("preempted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][3]int{{1, 2, 1}, {2, 2, 1}}, shape(b)); diff != "" {
		t.Errorf("a step with a preemption admits nobody (-want +got):\n%s", diff)
	}
	// Request 2 lost its blocks later than 3, and yet stands before it again.
	if diff := cmp.Diff([]ID{2, 3, 4}, slices.Compact(admissions(t, d))); diff != "" {
		t.Errorf("order of admission (-want +got):\n%s", diff)
	}
	d.idle(t)
}

// TestPriorityOrder: the smaller priority is admitted first, then the earlier
// arrival.
func TestPriorityOrder(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 64, MaxModelLen: 16, Policy: Priority}, 9, 4, 0)
	d.add(t, Request{ID: 1, Prompt: 2, MaxTokens: 1, Priority: 5, Arrival: 1})
	d.add(t, Request{ID: 2, Prompt: 2, MaxTokens: 1, Priority: 0, Arrival: 9})
	d.add(t, Request{ID: 3, Prompt: 2, MaxTokens: 1, Priority: 0, Arrival: 3})
	d.add(t, Request{ID: 4, Prompt: 2, MaxTokens: 1, Priority: 0, Arrival: 9})
	var order []ID
	for b := d.step(t); b != nil; b = d.step(t) {
		order = append(order, b.Entries[0].ID)
	}
	if diff := cmp.Diff([]ID{3, 2, 4, 1}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestPriorityVictim: the worst priority loses its blocks, among equals the
// latest arrival, whatever the order in which they were added or admitted.
func TestPriorityVictim(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 8, Policy: Priority}, 10, 1, 0)
	for _, req := range []Request{
		{ID: 1, Priority: 3, Arrival: 9}, {ID: 2, Priority: 3, Arrival: 5}, {ID: 3, Priority: 1, Arrival: 20},
	} {
		req.Prompt, req.MaxTokens = 2, 6
		d.add(t, req)
		d.step(t)
	}
	var preempted []ID
	for b := d.step(t); len(preempted) < 2; b = d.step(t) {
		preempted = append(preempted, b.Preempted...)
	}
	if diff := cmp.Diff([]ID{1, 2}, preempted); diff != "" {
		t.Errorf("preempted (-want +got):\n%s", diff)
	}
	d.drain(t, 100)
}

// TestOlderNewcomerDoesNotDisplacePreempted: at equal priority a preempted
// request resumes before one that has never run, even an older one
// (vllm#41951).
func TestOlderNewcomerDoesNotDisplacePreempted(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 2, MaxNumBatchedTokens: 64, MaxModelLen: 12, Policy: Priority}, 7, 2, 0)
	d.add(t, Request{ID: 1, Prompt: 6, MaxTokens: 4, Arrival: 0})
	d.add(t, Request{ID: 2, Prompt: 6, MaxTokens: 2, Arrival: 5})
	d.step(t) // all 6 blocks
	d.add(t, Request{ID: 3, Prompt: 6, MaxTokens: 2, Arrival: 1})
	if b := d.step(t); !slices.Equal(b.Preempted, []ID{2}) {
		t.Fatalf("preempted %v, want the later arrival, 2", b.Preempted)
	}
	if diff := cmp.Diff([]ID{2, 3}, admissions(t, d)); diff != "" {
		t.Errorf("order of admission (-want +got):\n%s", diff)
	}
	if got := d.finished[2].Preemptions; got != 1 {
		t.Errorf("request 2 was preempted %d times, want once", got)
	}
}

// TestPriorityVictimGivesItsTokensBack: a victim that already has its entry in
// the step loses it, and those behind get its tokens.
func TestPriorityVictimGivesItsTokensBack(t *testing.T) {
	d := newDriver(Config{
		MaxNumSeqs: 8, MaxNumBatchedTokens: 9, MaxModelLen: 38,
		LongPrefillTokenThreshold: 6, Policy: Priority, DisablePrefixCache: true,
	}, 20, 2, 0)
	d.add(t, Request{ID: 1, Prompt: 37, MaxTokens: 1, Priority: 9})
	d.step(t) // 6 tokens, 3 blocks
	d.add(t, Request{ID: 2, Prompt: 2, MaxTokens: 10})
	d.step(t) // 12 and 2 tokens, 7 blocks
	d.add(t, Request{ID: 3, Prompt: 30, MaxTokens: 1})
	d.step(t) // 18, 3 and 2 tokens, 12 blocks
	d.step(t) // 24, 4 and 4 tokens, 16 blocks of 19
	b := d.step(t)
	if diff := cmp.Diff([][3]int{{2, 4, 1}, {3, 4, 6}}, shape(b)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if b.Tokens != 7 || !slices.Equal(b.Preempted, []ID{1}) {
		t.Errorf("%d tokens and %v preempted, want 7 and 1", b.Tokens, b.Preempted)
	}
	d.drain(t, 200)
}

// TestLostEntryIsNotCached: the blocks that a victim would have filled in the
// step in which it lost its entry are not offered to anybody.
func TestLostEntryIsNotCached(t *testing.T) {
	d := newDriver(Config{
		MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 16,
		LongPrefillTokenThreshold: 4, Policy: Priority,
	}, 9, 2, 0)
	d.add(t, Request{ID: 1, Prompt: 13, MaxTokens: 1, Priority: 9})
	d.step(t) // 2 blocks
	d.add(t, Request{ID: 2, Prompt: 4, MaxTokens: 2})
	d.step(t)      // 4 and 2 blocks
	b := d.step(t) // 1 takes the last two, 2 needs one
	if diff := cmp.Diff([][3]int{{2, 4, 1}}, shape(b)); diff != "" || !slices.Equal(b.Preempted, []ID{1}) {
		t.Fatalf("preempted %v, entries (-want +got):\n%s", b.Preempted, diff)
	}
	if got := d.s.pool.Cached(); got != 6 {
		t.Errorf("%d blocks are cached, want 6: those of the steps that ran", got)
	}
	d.drain(t, 50)
}

// TestFirstInListPreemptsItself: the worst request stands first in the list and
// finds no block. vLLM would run an empty step; here the others run.
func TestFirstInListPreemptsItself(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 6, Policy: Priority}, 7, 1, 0)
	d.add(t, Request{ID: 1, Prompt: 2, MaxTokens: 4, Priority: 9})
	d.step(t)
	d.add(t, Request{ID: 2, Prompt: 3, MaxTokens: 3})
	d.step(t) // all 6 blocks
	b := d.step(t)
	if diff := cmp.Diff([][3]int{{2, 3, 1}}, shape(b)); diff != "" || !slices.Equal(b.Preempted, []ID{1}) {
		t.Errorf("preempted %v, entries (-want +got):\n%s", b.Preempted, diff)
	}
	d.drain(t, 50)
}

// TestPreemptedInFlightKeepsItsToken: the token that a batch in flight samples
// for a request preempted meanwhile is not sampled again.
func TestPreemptedInFlightKeepsItsToken(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 16, DisablePrefixCache: true}, 7, 1, 1)
	d.add(t, Request{ID: 1, Prompt: 2, MaxTokens: 5})
	d.add(t, Request{ID: 2, Prompt: 3, MaxTokens: 3})
	d.schedule(t)
	b := d.schedule(t) // 1 takes the last block, 2 loses its own
	if !slices.Equal(b.Preempted, []ID{2}) {
		t.Fatalf("preempted %v, want 2", b.Preempted)
	}
	d.complete(t)
	d.drain(t, 50)
	if got := d.finished[2]; got.Output != 3 || got.Preemptions != 1 || got.Reason != Length {
		t.Errorf("request 2 ended as %+v", got)
	}
	if got := len(*d.tokens[2]); got != 3+3 {
		t.Errorf("the executor has %d tokens of request 2, want 6", got)
	}
}

// TestStopArrivesForPreemptedRequest: a stop decision reaches a request that has
// gone back to the queue.
func TestStopArrivesForPreemptedRequest(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 16, DisablePrefixCache: true}, 7, 1, 1)
	d.add(t, Request{ID: 1, Prompt: 2, MaxTokens: 5})
	d.add(t, Request{ID: 2, Prompt: 3, MaxTokens: 3})
	d.stopAfter[2] = 1
	d.schedule(t)
	d.schedule(t)
	done := d.complete(t)
	if len(done) != 1 || done[0].ID != 2 || done[0].Reason != Stop || d.s.Waiting() != 0 {
		t.Errorf("finished %+v, %d waiting", done, d.s.Waiting())
	}
	d.drain(t, 50)
}
