package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// mix draws requests with shared prefixes, so that the prefix cache has
// something to do, half of them greedy and half sampled with a seed.
func mix(t *rapid.T) []Request {
	var requests []Request
	for i := range rapid.IntRange(1, 6).Draw(t, "requests") {
		tokens := words(rapid.IntRange(1, 60).Draw(t, "shared"), uint64(rapid.IntRange(0, 1).Draw(t, "group")))
		tokens = append(tokens, words(rapid.IntRange(1, 40).Draw(t, "own"), uint64(100+i))...)
		r := Request{Tokens: tokens, MaxTokens: rapid.IntRange(1, 20).Draw(t, "output"), IgnoreEOS: i%4 == 0, Seeded: true}
		if i%3 == 2 {
			r.Sampling = model.Sampling{Presence: 0.5, Repetition: 1.1, Bias: []model.Bias{{Token: 1500, Value: 1}}}
		}
		if i%2 == 1 {
			r.Sampling = model.Sampling{Temperature: 1, TopK: 50 * (i % 3), TopP: 0.9, Seed: uint64(i)}
		}
		requests = append(requests, r)
	}
	return requests
}

// alone runs the requests one after the other in an engine without a prefix
// cache, on one worker, each prompt in one chunk.
func alone(t tester, requests []Request) (want []outcome) {
	e := start(t, Config{Sched: sched.Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 256, MaxModelLen: 256, DisablePrefixCache: true}, Workers: 1})
	defer e.Close()
	for _, r := range requests {
		want = append(want, collect(t, submit(t, e, r)))
	}
	return want
}

func texts(outcomes []outcome) (t []string) {
	for _, o := range outcomes {
		t = append(t, fmt.Sprintf("%s|%d|%s", o.Text, o.Output, o.Finish))
	}
	return t
}

// TestTextDoesNotDependOnHowItIsScheduled is the property that makes the engine a
// reference: whatever the prefix cache, the batch, the chunk size, the block
// size, the number of workers or a preemption do, a request's text is what it is
// alone.
func TestTextDoesNotDependOnHowItIsScheduled(t *testing.T) {
	preemptions := int64(0)
	rapid.Check(t, func(t *rapid.T) {
		requests := mix(t)
		want := texts(alone(t, requests))
		for _, c := range []struct {
			name   string
			budget int
			config Config
		}{
			{"together", 512, Config{}},
			{"without prefix cache", 512, Config{Sched: sched.Config{DisablePrefixCache: true}}},
			{"chunks of 1", 1, Config{}},
			{"chunks of 7", 7, Config{}},
			{"chunks of 256", 256, Config{}},
			{"threshold of 5", 64, Config{Sched: sched.Config{LongPrefillTokenThreshold: 5}}},
			{"small pool", 64, Config{Blocks: 33, BlockSize: 4}},
			{"small pool, one token a step and request", 16, Config{Blocks: 9, BlockSize: 16}},
			{"blocks of 1", 64, Config{Blocks: 1000, BlockSize: 1}},
			{"three workers", 512, Config{Workers: 3}},
			{"n-grams", 512, Config{Speculate: Speculate{Method: NGram, NgramMin: 1}}},
			{"n-grams in a small pool", 16, Config{Blocks: 33, BlockSize: 4, Speculate: Speculate{Method: NGram, NgramMin: 1, Tokens: 3}}},
			{"a draft model", 64, Config{Speculate: Speculate{Method: DraftModel, Draft: draftOf(t, 1)}}},
		} {
			c.config.Sched.MaxNumSeqs, c.config.Sched.MaxNumBatchedTokens, c.config.Sched.MaxModelLen = 8, c.budget, 130
			e := start(t, c.config)
			// Twice, so that the second time finds everything cached.
			for round := range 2 {
				var streams []*Stream
				for _, r := range requests {
					streams = append(streams, submit(t, e, r))
				}
				var got []outcome
				for _, s := range streams {
					got = append(got, collect(t, s))
				}
				if diff := cmp.Diff(want, texts(got)); diff != "" {
					t.Fatalf("%s, round %d: %s", c.name, round, diff)
				}
			}
			preemptions += e.Stats().Preemptions
			e.Close()
			if err := e.sched.CheckIntegrity(); err != nil {
				t.Fatal(err)
			}
			if usage := e.Stats().Usage; usage != 0 {
				t.Fatalf("%s: usage %v after everything ended", c.name, usage)
			}
		}
	})
	if preemptions == 0 {
		t.Error("the small pools forced no preemption, so the test shows nothing about it")
	}
}

func TestSameSeedSameTextOtherSeedOtherText(t *testing.T) {
	e := startFor(t, Config{})
	request := func(seed uint64) Request {
		return Request{Tokens: words(20, 1), MaxTokens: 40, IgnoreEOS: true, Seeded: true, Sampling: model.Sampling{Temperature: 1, Seed: seed}}
	}
	first := collect(t, submit(t, e, request(5)))
	if again := collect(t, submit(t, e, request(5))); again.Text != first.Text {
		t.Errorf("seed 5 twice:\n%s\n%s", first.Text, again.Text)
	}
	if other := collect(t, submit(t, e, request(6))); other.Text == first.Text {
		t.Error("seeds 5 and 6 give the same text")
	}
	unseeded := request(0)
	unseeded.Seeded = false
	one, two := collect(t, submit(t, e, unseeded)), collect(t, submit(t, e, unseeded))
	if one.Text == two.Text {
		t.Error("two requests without a seed give the same text")
	}
}

func TestCachedTokens(t *testing.T) {
	const block = 16
	prompt := words(3*block+5, 1)
	longer := append(append([]int32(nil), prompt...), words(10, 2)...)
	for _, c := range []struct {
		name   string
		tokens []int32
		salt   string
		before string // salt of an earlier request with the same prompt
		want   int
	}{
		{"repeat", prompt, "", "", 3 * block},
		{"longer", longer, "", "", 3 * block},
		{"exactly whole blocks recompute the last", prompt[:3*block], "", "", 2 * block},
		{"another salt", prompt, "tenant-a", "", 0},
		{"the same salt again", prompt, "tenant-a", "tenant-a", 3 * block},
		{"a third salt", prompt, "tenant-b", "tenant-a", 0},
		{"salt does not disturb", prompt, "", "tenant-a", 3 * block},
		{"another text", words(3*block+5, 9), "", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startFor(t, Config{BlockSize: block})
			collect(t, submit(t, e, Request{Tokens: prompt, MaxTokens: 1}))
			if c.before != "" {
				collect(t, submit(t, e, Request{Tokens: prompt, MaxTokens: 1, CacheSalt: c.before}))
			}
			before := e.Stats()
			got := collect(t, submit(t, e, Request{Tokens: c.tokens, MaxTokens: 2, CacheSalt: c.salt}))
			after := e.Stats()
			if got.Cached != c.want {
				t.Errorf("cached %d tokens, want %d", got.Cached, c.want)
			}
			if hits := after.PrefixHits - before.PrefixHits; hits != int64(c.want) {
				t.Errorf("the scheduler counts %d hits, want %d", hits, c.want)
			}
			if queries := after.PrefixQueries - before.PrefixQueries; queries != int64(len(c.tokens)) {
				t.Errorf("the scheduler counts %d queries, want %d", queries, len(c.tokens))
			}
		})
	}
}
