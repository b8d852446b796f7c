package engine

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// told is all that a stream said of one answer.
type told struct {
	Text     string
	IDs      []int32
	Output   int
	Cached   int
	Finish   sched.FinishReason
	Stopped  Stopped
	Logprobs []model.Logprob
	Prompt   []model.Logprob
}

// collectAll reads all answers of a request, and checks that events add up.
func collectAll(t tester, s *Stream, n int) []told {
	t.Helper()
	answers := make([]told, n)
	for {
		e, err := s.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		a := &answers[e.Index]
		if a.Finish != sched.Running {
			t.Fatalf("answer %d goes on behind its end", e.Index)
		}
		if len(e.IDs) != e.Tokens {
			t.Fatalf("an event of %d tokens names %d", e.Tokens, len(e.IDs))
		}
		a.Text, a.Output, a.Cached, a.Finish, a.Stopped = a.Text+e.Text, e.Output, e.Cached, e.Finish, e.Stopped
		a.IDs = append(a.IDs, e.IDs...)
		a.Logprobs = append(a.Logprobs, e.Logprobs...)
		a.Prompt = append(a.Prompt, e.Prompt...)
	}
	for i, a := range answers {
		if a.Finish == sched.Running || a.Output != len(a.IDs) {
			t.Fatalf("answer %d ended with %q, %d tokens and %d named", i, a.Finish, a.Output, len(a.IDs))
		}
	}
	return answers
}

// Several answers to a prompt share its blocks and are to the token what separate
// requests with the next seeds say: with a partly filled tail block that must be
// copied, with whole blocks, with fewer places than answers, with preemptions and
// with drafts.
func TestAnswersThatShareAPromptAreThoseOfSeparateRequests(t *testing.T) {
	const n = 4
	for _, c := range []struct {
		name   string
		prompt int
		config Config
	}{
		{"a partly filled tail block", 21, Config{}},
		{"a tail block with one token", 17, Config{}},
		{"a length that is a multiple of the block", 32, Config{}},
		{"a prompt of one token", 1, Config{}},
		{"a prompt in pieces", 37, Config{Sched: sched.Config{MaxNumBatchedTokens: 5}}},
		{"fewer places than answers", 21, Config{Sched: sched.Config{MaxNumSeqs: 2}}},
		{"preemptions", 21, Config{Blocks: 16, BlockSize: 4}},
		{"preemptions and n-grams", 21, Config{Blocks: 16, BlockSize: 4, Speculate: Speculate{Method: NGram, NgramMin: 1}}},
		{"a cache in int8", 21, Config{KVDType: "int8"}},
		{"a cache in fp8 and preemptions", 21, Config{KVDType: "fp8", Blocks: 16, BlockSize: 4}},
		{"no prefix cache", 21, Config{Sched: sched.Config{DisablePrefixCache: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, temperature := range []float32{0, 1} {
				r := Request{Tokens: words(c.prompt, 7), MaxTokens: 25, Seeded: true, Logprobs: true, Sampling: model.Sampling{Temperature: temperature, Seed: 40, Frequency: 0.5}}
				alone := startFor(t, Config{KVDType: c.config.KVDType})
				var want []told
				for i := range n {
					single := r
					single.Sampling.Seed += uint64(i)
					want = append(want, collectAll(t, submit(t, alone, single), 1)...)
				}
				c.config.Sched.MaxModelLen = 64
				e := start(t, c.config)
				r.N = n
				got := collectAll(t, submit(t, e, r), n)
				for i := range got {
					got[i].Cached, want[i].Cached = 0, 0
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("temperature %g (-separate +together):\n%s", temperature, diff)
				}
				e.Close()
				if st := e.Stats(); st.Usage != 0 || st.Running+st.Waiting != 0 || (c.config.Blocks > 0) != (st.Preemptions > 0) {
					t.Errorf("at the end: %+v", st.Stats)
				}
				if err := e.sched.CheckIntegrity(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The prompt of several answers runs once, and counts once.
func TestAPromptWithSeveralAnswersRunsOnce(t *testing.T) {
	e := start(t, Config{})
	collectAll(t, submit(t, e, Request{N: 5, Tokens: words(100, 1), MaxTokens: 3, IgnoreEOS: true}), 5)
	e.Close()
	s := e.Stats()
	got := []float64{s.StepTokens.Sum, float64(s.Prompt), float64(s.Generated), s.Answers.Sum, s.MaxOutput.Sum, float64(s.Finished[sched.Length])}
	if diff := cmp.Diff([]float64{100 + 5*2, 100, 15, 5, 3, 5}, got); diff != "" {
		t.Errorf("tokens computed, of prompts, of answers; n, longest, ended (-want +got):\n%s", diff)
	}
}

// Each answer may end with its first token, before the others or after.
func TestAnswersEndOneByOne(t *testing.T) {
	for _, c := range []struct {
		name  string
		guide func(i int) []int32 // what answer i has to say
		max   int
		want  []int // output tokens
	}{
		{"the first at once", func(i int) []int32 {
			return slices.Concat(slices.Repeat([]int32{tokenizer.Size - 1}, 3*i), []int32{tokenizer.EOS})
		}, 20, []int{1, 4, 7}},
		{"the others at once", func(i int) []int32 {
			return slices.Concat(slices.Repeat([]int32{tokenizer.Size - 1}, 6-3*i), []int32{tokenizer.EOS})
		}, 20, []int{7, 4, 1}},
		{"all at once", func(int) []int32 { return []int32{tokenizer.EOS} }, 20, []int{1, 1, 1}},
		{"one token each", func(int) []int32 { return []int32{tokenizer.Size - 1, tokenizer.Size - 1} }, 1, []int{1, 1, 1}},
		{"nothing that may come", func(i int) []int32 { return slices.Repeat([]int32{tokenizer.Size - 1}, i) }, 20, []int{0, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := start(t, Config{Speculate: Speculate{Method: NGram, NgramMin: 1}})
			i := -1
			r := Request{N: 3, Tokens: words(20, 1), MaxTokens: c.max, Guide: func() model.Guide { i++; return &says1{tokens: c.guide(i)} }}
			var got []int
			for _, a := range collectAll(t, submit(t, e, r), 3) {
				got = append(got, a.Output)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("output tokens (-want +got):\n%s", diff)
			}
			e.Close()
			if st := e.Stats(); st.Usage != 0 || e.load != 0 || len(e.answers)+len(e.requests) != 0 {
				t.Errorf("at the end: %+v, %d answers", st.Stats, e.load)
			}
		})
	}
}

// says1 is a guide that allows one text.
type says1 struct {
	tokens []int32
	at     int
}

func (g *says1) Mask(allowed []uint64) {
	clear(allowed)
	if g.at < len(g.tokens) {
		t := g.tokens[g.at]
		allowed[t/64] |= 1 << (t % 64)
	}
}

func (g *says1) Accept(t int32) bool {
	ok := g.at < len(g.tokens) && g.tokens[g.at] == t
	if ok {
		g.at++
	}
	return ok
}

func (g *says1) Rollback(n int) { g.at -= n }

func TestStopTokensAndStopStrings(t *testing.T) {
	for _, c := range []struct {
		name    string
		says    []int32
		request Request
		text    string
		stopped Stopped
		finish  sched.FinishReason
	}{
		{"a stop token", bytesOf("abc"), Request{StopTokens: bytesOf("c")}, "ab", Stopped{Token: 8 + 'c'}, sched.Stop},
		{"a stop token that is kept", bytesOf("abc"), Request{StopTokens: bytesOf("c"), KeepStop: true}, "abc", Stopped{Token: 8 + 'c'}, sched.Stop},
		{"a stop token before min_tokens", bytesOf("acbc"), Request{StopTokens: bytesOf("c"), MinTokens: 3}, "acb", Stopped{Token: 8 + 'c'}, sched.Stop},
		{"a stop string", bytesOf("abcd"), Request{Stop: []string{"bc"}}, "a", Stopped{Text: "bc", Token: -1}, sched.Stop},
		{"a stop string that is kept", bytesOf("abcd"), Request{Stop: []string{"bc"}, KeepStop: true}, "abc", Stopped{Text: "bc", Token: -1}, sched.Stop},
		{"an end of sequence", append(bytesOf("ab"), tokenizer.EOS), Request{}, "ab", Stopped{Token: -1}, sched.Stop},
		{"no end", bytesOf("abcde"), Request{}, "abcde", Stopped{Token: -1}, sched.Length},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startFor(t, Config{Executor: says(c.says...)})
			c.request.Tokens, c.request.MaxTokens = []int32{0}, 5
			got := collectAll(t, submit(t, e, c.request), 1)[0]
			if got.Text != c.text || got.Stopped != c.stopped || got.Finish != c.finish {
				t.Errorf("got %q, %+v, %q; want %q, %+v, %q", got.Text, got.Stopped, got.Finish, c.text, c.stopped, c.finish)
			}
		})
	}
}

// Every token has one log-probability, the first included; drafts, pieces and other
// requests change nothing; and what a token has as output it has as part of a prompt.
func TestLogprobsOfOutputAndPromptAreTheSame(t *testing.T) {
	r := Request{Tokens: words(30, 3), MaxTokens: 30, Seeded: true, Logprobs: true, TopLogprobs: 3, Sampling: model.Sampling{Temperature: 1, Seed: 3}}
	plain := startFor(t, Config{})
	want := collectAll(t, submit(t, plain, r), 1)[0]
	if len(want.Logprobs) != want.Output {
		t.Fatalf("%d log-probabilities of %d tokens", len(want.Logprobs), want.Output)
	}
	for i, l := range want.Logprobs {
		if l.Token != want.IDs[i] || l.Rank < 1 || len(l.Top) != 3 || !(l.Logprob <= l.Top[0].Logprob) {
			t.Errorf("token %d, %d: %+v", i, want.IDs[i], l)
		}
	}
	whole := slices.Concat(r.Tokens, want.IDs)
	for _, c := range []struct {
		name   string
		config Config
	}{
		{"plain", Config{}},
		{"in pieces", Config{Sched: sched.Config{MaxNumBatchedTokens: 7}}},
		{"with drafts", Config{Speculate: Speculate{Method: NGram, NgramMin: 1}}},
		{"preempted", Config{Blocks: 16, BlockSize: 4, Sched: sched.Config{MaxNumBatchedTokens: 9}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Sched.MaxModelLen = 62
			e := startFor(t, c.config)
			collectAll(t, submit(t, e, Request{Tokens: whole, MaxTokens: 1}), 1) // fills the cache
			other := submit(t, e, Request{Tokens: words(25, 4), MaxTokens: 30})
			got := collectAll(t, submit(t, e, r), 1)[0]
			got.Cached = 0
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output:\n%s", diff)
			}
			score := Request{Tokens: whole, MaxTokens: 1, PromptLogprobs: true, TopPromptLogprobs: 3}
			scored := collectAll(t, submit(t, e, score), 1)[0]
			if len(scored.Prompt) != len(whole) || scored.Cached != 0 {
				t.Fatalf("%d log-probabilities of a prompt of %d tokens, %d of them cached", len(scored.Prompt), len(whole), scored.Cached)
			}
			if diff := cmp.Diff(want.Logprobs, scored.Prompt[len(r.Tokens):]); diff != "" {
				t.Errorf("the same tokens as a prompt:\n%s", diff)
			}
			collect(t, other)
		})
	}
}
