package model

import (
	"math"
	"slices"
)

// Logprob is the natural logarithm of a token's probability, before temperature and
// filters, with those of the likeliest tokens in its place.
type Logprob struct {
	Token   int32
	Logprob float32 // −Inf: impossible
	Rank    int     // 1 for the likeliest; tokens as likely count before it, as in vLLM
	Top     []TokenLogprob
}

// TokenLogprob is one alternative.
type TokenLogprob struct {
	Token   int32
	Logprob float32
}

// Guide says which tokens may come next in one answer. Sampling uses it from one
// goroutine at a time.
type Guide interface {
	// Mask sets the bit of every token that may come next and clears all others:
	// token t is bit t%64 of word t/64.
	Mask(allowed []uint64)
	// Accept goes on behind a token; false when it was not allowed, which changes
	// nothing.
	Accept(token int32) bool
	// Rollback takes back the last n tokens.
	Rollback(n int)
}

// logprob is the log-softmax of logits at a token, and at the top likeliest ones.
func (s *Sampler) logprob(logits []float32, token int32, top int) Logprob {
	_, highest := largest(logits)
	s.weights = slices.Grow(s.weights[:0], len(logits))[:len(logits)]
	total := math.Inf(-1)
	if !math.IsInf(float64(highest), 0) {
		ExpAll(s.weights, logits, highest, 1)
		total = float64(highest) + math.Log(sum(s.weights))
	}
	at := func(t int32) float32 {
		if l := float64(logits[t]) - total; l <= 0 {
			return float32(l)
		} else if l > 0 && !math.IsInf(l, 1) {
			return 0 // rounding
		}
		return float32(math.Inf(-1)) // impossible, or none is possible
	}
	r := Logprob{Token: token, Logprob: at(token)}
	for _, l := range logits {
		if l >= logits[token] {
			r.Rank++
		}
	}
	for _, t := range s.likeliest(logits, top) {
		r.Top = append(r.Top, TokenLogprob{t, at(t)})
	}
	return r
}

// sum adds up eight interleaved parts, in an order that depends on the number of
// values only.
func sum(values []float32) float64 {
	var parts [8]float64
	for ; len(values) >= 8; values = values[8:] {
		for i := range parts {
			parts[i] += float64(values[i])
		}
	}
	for i, v := range values {
		parts[i] += float64(v)
	}
	total := 0.0
	for _, p := range parts {
		total += p
	}
	return total
}

// likeliest are the tokens with the n largest logits, largest first; of equals the
// one with the smaller number goes first.
func (s *Sampler) likeliest(logits []float32, n int) []int32 {
	n = min(n, len(logits))
	if n <= 0 {
		return nil
	}
	best := s.best[:0]
	for token, l := range logits {
		if l != l || len(best) == n && l <= logits[best[n-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, l, func(t int32, l float32) int {
			if logits[t] >= l {
				return -1
			}
			return 1
		})
		if len(best) == n {
			best = best[:n-1]
		}
		best = slices.Insert(best, at, int32(token))
	}
	s.best = best
	return best
}
