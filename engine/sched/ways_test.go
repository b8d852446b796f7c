package sched

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/kv"
)

// addAll queues requests with ids from 1 on.
func addAll(t *testing.T, s *Scheduler, requests ...Request) {
	t.Helper()
	for i := range requests {
		requests[i].ID = ID(i + 1)
		if err := s.Add(&requests[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// sampled are the results of a batch in which nobody stops.
func sampled(b *Batch) (out []Result) {
	for i := range b.Entries {
		out = append(out, outcome(&b.Entries[i]))
	}
	return out
}

// TestPipelineSharesRequestsOut: each batch has an even part of the requests; nobody
// is in two that sample for them; when all are out, there is nothing to run.
func TestPipelineSharesRequestsOut(t *testing.T) {
	cfg := roomy()
	cfg.Pipeline = 3
	s := New(cfg, kv.NewPool(50, 4))
	addAll(t, s, Request{Prompt: 4, MaxTokens: 5}, Request{Prompt: 4, MaxTokens: 5}, Request{Prompt: 4, MaxTokens: 5}, Request{Prompt: 4, MaxTokens: 5})
	var flying []*Batch
	var got [][][3]int
	for range 3 {
		if b := s.Schedule(0); b != nil {
			flying = append(flying, b)
			got = append(got, shape(b))
		}
	}
	want := [][][3]int{{{1, 0, 4}, {2, 0, 4}}, {{3, 0, 4}, {4, 0, 4}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if s.Held() != HeldNothing || s.Running() != 4 {
		t.Errorf("held by %v with %d running", s.Held(), s.Running())
	}
	s.Complete(flying[0], sampled(flying[0]))
	if diff := cmp.Diff([][3]int{{1, 4, 1}, {2, 4, 1}}, shape(s.Schedule(0))); diff != "" {
		t.Errorf("the first two again (-want +got):\n%s", diff)
	}
	if err := s.CheckIntegrity(); err != nil {
		t.Error(err)
	}
}

// TestPipelineRunsChunksBehindEachOther: the chunks of a prompt need no token of one
// another, so that they follow each other through the stages.
func TestPipelineRunsChunksBehindEachOther(t *testing.T) {
	cfg := Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 8, MaxModelLen: 64, Pipeline: 3}
	s := New(cfg, kv.NewPool(50, 4))
	addAll(t, s, Request{Prompt: 20, MaxTokens: 2})
	var got [][][3]int
	for range 3 {
		got = append(got, shape(s.Schedule(0)))
	}
	if diff := cmp.Diff([][][3]int{{{1, 0, 8}}, {{1, 8, 8}}, {{1, 16, 4}}}, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestPipelineTakesNoMoreThanItsStages(t *testing.T) {
	cfg := roomy()
	cfg.Pipeline, cfg.MaxNumSeqs = 3, 3
	s := New(cfg, kv.NewPool(50, 4))
	addAll(t, s, Request{Prompt: 4, MaxTokens: 5}, Request{Prompt: 4, MaxTokens: 5}, Request{Prompt: 4, MaxTokens: 5})
	for range 3 {
		if s.Schedule(0) == nil {
			t.Fatal("nothing to run")
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a fourth batch in a pipeline of three stages")
		}
	}()
	s.Schedule(0)
}

// TestStaticBatch: who waits makes up a batch, whose prompts run whole, whatever the
// budget; nobody joins before all of it has ended.
func TestStaticBatch(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(Config{MaxNumSeqs: 2, MaxNumBatchedTokens: 8, MaxModelLen: 64, LongPrefillTokenThreshold: 4, Static: true}, 50, 4, ahead)
		for id := ID(1); id <= 3; id++ {
			d.add(t, Request{ID: id, Prompt: 20, MaxTokens: []int{0, 2, 4, 1}[id]})
		}
		var got [][][3]int
		for b := d.step(t); b != nil; b = d.step(t) {
			got = append(got, shape(b))
			if len(got) == 2 && d.s.Held() != HeldBatch {
				t.Errorf("held by %v, want the batch", d.s.Held())
			}
		}
		want := [][][3]int{{{1, 0, 20}, {2, 0, 20}}, {{1, 20, 1}, {2, 20, 1}}, {{2, 21, 1}}, {{2, 22, 1}}, {{3, 0, 20}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

// TestHeld: why the first in the queue was not admitted.
func TestHeld(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *Config)
		blocks int
		want   Hold
	}{
		"all run":          {func(*Config) {}, 50, HeldNothing},
		"slots":            {func(c *Config) { c.MaxNumSeqs = 1 }, 50, HeldSlots},
		"blocks":           {func(*Config) {}, 4, HeldBlocks},
		"budget":           {func(c *Config) { c.MaxNumBatchedTokens = 10 }, 50, HeldBudget},
		"budget, unspent":  {func(c *Config) { c.MaxNumBatchedTokens, c.MaxModelLen, c.DisableChunkedPrefill = 16, 16, true }, 50, HeldBudget},
		"watermark":        {func(c *Config) { c.Watermark = 0.5 }, 9, HeldBlocks},
		"no watermark":     {func(*Config) {}, 9, HeldNothing},
		"part of pipeline": {func(c *Config) { c.Pipeline = 2 }, 50, HeldBatch},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64}
			tc.change(&cfg)
			s := New(cfg, kv.NewPool(tc.blocks, 4))
			addAll(t, s, Request{Prompt: 10, MaxTokens: 2}, Request{Prompt: 10, MaxTokens: 2})
			s.Schedule(0)
			if s.Held() != tc.want {
				t.Errorf("held by %v, want %v", s.Held(), tc.want)
			}
		})
	}
	if HeldBatch.String() != "batch" || HeldNothing.String() != "nothing" {
		t.Errorf("%v, %v", HeldBatch, HeldNothing)
	}
}

// TestWatermark: an admission leaves blocks free while others run, and only then.
func TestWatermark(t *testing.T) {
	cfg := roomy()
	cfg.Watermark = 0.5
	s := New(cfg, kv.NewPool(9, 4)) // 8 blocks, 4 of them below the mark
	addAll(t, s, Request{Prompt: 28, MaxTokens: 2}, Request{Prompt: 2, MaxTokens: 2})
	b := s.Schedule(0)
	if diff := cmp.Diff([][3]int{{1, 0, 28}}, shape(b)); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
	s.Complete(b, []Result{{ID: 1, Tokens: 1, Finish: Stop}})
	if diff := cmp.Diff([][3]int{{2, 0, 2}}, shape(s.Schedule(0))); diff != "" {
		t.Errorf("next batch (-want +got):\n%s", diff)
	}
}

// TestLoadedPromptIsNotComputed: of a prompt that was computed elsewhere only the
// last token runs; others can share its blocks; a preemption loses it.
func TestLoadedPromptIsNotComputed(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64}, 8, 4, ahead)
		prompt := make([]int, 12)
		d.addPrompt(t, Request{ID: 1, Loaded: 12, MaxTokens: 9}, 0, prompt...)
		d.addPrompt(t, Request{ID: 2, MaxTokens: 9}, 0, append(prompt[:12:12], 1)...)
		b := d.step(t)
		if diff := cmp.Diff([][3]int{{1, 11, 1}, {2, 12, 1}}, shape(b)); diff != "" {
			t.Errorf("batch (-want +got):\n%s", diff)
		}
		if got := []int{b.Entries[0].Cached, b.Entries[1].Cached, len(b.Entries[0].Blocks)}; !cmp.Equal(got, []int{0, 12, 3}) {
			t.Errorf("cached and blocks are %v", got)
		}
		d.drain(t, 60)
	})
	s := New(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64, DisablePrefixCache: true}, kv.NewPool(8, 4))
	addAll(t, s, Request{Prompt: 11, MaxTokens: 20}, Request{Prompt: 15, Loaded: 15, MaxTokens: 2})
	if diff := cmp.Diff([][3]int{{1, 0, 11}, {2, 14, 1}}, shape(s.Schedule(0))); diff != "" {
		t.Errorf("without a cache (-want +got):\n%s", diff)
	}
}

// TestLoadedIsLostWithAPreemption: after it, the prompt is computed here.
func TestLoadedIsLostWithAPreemption(t *testing.T) {
	s := New(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64}, kv.NewPool(6, 4))
	addAll(t, s, Request{Prompt: 8, MaxTokens: 9}, Request{Prompt: 8, Loaded: 8, MaxTokens: 9})
	var entries [][3]int
	for b := s.Schedule(0); b != nil; b = s.Schedule(0) {
		for _, e := range b.Entries {
			if e.Admitted && e.ID == 2 {
				entries = append(entries, [3]int{int(e.ID), e.Start, e.Tokens})
			}
		}
		s.Complete(b, sampled(b))
	}
	if len(entries) != 2 || entries[0] != [3]int{2, 7, 1} || entries[1][1] != 0 {
		t.Errorf("admitted as %v, want once with 7 tokens in place and once with none", entries)
	}
}

// TestUrgentRequestsGoFirst: under Priority, the urgent wait only for each other, and
// the rest is served once they are gone: nobody who was preempted starts over again
// and again.
func TestUrgentRequestsGoFirst(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64, Policy: Priority, DisablePrefixCache: true}, 13, 4, ahead)
		for id := ID(1); id <= 4; id++ {
			d.add(t, Request{ID: id, Prompt: 8, MaxTokens: 12, Priority: 1, Arrival: time.Duration(id)})
		}
		d.step(t)
		for id := ID(11); id <= 16; id++ {
			d.add(t, Request{ID: id, Prompt: 8, MaxTokens: 12, Arrival: time.Duration(id)})
		}
		for b := d.step(t); b != nil; b = d.step(t) {
			for _, id := range b.Preempted {
				if id > 10 && slices.ContainsFunc(b.Entries, func(e Entry) bool { return e.ID < 10 }) {
					t.Fatalf("urgent request %d lost its blocks in step %v", id, shape(b))
				}
			}
		}
		d.idle(t)
		rest := 0
		for id, f := range d.finished {
			if id < 10 {
				rest += f.Preemptions
			}
			if f.Output != 12 {
				t.Errorf("request %d ended as %+v", id, f)
			}
		}
		// Each of the rest can be pushed out by the three that were there before it,
		// and by the urgent.
		if rest == 0 || rest > 10 {
			t.Errorf("%d preemptions of requests that are not urgent", rest)
		}
	})
}
