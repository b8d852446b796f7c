package sched

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/kv"
)

func TestAddRefusesWhatCanNeverRun(t *testing.T) {
	for name, tc := range map[string]struct {
		blocks int // of 16 tokens, the null block included
		req    Request
		want   error
		text   string
	}{
		"prompt fills the window":      {100, Request{Prompt: 64, MaxTokens: 1}, &TooLongError{Prompt: 64, Limit: 64}, "context window of 64 tokens"},
		"prompt exceeds the window":    {100, Request{Prompt: 1000, MaxTokens: 1}, &TooLongError{Prompt: 1000, Limit: 64}, "prompt of 1000 tokens"},
		"prompt leaves one token":      {100, Request{Prompt: 63, MaxTokens: 1}, nil, ""},
		"output exceeds the window":    {100, Request{Prompt: 63, MaxTokens: 1000}, nil, ""},
		"prompt fills the pool":        {4, Request{Prompt: 48, MaxTokens: 1}, &TooLongError{Prompt: 48, Limit: 48, Memory: true}, "KV cache of 48 tokens"},
		"prompt leaves one in pool":    {4, Request{Prompt: 47, MaxTokens: 5}, nil, ""},
		"empty prompt":                 {100, Request{Prompt: 0, MaxTokens: 1}, ErrNoTokens, "0 and 1"},
		"no output":                    {100, Request{Prompt: 4, MaxTokens: 0}, ErrNoTokens, "4 and 0"},
		"negative output":              {100, Request{Prompt: 4, MaxTokens: -160}, ErrNoTokens, "-160"},
		"id of somebody being served":  {100, Request{ID: 7, Prompt: 4, MaxTokens: 1}, ErrDuplicateID, "adding request 7"},
		"id of somebody who has ended": {100, Request{ID: 8, Prompt: 4, MaxTokens: 1}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64}, kv.NewPool(tc.blocks, 16))
			for id := ID(7); id <= 8; id++ {
				if err := s.Add(&Request{ID: id, Prompt: 1, MaxTokens: 1}); err != nil {
					t.Fatal(err)
				}
			}
			s.Abort(8)
			err := s.Add(&tc.req)
			var got, want *TooLongError
			switch {
			case tc.want == nil:
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			case errors.As(tc.want, &want):
				if !errors.As(err, &got) || *got != *want {
					t.Fatalf("got %v, want %v", err, want)
				}
			case !errors.Is(err, tc.want):
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %q does not contain %q", err, tc.text)
			}
			if s.Waiting() != 1 || s.Len() != 1 {
				t.Errorf("%d waiting after a refusal, want 1", s.Waiting())
			}
		})
	}
}

// TestEndsAtWindow: output up to the context window, or up to what the pool
// holds, and then Length.
func TestEndsAtWindow(t *testing.T) {
	for name, tc := range map[string]struct{ blocks, want int }{
		"context window": {100, 64 - 10},
		"pool":           {4, 48 - 10},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, ahead int) {
				d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 64}, tc.blocks, 16, ahead)
				d.add(t, Request{ID: 1, Prompt: 10, MaxTokens: 1 << 62})
				d.drain(t, 100)
				if f := d.finished[1]; f.Output != tc.want || f.Reason != Length {
					t.Errorf("ended as %+v, want %d tokens and length", f, tc.want)
				}
			})
		})
	}
}

func TestValidate(t *testing.T) {
	good := Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 16, MaxModelLen: 16}
	for name, tc := range map[string]struct {
		change func(c *Config)
		want   string
	}{
		"good":            {func(*Config) {}, ""},
		"no sequences":    {func(c *Config) { c.MaxNumSeqs = 0 }, "max_num_seqs 0"},
		"no budget":       {func(c *Config) { c.MaxNumBatchedTokens = -1 }, "max_num_batched_tokens -1"},
		"no window":       {func(c *Config) { c.MaxModelLen = 1 }, "max_model_len 1"},
		"threshold":       {func(c *Config) { c.LongPrefillTokenThreshold = -1 }, "threshold -1"},
		"policy":          {func(c *Config) { c.Policy = 2 }, "policy 2"},
		"whole, fits":     {func(c *Config) { c.DisableChunkedPrefill = true }, ""},
		"whole, too long": {func(c *Config) { c.DisableChunkedPrefill = true; c.MaxModelLen = 17 }, "chunked prefill"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := good
			tc.change(&cfg)
			err := cfg.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestChunkedPrefill: a prompt larger than the budget runs in chunks, and only
// the last chunk samples.
func TestChunkedPrefill(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 10, MaxModelLen: 64}, 100, 16, 0)
	d.add(t, Request{ID: 1, Prompt: 25, MaxTokens: 2})
	var got [][3]int
	var samples []bool
	for b := d.step(t); b != nil; b = d.step(t) {
		got = append(got, shape(b)...)
		samples = append(samples, b.Entries[0].Sample)
	}
	if diff := cmp.Diff([][3]int{{1, 0, 10}, {1, 10, 10}, {1, 20, 5}, {1, 25, 1}}, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{false, false, true, true}, samples); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// TestWithoutChunks: a prompt that does not fit into what is left of the budget
// waits, and so does everybody behind it.
func TestWithoutChunks(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 20, MaxModelLen: 20, DisableChunkedPrefill: true}, 100, 16, 0)
	for id := ID(1); id <= 3; id++ {
		d.add(t, Request{ID: id, Prompt: []int{0, 12, 9, 2}[id], MaxTokens: 2})
	}
	var got [][][3]int
	for b := d.step(t); b != nil; b = d.step(t) {
		got = append(got, shape(b))
	}
	want := [][][3]int{{{1, 0, 12}}, {{1, 12, 1}, {2, 0, 9}, {3, 0, 2}}, {{2, 9, 1}, {3, 2, 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// TestLongPrefillFairness: a stream that decodes gets its token in every step
// while a prompt of 64k tokens is processed in chunks no larger than the
// threshold, and a short prompt that comes later does not wait for all of them
// (vllm#21495).
func TestLongPrefillFairness(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(Config{
			MaxNumSeqs: 8, MaxNumBatchedTokens: 4096, MaxModelLen: 70_000,
			LongPrefillTokenThreshold: 2048, DisablePrefixCache: true,
		}, 5000, 16, ahead)
		d.add(t, Request{ID: 1, Prompt: 10, MaxTokens: 1000})
		d.step(t)
		d.step(t)
		d.add(t, Request{ID: 2, Prompt: 65_536, MaxTokens: 1})
		d.step(t)
		d.add(t, Request{ID: 3, Prompt: 1000, MaxTokens: 1})
		for chunk := 1; chunk < 32; chunk++ {
			b := d.step(t)
			if e := entryOf(t, b, 1); e.Tokens != 1 {
				t.Fatalf("the stream got %d tokens", e.Tokens)
			}
			if e := entryOf(t, b, 2); e.Start != chunk*2048 || e.Tokens != 2048 {
				t.Fatalf("chunk %d is %+v", chunk, e)
			}
			if chunk == 1 && entryOf(t, b, 3).Tokens != 1000 {
				t.Fatalf("the short prompt did not run beside the long one: %v", shape(b))
			}
		}
		for id := ID(1); id <= 2; id++ {
			d.abort(t, id)
		}
		d.drain(t, 10)
	})
}

// TestSlotsComeBack: whoever ends, however it ends, leaves its place to the next
// in the queue; no request that waits occupies one (vllm#53130).
func TestSlotsComeBack(t *testing.T) {
	bothWays(t, func(t *testing.T, ahead int) {
		d := newDriver(Config{MaxNumSeqs: 2, MaxNumBatchedTokens: 16, MaxModelLen: 64}, 100, 4, ahead)
		for id := ID(1); id <= 30; id++ {
			d.add(t, Request{ID: id, Prompt: 5, MaxTokens: 3})
			if id%3 == 0 {
				d.stopAfter[id] = 1
			}
		}
		for id := ID(1); id <= 30; id += 5 {
			d.step(t)
			d.abort(t, id)
		}
		d.drain(t, 100)
	})
}

// TestBatchSaysWhen: the time passed to Schedule comes back, with the batch and
// with the request's last start.
func TestBatchSaysWhen(t *testing.T) {
	s := New(roomy(), kv.NewPool(50, 4))
	if err := s.Add(&Request{ID: 1, Prompt: 4, MaxTokens: 2}); err != nil {
		t.Fatal(err)
	}
	b := s.Schedule(5 * time.Second)
	if b.Step != 0 || b.At != 5*time.Second {
		t.Errorf("step %d at %v", b.Step, b.At)
	}
	s.Complete(b, []Result{{ID: 1, Tokens: 1}})
	b = s.Schedule(6 * time.Second)
	if b.Step != 1 || b.Entries[0].Admitted {
		t.Errorf("step %d, %+v", b.Step, b.Entries[0])
	}
	done := s.Complete(b, []Result{{ID: 1, Tokens: 1}})
	want := []Finished{{ID: 1, Reason: Length, Output: 2, Admitted: 5 * time.Second}}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}
}
