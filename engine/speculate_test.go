package engine

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

func draftOf(t tester, seed uint64) *model.Weights {
	shape, err := model.ShapeOf(tiny())
	if err != nil {
		t.Fatal(err)
	}
	return model.Synthetic(shape, seed)
}

// A draft model that is the model itself is right every time: its cache has what the
// served model's has, through shared prefixes, pieces, answers that part, temperatures
// and preemptions.
func TestADraftModelSeesWhatTheModelSees(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
	}{
		{"roomy", Config{}},
		{"prompts in pieces", Config{Sched: sched.Config{MaxNumBatchedTokens: 30}}},
		{"preemptions", Config{Blocks: 40, BlockSize: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Sched.MaxModelLen = 120
			c.config.Speculate = Speculate{Method: DraftModel, Tokens: 3, Draft: draftOf(t, 0)}
			e := start(t, c.config)
			var streams []*Stream
			for i := range 6 {
				r := Request{N: 1 + i%3, Tokens: slices.Concat(words(21, 1), words(i, 2)), MaxTokens: 40, IgnoreEOS: true}
				r.Sampling.Temperature = float32(i % 2)
				streams = append(streams, submit(t, e, r))
			}
			for i, s := range streams {
				collectAll(t, s, 1+i%3)
			}
			e.Close()
			s := e.Stats()
			if s.Speculation.Accepted != s.Speculation.Tokens || s.Speculation.Tokens < 200 || s.Speculation.PerPosition[2] == 0 {
				t.Errorf("%+v, want all accepted", s.Speculation)
			}
			if s.Drafts != s.Speculation.Tokens || s.AcceptedDrafts != s.Speculation.Accepted {
				t.Errorf("the scheduler counts %d and %d, want %+v", s.Drafts, s.AcceptedDrafts, s.Speculation)
			}
			if (c.config.Blocks > 0) != (s.Preemptions > 0) {
				t.Errorf("%d preemptions", s.Preemptions)
			}
		})
	}
}

// The end of an answer inside of accepted drafts cuts what stands behind it.
func TestAStopInsideOfAcceptedDraftsCutsTheRest(t *testing.T) {
	// "ababab…" is what the n-grams propose, four tokens a step.
	loop := script{func(q *model.Sequence) int32 {
		at := q.Start + len(q.Tokens) - q.Drafts
		next := func() int32 { return 8 + int32("ab"[at%2]) }
		for ; q.Accepted < q.Drafts && q.Tokens[len(q.Tokens)-q.Drafts+q.Accepted] == next(); at++ {
			q.Accepted++
		}
		return next()
	}}
	for _, c := range []struct {
		name    string
		request Request
		text    string
		output  int
	}{
		{"a stop string", Request{MaxTokens: 90, Stop: []string{"ababababababa"}}, "b", 14},
		{"max_tokens", Request{MaxTokens: 13}, strings.Repeat("ba", 6) + "b", 13},
		{"the window", Request{MaxTokens: 200}, strings.Repeat("ba", 49) + "b", 99},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := start(t, Config{Executor: loop, Sched: sched.Config{MaxModelLen: 100}, Speculate: Speculate{Method: NGram}})
			c.request.Tokens = []int32{0}
			got := collectAll(t, submit(t, e, c.request), 1)[0]
			if got.Text != c.text || got.Output != c.output {
				t.Errorf("got %q of %d tokens, want %q of %d", got.Text, got.Output, c.text, c.output)
			}
			e.Close()
			if s := e.Stats(); s.Speculation.Accepted == 0 || s.Usage != 0 || s.Generated != int64(c.output) {
				t.Errorf("%+v, usage %v, %d generated", s.Speculation, s.Usage, s.Generated)
			}
		})
	}
}

// The tables find what a search of the whole text does.
func TestProposalsAreThoseOfASearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shortest := rapid.IntRange(1, 4).Draw(t, "min")
		longest := rapid.IntRange(shortest, 6).Draw(t, "max")
		k := rapid.IntRange(1, 5).Draw(t, "k")
		all := rapid.SliceOfN(rapid.Int32Range(0, 3), 1, 200).Draw(t, "tokens")
		p := newProposer(shortest, longest)
		for end := 1; end <= len(all); end += rapid.IntRange(1, 3).Draw(t, "step") {
			tokens := all[:end]
			p.update(tokens)
			got := p.propose(nil, tokens, k)
			if want := search(tokens, shortest, longest, k); !slices.Equal(got, want) {
				t.Fatalf("after %v: got %v, want %v", tokens, got, want)
			}
		}
	})
}

func search(tokens []int32, shortest, longest, k int) []int32 {
	for n := longest; n >= shortest; n-- {
		for at := 0; at+n < len(tokens); at++ {
			if slices.Equal(tokens[at:at+n], tokens[len(tokens)-n:]) {
				return tokens[at+n : min(at+n+k, len(tokens))]
			}
		}
	}
	return nil
}

func BenchmarkPropose(b *testing.B) {
	tokens := words(100_000, 1)
	p := newProposer(2, 4)
	p.update(tokens)
	var drafts []int32
	b.ReportAllocs()
	for b.Loop() {
		tokens = append(tokens, tokenizer.Size-1)
		p.update(tokens)
		drafts = p.propose(drafts[:0], tokens, 4)
	}
}

func TestSpeculateRefuses(t *testing.T) {
	large := tiny()
	large.VocabSize += 64
	shape, err := model.ShapeOf(large)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		s    Speculate
		want string
	}{
		{"another method", Speculate{Method: "eagle"}, `speculating by "eagle", expected ngram or draft`},
		{"too many tokens", Speculate{Method: NGram, Tokens: 65}, "speculating 65 tokens, expected 1 to 64"},
		{"n-grams without an end", Speculate{Method: NGram, NgramMax: 17}, "n-grams of 2 to 17 tokens"},
		{"n-grams of a wrong order", Speculate{Method: NGram, NgramMin: 3, NgramMax: 2}, "n-grams of 3 to 2 tokens"},
		{"no draft model", Speculate{Method: DraftModel}, "there is none"},
		{"a draft model of another vocabulary", Speculate{Method: DraftModel, Draft: model.Synthetic(shape, 1)}, "a vocabulary of 2112, expected the 2048"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(Config{Model: tiny(), Speculate: c.s})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
