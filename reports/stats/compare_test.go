package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMannWhitney(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b []float64
		want float64
	}{
		// All values of one are below those of the other: 2 of the ways to divide
		// the ranks are as far apart.
		{"three of three apart", []float64{1, 2, 3}, []float64{4, 5, 6}, 2.0 / 20},
		{"four of four apart", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70},
		{"five of five apart", []float64{10, 9, 8, 7, 6}, []float64{1, 2, 3, 4, 5}, 2.0 / 252},
		// One swapped pair: sums 10 and 26, or nearer to the ends: 4 of 70.
		{"one swapped", []float64{1, 2, 3, 5}, []float64{4, 6, 7, 8}, 4.0 / 70},
		{"the same", []float64{1, 2, 3}, []float64{1, 2, 3}, 1},
		{"all equal", []float64{1, 1}, []float64{1, 1}, 1},
		// Ranks 1.5 1.5 3.5 3.5: of 6 ways 2 have sums as far from the mean.
		{"ties", []float64{1, 1}, []float64{2, 2}, 2.0 / 6},
		{"nothing to compare", nil, []float64{1}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := MannWhitney(tc.a, tc.b); math.Abs(got-tc.want) > 1e-12 {
				t.Errorf("p = %v, want %v", got, tc.want)
			}
		})
	}
}

// The approximation for many values must go on where the count of ways ends.
func TestMannWhitneyOfMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Float64Range(0, 1), 25, 30).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Float64Range(0.05, 1.2), 25, 30).Draw(t, "b")
		ranks, sum := doubledRanks(a, b), 0
		for _, r := range ranks[:len(a)] {
			sum += r
		}
		off := sum - len(a)*(len(ranks)+1)
		off = max(off, -off)
		exact, normal := exactP(ranks, len(a), off), normalP(ranks, len(a), off)
		if math.Abs(exact-normal) > 0.01+0.02*exact {
			t.Fatalf("exact %v, approximation %v", exact, normal)
		}
		if p, q := MannWhitney(a, b), MannWhitney(b, a); math.Abs(p-q) > 1e-12 {
			t.Fatalf("p of a and b is %v, of b and a %v", p, q)
		}
	})
}

func TestMedianInterval(t *testing.T) {
	// Tabulated pairs of ranks for 95 %: n = 6: 1–6, 9: 2–8, 10: 2–9, 20: 6–15.
	for _, tc := range []struct {
		n         int
		low, high float64
		achieved  float64
	}{
		{1, 1, 1, 0}, {2, 1, 2, 0.5}, {5, 1, 5, 0.9375}, {6, 1, 6, 0.96875}, {8, 1, 8, 0.9921875},
		{9, 2, 8, 0.9609375}, {10, 2, 9, 0.978515625}, {20, 6, 15, 0.9586105346679688},
	} {
		sorted := make([]float64, tc.n)
		for i := range sorted {
			sorted[i] = float64(i + 1)
		}
		low, high, achieved := MedianInterval(sorted, 0.95)
		if low != tc.low || high != tc.high || math.Abs(achieved-tc.achieved) > 1e-9 {
			t.Errorf("of %d values: %v to %v with %v, want %v to %v with %v", tc.n, low, high, achieved, tc.low, tc.high, tc.achieved)
		}
	}
}
