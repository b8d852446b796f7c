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

// Greedy reports whether nothing is left to chance.
func (p Sampling) Greedy() bool { return p.Temperature < greedyBelow }

// Sampler picks tokens. It owns scratch memory, so each goroutine needs its
// own; results do not depend on which one is used.
type Sampler struct {
	kept        []candidate
	spare       []candidate // for sorting
	weights     []float32   // per token
	sums        []float64   // per part of the vocabulary
	best        []int32     // likeliest tokens
	allowed     []uint64    // a bit per token
	changed     []float32   // logits after penalties, where the raw ones are still needed
	spareLogits []float32   // of a sibling
}

type candidate struct {
	token  int32
	weight float32 // e^((logit − largest)/temperature), then unnormalized probability
}

// Sample returns the token at the given position of a sequence; −1 when all logits
// are −Inf. It depends on
// nothing but its arguments: the random number is a hash of seed and position,
// so a request's text does not depend on what it was batched with. logits is left
// as it was. Biases and penalties are Take's.
//
// Filters apply in vLLM's order: temperature, min-p, top-k, top-p.
func (s *Sampler) Sample(logits []float32, p Sampling, position int) int32 {
	best, top := largest(logits)
	if p.Greedy() || best < 0 || math.IsInf(float64(top), 1) {
		return best
	}
	s.weights = slices.Grow(s.weights[:0], len(logits))[:len(logits)]
	ExpAll(s.weights, logits, top, 1/p.Temperature)
	if p.MinP > 0 {
		for token, weight := range s.weights {
			if weight < p.MinP {
				s.weights[token] = 0
			}
		}
	}
	u := uniform(p.Seed, position)
	if p.TopK > 0 && p.TopK < len(logits) || p.TopP > 0 && p.TopP < 1 {
		s.cut(p)
		return s.draw(u)
	}
	return s.drawAny(u, best)
}

// cut collects in s.kept what top-k and top-p leave, likeliest first. Equal weights
// rank by token number.
func (s *Sampler) cut(p Sampling) {
	total := s.collect(p)
	s.kept, s.spare = sortByWeight(s.kept, s.spare)
	if p.TopK > 0 {
		s.kept = s.kept[:min(p.TopK, len(s.kept))]
		total = s.total()
	}
	if p.TopP > 0 && p.TopP < 1 {
		limit := float64(p.TopP) * total
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

// collect takes the likeliest tokens into s.kept, in order of their numbers: at
// least as many as top-k and top-p keep, and few more, so that what is sorted is
// small beside the vocabulary. It returns the sum of all weights.
//
// Weights are counted by their exponent and first three bits, which are in the order
// of the weights.
func (s *Sampler) collect(p Sampling) (total float64) {
	const buckets, shift = 1024, 20
	var counts [buckets]int
	var sums [buckets]float64
	for _, w := range s.weights {
		b := math.Float32bits(w) >> shift & (buckets - 1)
		counts[b]++
		sums[b] += float64(w)
	}
	for _, x := range sums {
		total += x
	}
	byCount, byShare := p.TopK > 0, p.TopP > 0 && p.TopP < 1 && p.TopK <= 0
	lowest, count, share := buckets-1, counts[buckets-1], sums[buckets-1]
	enough := func() bool {
		return byCount && count >= p.TopK || byShare && share >= float64(p.TopP)*total
	}
	for lowest > 0 && !enough() {
		lowest--
		count += counts[lowest]
		share += sums[lowest]
	}
	s.kept = s.kept[:0]
	for token, w := range s.weights {
		if w > 0 && int(math.Float32bits(w)>>shift) >= lowest {
			s.kept = append(s.kept, candidate{int32(token), w})
		}
	}
	return total
}

func (s *Sampler) total() float64 {
	sum := 0.0
	for _, c := range s.kept {
		sum += float64(c.weight)
	}
	return sum
}

// draw inverts the cumulative distribution of s.kept at u in [0, 1).
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

// drawAny inverts the cumulative distribution of all weights at u in [0, 1): first
// by parts of the vocabulary, then within one. Where rounding finds none it is the
// best.
func (s *Sampler) drawAny(u float64, best int32) int32 {
	const part = 256
	s.sums = s.sums[:0]
	total := 0.0
	for weights := range slices.Chunk(s.weights, part) {
		x := sum(weights)
		s.sums = append(s.sums, x)
		total += x
	}
	left := float64(u * total)
	for i, x := range s.sums {
		if left >= x {
			left -= x
			continue
		}
		for j, w := range s.weights[i*part : min((i+1)*part, len(s.weights))] {
			left -= float64(w)
			if left < 0 {
				return int32(i*part + j)
			}
		}
		break
	}
	return best
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
