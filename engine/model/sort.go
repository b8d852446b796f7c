package model

import (
	"math"
	"slices"
)

// sortByWeight sorts candidates by descending weight, equal ones staying in their
// order, and returns them with the slice that is then free. Weights are in
// (0, 1].
//
// It is a radix sort: the bits of positive floats are in the order of their
// values, and up to 1.0 = 0x3f800000 they fit into 30, three passes of ten. That
// is linear in the vocabulary, where comparing would cost more than the model.
func sortByWeight(from, to []candidate) (sorted, spare []candidate) {
	const digit = 10
	to = slices.Grow(to[:0], len(from))[:len(from)]
	for shift := 0; shift < 3*digit; shift += digit {
		var ends [1 << digit]int32
		for _, c := range from {
			ends[bucket(c, shift)]++
		}
		sum := int32(0)
		for i, n := range ends {
			ends[i] = sum
			sum += n
		}
		for _, c := range from {
			b := bucket(c, shift)
			to[ends[b]] = c
			ends[b]++
		}
		from, to = to, from
	}
	return from, to
}

// bucket is ten bits of a weight, complemented so that larger weights come first.
func bucket(c candidate, shift int) uint32 {
	return ^(math.Float32bits(c.weight) >> shift) & (1<<10 - 1)
}
