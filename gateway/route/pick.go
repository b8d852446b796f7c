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

// LeastLoaded returns the index of the smallest load. Among equals it takes the
// turn-th, so that calls with a growing turn go round them; with nothing to pick
// from the answer is −1.
func LeastLoaded(load []int64, turn uint64) int {
	best, ties := -1, uint64(0)
	for i, l := range load {
		switch {
		case best < 0 || l < load[best]:
			best, ties = i, 1
		case l == load[best]:
			ties++
		}
	}
	if best < 0 {
		return -1
	}
	skip := turn % ties
	for i, l := range load[best:] {
		if l != load[best] {
			continue
		}
		if skip == 0 {
			return best + i
		}
		skip--
	}
	panic("unreachable: every tie was counted")
}
