package modeled

import (
	"math"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// write gives a sequence, and the other answers to its prompt, their next words, and
// what was asked for of log-probabilities.
func write(s *model.Sequence) {
	for _, token := range s.Score {
		s.Scores = append(s.Scores, even(token, s.TopScore))
	}
	if !s.Sample {
		return
	}
	at := s.Start + len(s.Tokens) - s.Drafts
	next(s, at)
	for _, sibling := range s.Siblings {
		next(sibling, at)
	}
}

func next(s *model.Sequence, at int) {
	s.Next, s.Sampled = word(s.Sampling.Seed, at), nil
	if s.Logprobs {
		s.Sampled = []model.Logprob{even(s.Next, s.Top)}
	}
}

// even is the log-probability of a token where each word is as likely as any other:
// what is true of words that are drawn by lot. The likeliest tokens are then itself and
// any others.
func even(token int32, top int) model.Logprob {
	each := float32(-math.Log(float64(len(spaced))))
	l := model.Logprob{Token: token, Logprob: each, Rank: 1}
	for i := 0; len(l.Top) < min(top, len(spaced)); i++ {
		other := token
		if i > 0 {
			other = spaced[(int(token)+i)%len(spaced)]
		}
		if i == 0 || other != token {
			l.Top = append(l.Top, model.TokenLogprob{Token: other, Logprob: each})
		}
	}
	return l
}

// word is the token at a place of a sequence. It depends on nothing but the seed
// of the request and the place, so that a request which is computed again after a
// preemption goes on as before. All words carry a leading space: the text of an
// answer, sent back as part of a longer conversation, becomes the same tokens,
// and so finds them in the prefix cache.
func word(seed uint64, at int) int32 {
	return spaced[mix(seed, uint64(at))%uint64(len(spaced))]
}

// spaced are the tokens that are words with a space before them.
var spaced = func() (out []int32) {
	for t := range int32(tokenizer.Size) {
		if tokenizer.ClassOf(t) == tokenizer.SpacedWord {
			out = append(out, t)
		}
	}
	return out
}()

// mix spreads two numbers over 64 bits (SplitMix64; Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", 2014).
func mix(a, b uint64) uint64 {
	z := a*0xd1342543de82ef95 + (b+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
