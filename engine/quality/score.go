package quality

import (
	"errors"
	"fmt"
	"math"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// Runner runs steps: an executor whose KV cache is this package's alone, with blocks
// for the longest text.
type Runner interface {
	Execute([]*model.Sequence) error
}

// BlockSize is how many tokens a block of a Runner's cache holds.
const BlockSize = 16

// Blocks is how many blocks a Runner's cache needs for texts of so many tokens.
func Blocks(tokens int) int { return kv.BlocksFor(tokens, BlockSize) }

// Score runs a text in one step, with nothing before it, and returns the
// log-probability of each of its tokens but the first, with those of the top
// likeliest in its place.
func Score(r Runner, tokens []int32, top int) ([]model.Logprob, error) {
	if len(tokens) < 2 {
		return nil, fmt.Errorf("scoring a text of %d tokens, expected at least 2", len(tokens))
	}
	n := len(tokens) - 1
	q := &model.Sequence{Tokens: tokens[:n], Blocks: table(n), Score: tokens[1:], TopScore: top}
	if err := r.Execute([]*model.Sequence{q}); err != nil {
		return nil, fmt.Errorf("scoring: %w", err)
	}
	return q.Scores, nil
}

// Continue is what follows a prompt when the likeliest token is taken each time: n
// tokens, each with the log-probabilities of the two likeliest in its place.
func Continue(r Runner, prompt []int32, n int) ([]model.Logprob, error) {
	if len(prompt) == 0 {
		return nil, errors.New("continuing a prompt without tokens")
	}
	blocks := table(len(prompt) + n)
	var answer []model.Logprob
	next := prompt
	for start := 0; len(answer) < n; {
		q := &model.Sequence{Tokens: next, Start: start, Blocks: blocks, Sample: true, Logprobs: true, Top: 2}
		if err := r.Execute([]*model.Sequence{q}); err != nil {
			return nil, fmt.Errorf("continuing: %w", err)
		}
		answer = append(answer, q.Sampled...)
		start += len(next)
		next = []int32{q.Next}
	}
	return answer, nil
}

// table is a block table for n tokens.
func table(n int) []kv.Block {
	blocks := make([]kv.Block, Blocks(n))
	for i := range blocks {
		blocks[i] = kv.Block(i)
	}
	return blocks
}

// Perplexity is e to the mean negative log-probability.
func Perplexity(scores []model.Logprob) float64 {
	sum := 0.0
	for _, s := range scores {
		sum -= float64(s.Logprob)
	}
	return math.Exp(sum / float64(len(scores)))
}

// Divergence is the Kullback-Leibler divergence, in nats, of one place's prediction
// from another program's, of which the likeliest tokens are known: D(want ‖ got) over
// these and one class for all other tokens. It is +Inf when got.Top lacks one of them.
func Divergence(want []model.TokenLogprob, got model.Logprob) float64 {
	ours := make(map[int32]float64, len(got.Top))
	for _, t := range got.Top {
		ours[t.Token] = float64(t.Logprob)
	}
	sum, p, q := 0.0, 0.0, 0.0
	for _, t := range want {
		logprob, known := ours[t.Token]
		if !known {
			return math.Inf(1)
		}
		l := float64(t.Logprob)
		sum += math.Exp(l) * (l - logprob)
		p += math.Exp(l)
		q += math.Exp(logprob)
	}
	if p < 1 && q < 1 {
		sum += (1 - p) * math.Log((1-p)/(1-q))
	}
	return sum
}
