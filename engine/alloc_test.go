package engine

import (
	"testing"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/profiles"
)

// A decoded token allocates nothing beyond its text, which of the built-in tokenizer
// is there already: longer answers make no more objects than short ones, but for what
// doubles as it grows.
func TestADecodedTokenAllocatesNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		request Request
	}{
		{"greedy", Request{}},
		{"with a stop string", Request{Stop: []string{"qqq"}}},
		{"several answers", Request{N: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startFor(t, Config{
				Model:    profiles.Model{Name: "long", VocabSize: tokenizer.Size, MaxPositions: 20_000},
				Executor: says(), Blocks: 5000, Sched: sched.Config{DisablePrefixCache: true},
			})
			r := c.request
			r.Tokens = []int32{0}
			serve := func(tokens int) float64 {
				return testing.AllocsPerRun(3, func() {
					r.MaxTokens = tokens
					s := submit(t, e, r)
					for {
						if _, err := s.Next(t.Context()); err != nil {
							return
						}
					}
				})
			}
			short, long := serve(2000), serve(10_000)
			if per := (long - short) / 8000; per > 0.02 {
				t.Errorf("%v allocations for 2000 tokens and %v for 10000, which is %v for each of them", short, long, per)
			}
		})
	}
}
