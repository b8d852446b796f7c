package route

import "math/bits"

// Weighted returns the index of the target that the random number u falls on:
// target i is picked with probability weights[i] / sum. u is uniform over all of
// uint64. Weights below one are never picked; with no weight at all the answer
// is −1.
func Weighted(weights []int, u uint64) int {
	var sum uint64
	for _, w := range weights {
		sum += uint64(max(w, 0))
	}
	if sum == 0 {
		return -1
	}
	point, _ := bits.Mul64(u, sum) // floor(u / 2⁶⁴ · sum), below sum
	for i, w := range weights {
		share := uint64(max(w, 0))
		if point < share {
			return i
		}
		point -= share
	}
	panic("unreachable: the point lies below the sum of the weights")
}

// Endpoint is what a pick needs to know of one endpoint.
type Endpoint struct {
	Load    int64
	Resting bool // better left alone, while others are there
	Tried   bool // by this request, in vain: never again
}

// LeastLoaded returns the index of the smallest load among the endpoints that
// were not tried and do not rest; when all that are left rest, among those.
// Among equals it takes the turn-th, so that calls with a growing turn go round
// them; with nothing to pick from the answer is −1.
func LeastLoaded(endpoints []Endpoint, turn uint64) int {
	best, ties := -1, uint64(0)
	for i, e := range endpoints {
		switch {
		case e.Tried:
		case best < 0 || e.before(endpoints[best]):
			best, ties = i, 1
		case e == endpoints[best]:
			ties++
		}
	}
	if best < 0 {
		return -1
	}
	skip := turn % ties
	for i, e := range endpoints[best:] {
		if e != endpoints[best] {
			continue
		}
		if skip == 0 {
			return best + i
		}
		skip--
	}
	panic("unreachable: every tie was counted")
}

func (e Endpoint) before(other Endpoint) bool {
	if e.Resting != other.Resting {
		return other.Resting
	}
	return e.Load < other.Load
}
