package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// Where only the tokens of a step are said, no more requests run than have one in it:
// the last of them would wait for others to end.
func TestFewTokensInAStepMeanFewRequests(t *testing.T) {
	for _, c := range []struct {
		name string
		said sched.Config
		want int
	}{
		{"few tokens", sched.Config{MaxNumBatchedTokens: 32}, 32},
		{"many tokens", sched.Config{MaxNumBatchedTokens: 4096}, 64},
		{"both", sched.Config{MaxNumBatchedTokens: 32, MaxNumSeqs: 8}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := Config{Model: tiny(), Sched: c.said}.withDefaults()
			if err != nil || got.Sched.MaxNumSeqs != c.want {
				t.Errorf("%d requests (%v), want %d", got.Sched.MaxNumSeqs, err, c.want)
			}
		})
	}
}

// At temperature 0 an executor that makes its tokens of seed and place alone says the
// same to the same prompt, whatever the seed and which of n it is; at other
// temperatures it does not.
func TestAnswersAtTemperatureZeroRepeatWithoutLogits(t *testing.T) {
	e := startFor(t, Config{Executor: script{func(q *model.Sequence) int32 {
		return int32(100 + (q.Sampling.Seed^uint64(q.Start+len(q.Tokens)))%800)
	}}})
	ask := func(r Request) []int32 {
		t.Helper()
		s := submit(t, e, r)
		var ids []int32
		for {
			ev, err := s.Next(t.Context())
			if err != nil {
				return ids
			}
			ids = append(ids, ev.IDs...)
		}
	}
	prompt, other := words(20, 1), words(20, 2)
	greedy := ask(Request{Tokens: prompt, MaxTokens: 8})
	for _, c := range []struct {
		name string
		r    Request
		same bool
	}{
		{"again", Request{Tokens: prompt, MaxTokens: 8}, true},
		{"with a seed", Request{Tokens: prompt, MaxTokens: 8, Seeded: true, Sampling: model.Sampling{Seed: 7}}, true},
		{"another prompt", Request{Tokens: other, MaxTokens: 8}, false},
		{"at random", Request{Tokens: prompt, MaxTokens: 8, Sampling: model.Sampling{Temperature: 1}}, false},
	} {
		if got := ask(c.r); cmp.Equal(greedy, got) != c.same {
			t.Errorf("%s: %v, beside %v", c.name, got, greedy)
		}
	}
}
