package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/kv"
)

// withHost is a driver with a tier behind its pool, which holds the first shared
// tokens of a prompt that was evicted.
func withHost(t *testing.T, blocks int) (*driver, []int) {
	t.Helper()
	d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64}, blocks, 4, 0)
	d.s.pool.SetHost(kv.NewHost(100))
	prompt := make([]int, 16)
	for i := range prompt {
		prompt[i] = 7000 + i
	}
	d.addPrompt(t, Request{ID: 900, MaxTokens: 1}, 0, prompt...)
	d.drain(t, 10)
	d.add(t, Request{ID: 901, Prompt: (blocks-1)*4 - 1, MaxTokens: 1})
	d.drain(t, 10)
	if n := d.s.pool.Host().Len(); n == 0 {
		t.Fatal("nothing was evicted")
	}
	return d, prompt
}

// TestLoadsWhatTheHostHolds: the request waits for the load, others overtake it, and
// then it computes only what was nowhere.
func TestLoadsWhatTheHostHolds(t *testing.T) {
	d, prompt := withHost(t, 10)
	before := d.s.Stats()
	d.addPrompt(t, Request{ID: 1, MaxTokens: 2}, 0, append(prompt[:16:16], 1, 2)...)
	d.add(t, Request{ID: 2, Prompt: 4, MaxTokens: 8})
	if diff := cmp.Diff([][3]int{{2, 0, 4}}, shape(d.schedule(t))); diff != "" {
		t.Errorf("while it loads (-want +got):\n%s", diff)
	}
	if len(d.loads) != 1 || d.loads[0].Start != 0 || d.loads[0].Tokens != 16 || d.s.Waiting() != 1 || d.s.Held() != HeldNothing {
		t.Fatalf("loads %+v, %d waiting, held by %v", d.loads, d.s.Waiting(), d.s.Held())
	}
	d.complete(t)
	d.loaded(t, 0)
	b := d.schedule(t)
	if diff := cmp.Diff([][3]int{{2, 4, 1}, {1, 16, 2}}, shape(b)); diff != "" {
		t.Errorf("when it has (-want +got):\n%s", diff)
	}
	if got := b.Entries[1].Cached; got != 16 {
		t.Errorf("%d tokens cached, want 16", got)
	}
	after := d.s.Stats()
	if after.ExternalHits-before.ExternalHits != 16 || after.PrefixHits != before.PrefixHits || after.ExternalQueries-before.ExternalQueries != 18+4 {
		t.Errorf("counters went from %+v to %+v", before, after)
	}
	d.drain(t, 40)
}

// TestAbortWhileLoading: the blocks are free when the load is over, and not before.
func TestAbortWhileLoading(t *testing.T) {
	d, prompt := withHost(t, 10)
	d.addPrompt(t, Request{ID: 1, MaxTokens: 2}, 0, append(prompt[:16:16], 1)...)
	if b := d.schedule(t); b != nil {
		t.Fatalf("batch %v", shape(b))
	}
	if !d.abort(t, 1) || d.s.Waiting() != 0 || d.s.Len() != 0 {
		t.Errorf("%d waiting, %d known after the abort", d.s.Waiting(), d.s.Len())
	}
	if free := d.s.pool.Free(); free != 5 {
		t.Errorf("%d blocks are free while the load writes, want 5", free)
	}
	d.loaded(t, 0)
	d.idle(t)
}

// TestAbortWhenLoaded: a request that waits with blocks gives them back.
func TestAbortWhenLoaded(t *testing.T) {
	d, prompt := withHost(t, 10)
	d.addPrompt(t, Request{ID: 1, MaxTokens: 2}, 0, append(prompt[:16:16], 1)...)
	d.schedule(t)
	d.loaded(t, 0)
	if d.s.Waiting() != 1 || d.s.pool.Free() != 5 {
		t.Errorf("%d waiting with %d blocks free", d.s.Waiting(), d.s.pool.Free())
	}
	d.abort(t, 1)
	d.idle(t)
}

// TestLoadedBlocksDoNotBlock: a request that waits with loaded blocks behind one that
// needs them gives them up, when nobody runs who could.
func TestLoadedBlocksDoNotBlock(t *testing.T) {
	d, prompt := withHost(t, 8)
	d.s.cfg.ReserveFullPrompt = true
	d.s.cfg.Policy = Priority
	d.addPrompt(t, Request{ID: 1, Priority: 5, MaxTokens: 2}, 0, append(prompt[:16:16], 1)...)
	d.schedule(t)
	d.loaded(t, 0)
	d.add(t, Request{ID: 2, Prompt: 20, MaxTokens: 2}) // 5 blocks, of which 3 are free
	if diff := cmp.Diff([][3]int{{2, 0, 20}}, shape(d.schedule(t))); diff != "" {
		t.Errorf("the urgent one runs (-want +got):\n%s", diff)
	}
	d.complete(t)
	d.drain(t, 20)
}

// TestRunningTakesLoadedBlocks: before anybody who runs is preempted, those who wait
// with loaded blocks lose them.
func TestRunningTakesLoadedBlocks(t *testing.T) {
	d, prompt := withHost(t, 8)
	d.add(t, Request{ID: 2, Prompt: 12, MaxTokens: 12})
	d.step(t)
	d.s.cfg.MaxNumSeqs = 2
	d.addPrompt(t, Request{ID: 1, MaxTokens: 2}, 0, append(prompt[:16:16], 1)...)
	d.schedule(t) // needs a fourth block, and the load four: 3 are left, so it waits
	d.complete(t)
	for d.s.Len() > 0 && d.s.scheduled < 60 {
		d.step(t)
	}
	d.drain(t, 20)
	if n := d.s.Stats().Preemptions; n != 0 {
		t.Errorf("%d preemptions, want none", n)
	}
}

func TestLoadedTwicePanics(t *testing.T) {
	d, prompt := withHost(t, 10)
	d.addPrompt(t, Request{ID: 1, MaxTokens: 2}, 0, append(prompt[:16:16], 1)...)
	d.schedule(t)
	l := d.loads[0].Load
	d.loaded(t, 0)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	d.s.Loaded(l)
}
