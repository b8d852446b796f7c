package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
)

// shares draws names, each with its share.
type shares struct {
	names  []string
	shares []float64 // cumulative
}

func newShares(what string, weights map[string]float64) (shares, error) {
	s := shares{names: slices.Sorted(maps.Keys(weights))}
	for _, name := range s.names {
		share := weights[name]
		if !(share > 0) || math.IsInf(share, 0) {
			return s, fmt.Errorf("%s %s has a share of %g, expected more than 0", what, name, share)
		}
		s.shares = append(s.shares, share)
	}
	s.shares = cumulative(s.shares)
	return s, nil
}

// draw returns a name, or nothing where there are none.
func (s *shares) draw(r random) string {
	if len(s.names) == 0 {
		return ""
	}
	return s.names[pick(s.shares, r)]
}

// cumulative turns weights into cumulative shares that end in 1.
func cumulative(weights []float64) []float64 {
	total := 0.0
	for i, w := range weights {
		total += w
		weights[i] = total
	}
	for i := range weights {
		weights[i] /= total
	}
	return weights
}

// pick draws an index by the cumulative shares.
func pick(shares []float64, r random) int {
	return min(sort.SearchFloat64s(shares, r.uniform()), len(shares)-1)
}

// checkFraction reports what is no share of requests.
func checkFraction(what string, v float64) error {
	if !(v >= 0 && v <= 1) {
		return fmt.Errorf("%s of %g of the requests, expected 0 to 1", what, v)
	}
	return nil
}
