package engine

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/profiles"
)

// bytesOf are tokens for a text, one per byte.
func bytesOf(text string) (tokens []int32) {
	for _, b := range []byte(text) {
		tokens = append(tokens, 8+int32(b))
	}
	return tokens
}

func TestHowRequestsEnd(t *testing.T) {
	eos := []int32{tokenizer.EOS}
	for _, c := range []struct {
		name    string
		says    []int32
		request Request
		want    outcome
	}{
		{"length", bytesOf("abcdef"), Request{MaxTokens: 3}, outcome{Text: "abc", Output: 3, Finish: sched.Length}},
		{"end of sequence", slices.Concat(bytesOf("ab"), eos), Request{MaxTokens: 9}, outcome{Text: "ab", Output: 3, Finish: sched.Stop}},
		{"end of sequence as the last token allowed", slices.Concat(bytesOf("ab"), eos), Request{MaxTokens: 3}, outcome{Text: "ab", Output: 3, Finish: sched.Stop}},
		{"end of sequence first", eos, Request{MaxTokens: 3}, outcome{Text: "", Output: 1, Finish: sched.Stop}},
		{"end of sequence ignored", slices.Concat(bytesOf("a"), eos, bytesOf("b")), Request{MaxTokens: 3, IgnoreEOS: true}, outcome{Text: "ab", Output: 3, Finish: sched.Length}},
		{"stop string over tokens", bytesOf("abcdef"), Request{MaxTokens: 9, Stop: []string{"cd"}}, outcome{Text: "ab", Output: 4, Finish: sched.Stop}},
		{"stop string before min_tokens", bytesOf("abxab"), Request{MaxTokens: 9, MinTokens: 3, Stop: []string{"ab"}}, outcome{Text: "abx", Output: 5, Finish: sched.Stop}},
		{"held text comes when the limit ends it", bytesOf("abc"), Request{MaxTokens: 3, Stop: []string{"cd"}}, outcome{Text: "abc", Output: 3, Finish: sched.Length}},
		{"window", bytesOf("abc"), Request{MaxTokens: 300}, outcome{Output: 255, Finish: sched.Length}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startFor(t, Config{Executor: says(c.says...)})
			c.request.Tokens = []int32{tokenizer.BOS}
			got := collect(t, submit(t, e, c.request))
			got.Parts = nil
			if c.name == "window" {
				got.Text = ""
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMinTokensForbidsTheEnd uses a real sampler: the model would end the text
// at once if it might.
func TestMinTokensForbidsTheEnd(t *testing.T) {
	var forbidden [][]int32
	e := startFor(t, Config{Executor: script{func(q *model.Sequence) int32 {
		forbidden = append(forbidden, q.Forbidden)
		if slices.Contains(q.Forbidden, tokenizer.EOS) {
			return tokenizer.Size - 1
		}
		return tokenizer.EOS
	}}})
	got := collect(t, submit(t, e, Request{Tokens: []int32{0}, MaxTokens: 9, MinTokens: 4}))
	if got.Output != 5 || got.Finish != sched.Stop {
		t.Errorf("got %d tokens, %s; want 5, stop", got.Output, got.Finish)
	}
	want := [][]int32{{tokenizer.EOS}, {tokenizer.EOS}, {tokenizer.EOS}, {tokenizer.EOS}, nil}
	if diff := cmp.Diff(want, forbidden); diff != "" {
		t.Error(diff)
	}
}

// TestAbortFreesBlocks abandons a request at every moment of its life and
// expects all blocks free, and the others served.
func TestAbortFreesBlocks(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps int // that run before the client leaves
		queue bool
		n     int
	}{
		{"while queued", 1, true, 1},
		{"in the first prefill chunk", 0, false, 1},
		{"in a later prefill chunk", 2, false, 1},
		{"in decode", 8, false, 1},
		{"in the verification of drafts", 12, false, 1},
		{"all answers while queued", 1, true, 3},
		{"all answers in a prefill chunk", 2, false, 3},
		{"all answers when they begin to differ", 7, false, 3},
		{"all answers in decode", 20, false, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				seqs := 1
				if !c.queue {
					seqs = c.n
				}
				e := start(t, Config{
					Executor: g, Sched: sched.Config{MaxNumSeqs: seqs, MaxNumBatchedTokens: 16, MaxModelLen: 256},
					Speculate: Speculate{Method: NGram},
				})
				defer e.Close()
				defer g.release()
				ctx, leave := context.WithCancel(context.Background())
				defer leave()
				if c.queue {
					submit(t, e, Request{Tokens: words(100, 1), MaxTokens: 50})
				}
				stream, err := e.Submit(ctx, Request{N: c.n, Tokens: words(100, 2), MaxTokens: 100})
				if err != nil {
					t.Fatal(err)
				}
				for range c.steps {
					<-g.arrived
					g.step()
				}
				<-g.arrived
				synctest.Wait()
				if s := e.Stats(); s.Usage == 0 || c.queue != (s.Waiting == 1) {
					t.Fatalf("before leaving: usage %v, %d waiting", s.Usage, s.Waiting)
				}
				leave()
				synctest.Wait() // the loop is in the step; the abort is queued
				g.release()
				last := Event{}
				for {
					event, err := stream.Next(context.Background())
					if err == io.EOF {
						break
					}
					last = event
				}
				if last.Finish != sched.Aborted {
					t.Errorf("the stream ended with %q, want abort", last.Finish)
				}
				synctest.Wait() // the loop is idle
				s := e.Stats()
				if s.Usage != 0 || s.Running != 0 || s.Waiting != 0 {
					t.Errorf("after leaving: usage %v, %d running, %d waiting", s.Usage, s.Running, s.Waiting)
				}
				if s.Finished[sched.Aborted] != int64(c.n) || e.load != 0 {
					t.Errorf("%d answers count as aborted and %d are left, want %d and none", s.Finished[sched.Aborted], e.load, c.n)
				}
				if err := e.sched.CheckIntegrity(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAbortTakesEffectAtTheNextTurn: the step in flight is the last that an
// abandoned request is part of. Who leaves by the context has to wait until the
// engine has heard of it, who calls Leave has not.
func TestAbortTakesEffectAtTheNextTurn(t *testing.T) {
	for name, abandon := range map[string]func(cancel func(), s *Stream){
		"context": func(cancel func(), _ *Stream) { cancel(); synctest.Wait() },
		"Leave":   func(_ func(), s *Stream) { s.Leave() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				e := start(t, Config{Executor: g})
				defer e.Close()
				defer g.release()
				submit(t, e, Request{Tokens: []int32{0}, MaxTokens: 100})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				s, err := e.Submit(ctx, Request{Tokens: []int32{0, 0}, MaxTokens: 100})
				if err != nil {
					t.Fatal(err)
				}
				<-g.arrived
				g.step()
				if n := len(<-g.arrived); n != 2 {
					t.Fatalf("%d sequences run, want 2", n)
				}
				abandon(cancel, s)
				g.step()
				if n := len(<-g.arrived); n != 1 {
					t.Errorf("%d sequences run after one left, want 1", n)
				}
			})
		})
	}
}

func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	e := startFor(t, Config{Executor: says()})
	slow := submit(t, e, Request{Tokens: []int32{0}, MaxTokens: 200})
	if got := collect(t, submit(t, e, Request{Tokens: []int32{0}, MaxTokens: 250})); got.Output != 250 {
		t.Fatalf("the other request got %d tokens, want 250", got.Output)
	}
	if got := collect(t, slow); got.Output != 200 {
		t.Errorf("the slow reader got %d tokens, want 200", got.Output)
	}
}

func TestCloseEndsEveryStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		e := start(t, Config{Executor: g, Sched: sched.Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 16, MaxModelLen: 256}})
		running := submit(t, e, Request{Tokens: []int32{0}, MaxTokens: 200})
		queued := submit(t, e, Request{Tokens: []int32{0}, MaxTokens: 200})
		<-g.arrived
		closed := make(chan struct{})
		go func() { defer close(closed); e.Close() }()
		synctest.Wait()
		if !e.Closed() {
			t.Error("Close has begun and Closed is false")
		}
		g.release()
		<-closed
		for name, s := range map[string]*Stream{"running": running, "queued": queued} {
			if got := collect(t, s); got.Finish != sched.Aborted {
				t.Errorf("the %s request ended with %q, want abort", name, got.Finish)
			}
		}
		if _, err := e.Submit(t.Context(), Request{Tokens: []int32{0}, MaxTokens: 1}); !errors.Is(err, ErrClosed) {
			t.Errorf("submitting to a closed engine: %v, want ErrClosed", err)
		}
	})
}

// failing is an executor whose first step fails.
type failing struct {
	script
	failed bool
}

func (f *failing) Execute(s []*model.Sequence) error {
	if !f.failed {
		f.failed = true
		return errors.New("out of memory")
	}
	return f.script.Execute(s)
}

func TestAFailedStepEndsRequestsAndForgetsTheCache(t *testing.T) {
	var heard []error
	e := startFor(t, Config{Executor: &failing{script: says()}, OnError: func(err error) { heard = append(heard, err) }})
	prompt := words(40, 1)
	if got := collect(t, submit(t, e, Request{Tokens: prompt, MaxTokens: 5})); got.Finish != sched.Failed {
		t.Fatalf("got %q, want error", got.Finish)
	}
	if len(heard) != 1 || heard[0].Error() != "running a step of 1 sequences: out of memory" {
		t.Errorf("OnError heard %v", heard)
	}
	got := collect(t, submit(t, e, Request{Tokens: prompt, MaxTokens: 5}))
	if got.Finish != sched.Length || got.Cached != 0 {
		t.Errorf("after the failure: %q with %d cached tokens, want length with 0", got.Finish, got.Cached)
	}
}

// breaking is an executor for which the model gives no numbers after a prompt that
// begins with 7.
type breaking struct{ script }

func (b breaking) Execute(s []*model.Sequence) error {
	for _, q := range s {
		q.Broken = q.Start == 0 && q.Tokens[0] == 7
	}
	return b.script.Execute(s)
}

func TestARequestWithoutNumbersFailsAlone(t *testing.T) {
	var heard []error
	e := startFor(t, Config{Executor: breaking{says()}, OnError: func(err error) { heard = append(heard, err) }})
	for _, n := range []int{1, 3} {
		heard = nil
		s := submit(t, e, Request{Tokens: []int32{7, 1, 2}, MaxTokens: 5, N: n})
		ended := 0
		for {
			event, err := s.Next(t.Context())
			if err != nil {
				break
			}
			if ended++; event.Finish != sched.Failed || event.Text != "" {
				t.Errorf("%q ended with %q, want an error", event.Text, event.Finish)
			}
		}
		if ended != n {
			t.Errorf("%d of %d answers ended", ended, n)
		}
		if got := collect(t, submit(t, e, Request{Tokens: words(9, 1), MaxTokens: 5})); got.Finish != sched.Length {
			t.Errorf("another request ended with %q", got.Finish)
		}
		if len(heard) != 1 || !strings.Contains(heard[0].Error(), "the logits of 1 of 1 sequences are not finite") {
			t.Errorf("OnError heard %v", heard)
		}
	}
	if stats := e.Stats(); stats.Running+stats.Waiting != 0 {
		t.Errorf("%d run and %d wait", stats.Running, stats.Waiting)
	}
}

func TestQueueLimit(t *testing.T) {
	g := newGate()
	e := start(t, Config{Executor: g, MaxQueue: 2, Sched: sched.Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 16, MaxModelLen: 256}})
	defer e.Close()
	defer g.release()
	request := Request{Tokens: []int32{0}, MaxTokens: 5}
	for range 3 {
		submit(t, e, request)
	}
	if _, err := e.Submit(context.Background(), request); !errors.Is(err, ErrQueueFull) {
		t.Errorf("the fourth request: %v, want ErrQueueFull", err)
	}
}

func TestSubmitRefuses(t *testing.T) {
	e := startFor(t, Config{})
	valid := Request{Tokens: []int32{0}, MaxTokens: 5}
	for _, c := range []struct {
		name   string
		change func(*Request)
	}{
		{"no prompt", func(r *Request) { r.Tokens = nil }},
		{"no output", func(r *Request) { r.MaxTokens = 0 }},
		{"negative minimum", func(r *Request) { r.MinTokens = -1 }},
		{"minimum over maximum", func(r *Request) { r.MinTokens = 6 }},
		{"negative temperature", func(r *Request) { r.Sampling.Temperature = -1 }},
		{"a temperature that is no number", func(r *Request) { r.Sampling.Temperature = float32(math.NaN()) }},
		{"top_p over 1", func(r *Request) { r.Sampling.TopP = 1.1 }},
		{"min_p below 0", func(r *Request) { r.Sampling.MinP = -0.1 }},
		{"negative top_k", func(r *Request) { r.Sampling.TopK = -2 }},
		{"negative n", func(r *Request) { r.N = -1 }},
		{"too many answers", func(r *Request) { r.N = 129 }},
		{"a presence penalty over 2", func(r *Request) { r.Sampling.Presence = 2.1 }},
		{"a frequency penalty that is no number", func(r *Request) { r.Sampling.Frequency = float32(math.NaN()) }},
		{"a negative repetition penalty", func(r *Request) { r.Sampling.Repetition = -1 }},
		{"a bias without a token", func(r *Request) { r.Sampling.Bias = []model.Bias{{Token: 1 << 20}} }},
		{"a bias that is no number", func(r *Request) { r.Sampling.Bias = []model.Bias{{Token: 1, Value: float32(math.NaN())}} }},
		{"too many log-probabilities", func(r *Request) { r.TopLogprobs = 21 }},
		{"too many log-probabilities of the prompt", func(r *Request) { r.TopPromptLogprobs = 21 }},
		{"a token outside of the vocabulary", func(r *Request) { r.Tokens = []int32{0, 1 << 20} }},
		{"a negative token", func(r *Request) { r.Tokens = []int32{-1} }},
		{"empty stop", func(r *Request) { r.Stop = []string{""} }},
		{"prompt fills the window", func(r *Request) { r.Tokens = make([]int32, 256) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := valid
			c.change(&r)
			if _, err := e.Submit(context.Background(), r); err == nil {
				t.Error("no error")
			}
		})
	}
	if _, err := e.Submit(context.Background(), valid); err != nil {
		t.Errorf("a valid request: %v", err)
	}
}

func TestStatsOfOneRequest(t *testing.T) {
	var now atomic.Int64
	clock := func() time.Duration { return time.Duration(now.Add(int64(time.Millisecond))) }
	e := start(t, Config{Executor: says(), Now: clock})
	collect(t, submit(t, e, Request{Tokens: words(20, 1), MaxTokens: 5}))
	collect(t, submit(t, e, Request{Tokens: words(20, 1), MaxTokens: 1}))
	e.Close()
	s := e.Stats()
	type counts struct {
		Prompt, Cached, Generated      int64
		TTFT, Gaps, PerToken, Finished uint64
		PromptSum, OutputSum, StepSum  float64
		Lengths                        int64
	}
	got := counts{
		s.Prompt, s.Cached, s.Generated, total(s.TTFT), total(s.InterToken), total(s.PerOutputToken), total(s.E2E),
		s.PromptTokens.Sum, s.OutputTokens.Sum, s.StepTokens.Sum, s.Finished[sched.Length],
	}
	// 20 prompt tokens, 4 decoded ones; then 4 prompt tokens that were not cached.
	want := counts{40, 16, 6, 2, 4, 1, 2, 40, 6, 28, 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if sum := s.Queue.Sum + s.Prefill.Sum + s.Decode.Sum; sum > s.E2E.Sum || s.Prefill.Sum <= 0 || s.Decode.Sum <= 0 {
		t.Errorf("queue %v, prefill %v, decode %v do not add up to at most %v", s.Queue.Sum, s.Prefill.Sum, s.Decode.Sum, s.E2E.Sum)
	}
}

func total(h Histogram) (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

func TestNewRefuses(t *testing.T) {
	small := tiny()
	small.VocabSize = 100
	for _, c := range []struct {
		name   string
		config Config
		want   string // a part of the error
	}{
		{"a vocabulary without the words", Config{Model: small}, "vocabulary of 100"},
		{"an unsupported model", Config{Model: profiles.Model{Name: "empty"}}, "empty"},
		{"a window beyond the model", Config{Sched: sched.Config{MaxModelLen: 5000}}, "more than the 4096 positions"},
		{"a cache smaller than a block", Config{Model: tiny(), KVBytes: 10},
			"a KV cache of 10 bytes cannot hold one block of 16 tokens, which takes 2048 bytes"},
		{"more memory than any machine has", Config{Model: tiny(), KVBytes: 1 << 50}, "a KV cache of 1125899906842624 bytes: expected less than 1 TiB"},
		{"the same in blocks", Config{Model: tiny(), Blocks: 1 << 30}, "1073741824 KV blocks of 16 tokens: expected less than 1 TiB"},
		{"more memory than this machine has", Config{Model: tiny(), KVBytes: 2 << 30, MemoryLimit: 1 << 30},
			"a KV cache of 2147483648 bytes does not fit into the memory of this machine, 1073741824 bytes"},
		{"the same in blocks, by one", Config{Model: tiny(), Blocks: 4, MemoryLimit: 4 * 2048}, "a KV cache of 8192 bytes does not fit"},
		{"the default where memory is short", Config{Model: tiny(), MemoryLimit: 1 << 20}, "a KV cache of 8388608 bytes does not fit"},
		{"blocks beyond their numbers", Config{Model: tiny(), Blocks: 1 << 40}, "the number of KV blocks must be at most 2147483647, got 1099511627776"},
		{"negative blocks", Config{Blocks: -1}, "the number of KV blocks must not be negative, got -1"},
		{"negative memory", Config{KVBytes: -1}, "the KV cache in bytes must not be negative, got -1"},
		{"a negative limit of memory", Config{MemoryLimit: -1}, "the memory limit in bytes must not be negative, got -1"},
		{"negative workers", Config{Workers: -1}, "the number of workers must not be negative, got -1"},
		{"workers without end", Config{Workers: 1 << 30}, "the number of workers must be at most 1024, got 1073741824"},
		{"more memory than the weights leave", Config{Model: tiny(), Weights: draftOf(t, 1), MemoryUtilization: 0.5, MemoryLimit: 100_000}, "a memory utilization of 0.5 allows 50000 bytes, of which the weights take"},
		{"a share over all", Config{Model: tiny(), MemoryUtilization: 1.5, MemoryLimit: 1 << 30}, "a memory utilization of 1.5, expected more than 0 and at most 1"},
		{"a share of nothing that is known", Config{Model: tiny(), MemoryUtilization: 0.5}, "the memory of this machine is not known"},
		{"a cache in a strange format", Config{Model: tiny(), KVDType: "fp3"}, `KV cache type "fp3", expected auto`},
		{"a negative queue", Config{MaxQueue: -1}, "the length of the queue must not be negative, got -1"},
		{"a negative block size", Config{BlockSize: -1}, "the block size must be at least 1, got -1"},
		{"a block beyond the window", Config{BlockSize: 65, Sched: sched.Config{MaxModelLen: 64}}, "the block size of 65 tokens is more than max_model_len 64"},
		{"a block whose size in bytes overflows", Config{BlockSize: 1 << 62}, "is more than max_model_len 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := New(c.config)
			if err == nil {
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestMemoryUtilization: the cache takes what the weights leave, and no more than the
// most requests of the greatest length can use.
func TestMemoryUtilization(t *testing.T) {
	weights := draftOf(t, 1)
	for _, c := range []struct {
		name   string
		config Config
		blocks int
	}{
		{"synthetic weights", Config{Model: tiny(), MemoryLimit: 1 << 20, MemoryUtilization: 0.5}, 255},
		{"loaded weights", Config{Weights: weights, MemoryLimit: 1 << 20, MemoryUtilization: 0.5}, (1<<19-int(weights.Memory()))/2048 - 1},
		{"more than can be used", Config{Model: tiny(), MemoryLimit: 1 << 40, MemoryUtilization: 0.5}, 64 * 256 / 16},
		{"a cache of half the width", Config{Model: tiny(), MemoryLimit: 1 << 20, MemoryUtilization: 0.5, KVDType: "float16"}, 511},
		{"a draft model's cache beside it", Config{Model: tiny(), MemoryLimit: 1 << 40, MemoryUtilization: 1e-6, Speculate: Speculate{Method: DraftModel, Draft: weights}},
			(1099511-int(weights.Memory()))/4096 - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := c.config.withDefaults()
			if err != nil || got.Blocks != c.blocks {
				t.Errorf("%d blocks, %v; want %d", got.Blocks, err, c.blocks)
			}
		})
	}
}

func TestNewAccepts(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		block  int
	}{
		{"memory for all blocks and the null block", Config{Blocks: 4, MemoryLimit: 5 * 2048}, 16},
		{"a block as long as the window", Config{BlockSize: 64, Sched: sched.Config{MaxModelLen: 64}}, 64},
		{"a window shorter than the usual block", Config{Sched: sched.Config{MaxModelLen: 8}}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e := startFor(t, c.config); e.config.BlockSize != c.block {
				t.Errorf("blocks of %d tokens, want %d", e.config.BlockSize, c.block)
			}
		})
	}
}
