package model

import (
	"math"
	"slices"
)

// Sampling says how the next token is picked. The zero value is greedy.
type Sampling struct {
	Temperature float32 // below 1e-5 the largest logit wins, as in vLLM
	TopK        int     // keep the k most likely tokens; 0 keeps all
	TopP        float32 // keep the smallest set with this probability; 0 and 1 keep all
	MinP        float32 // drop tokens below this share of the likeliest one's probability
	Seed        uint64

	// Penalties on tokens that the output has (presence, frequency; added), and that
	// prompt or output has (repetition; multiplied), as vLLM applies them. 0 is
	// none; so is 1 of Repetition.
	Presence, Frequency, Repetition float32
	Bias                            []Bias
}

// Bias is added to a token's logit.
type Bias struct {
	Token int32
	Value float32
}

const greedyBelow = 1e-5

// Sampler picks tokens. It owns scratch memory, so each goroutine needs its
// own; results do not depend on which one is used.
type Sampler struct {
	kept    []candidate
	spare   []candidate // for sorting
	weights []float32   // per token
}

type candidate struct {
	token  int32
	weight float32 // e^((logit − largest)/temperature), then unnormalized probability
}

// Sample returns the token at the given position of a sequence. It depends on
// nothing but its arguments: the random number is a hash of seed and position,
// so a request's text does not depend on what it was batched with. forbidden
// tokens are never returned. logits is left as it was.
//
// Filters apply in vLLM's order: temperature, min-p, top-k, top-p.
func (s *Sampler) Sample(logits []float32, p Sampling, position int, forbidden []int32) int32 {
	best := largest(logits, forbidden)
	if p.Temperature < greedyBelow || best < 0 {
		return max(best, 0)
	}
	s.keep(logits, logits[best], p, forbidden)
	if p.TopK > 0 && p.TopK < len(s.kept) || p.TopP > 0 && p.TopP < 1 {
		s.cut(p)
	}
	return s.draw(uniform(p.Seed, position))
}

// largest returns the first token with the largest logit, −1 if none is
// allowed.
func largest(logits []float32, forbidden []int32) int32 {
	best, top := int32(-1), float32(math.Inf(-1))
	for token, l := range logits {
		if l > top && !slices.Contains(forbidden, int32(token)) {
			best, top = int32(token), l
		}
	}
	return best
}

// keep collects the tokens that pass min-p, in order of their numbers.
func (s *Sampler) keep(logits []float32, top float32, p Sampling, forbidden []int32) {
	s.kept = s.kept[:0]
	s.weights = slices.Grow(s.weights[:0], len(logits))[:len(logits)]
	ExpAll(s.weights, logits, top, 1/p.Temperature)
	for token, weight := range s.weights {
		if weight > 0 && weight >= p.MinP && !slices.Contains(forbidden, int32(token)) {
			s.kept = append(s.kept, candidate{int32(token), weight})
		}
	}
}

// cut applies top-k and top-p. Equal weights rank by token number.
func (s *Sampler) cut(p Sampling) {
	s.kept, s.spare = sortByWeight(s.kept, s.spare)
	if p.TopK > 0 && p.TopK < len(s.kept) {
		s.kept = s.kept[:p.TopK]
	}
	if p.TopP > 0 && p.TopP < 1 {
		limit := float64(p.TopP) * s.total()
		sum := 0.0
		for i, c := range s.kept {
			sum += float64(c.weight)
			if sum >= limit {
				s.kept = s.kept[:i+1]
				break
			}
		}
	}
}

func (s *Sampler) total() float64 {
	sum := 0.0
	for _, c := range s.kept {
		sum += float64(c.weight)
	}
	return sum
}

// draw inverts the cumulative distribution at u in [0, 1).
func (s *Sampler) draw(u float64) int32 {
	left := float64(u * s.total())
	for _, c := range s.kept {
		left -= float64(c.weight)
		if left < 0 {
			return c.token
		}
	}
	return s.kept[len(s.kept)-1].token
}

// uniform returns a number in [0, 1) that depends only on seed and position, by
// two rounds of the SplitMix64 finalizer (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, 2014).
func uniform(seed uint64, position int) float64 {
	const golden = 0x9e3779b97f4a7c15
	z := mix(mix(seed+golden) + uint64(position)*golden)
	return float64(z>>11) / (1 << 53)
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
