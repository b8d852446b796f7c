package route

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestWeighted(t *testing.T) {
	const half = 1 << 63
	tests := []struct {
		name    string
		weights []int
		u       uint64
		want    int
	}{
		{"nothing", nil, 0, -1},
		{"no weight", []int{0, 0}, half, -1},
		{"only one", []int{7}, math.MaxUint64, 0},
		{"lowest number", []int{95, 5}, 0, 0},
		{"middle", []int{95, 5}, half, 0},
		{"highest number", []int{95, 5}, math.MaxUint64, 1},
		{"exactly half belongs to the second", []int{1, 1}, half, 1},
		{"zero is skipped", []int{0, 1, 0}, math.MaxUint64, 1},
		{"negative is zero", []int{-3, 1}, 0, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Weighted(test.weights, test.u); got != test.want {
				t.Errorf("Weighted(%v, %d) = %d, want %d", test.weights, test.u, got, test.want)
			}
		})
	}
}

// Evenly spaced numbers hit each target in proportion to its weight.
func TestWeightedIsProportional(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(0, 100), 1, 6).Draw(t, "weights")
		sum := 0
		for _, w := range weights {
			sum += w
		}
		if sum == 0 {
			return
		}
		const rounds = 16
		got := make([]int, len(weights))
		step := math.MaxUint64 / uint64(sum*rounds)
		for i := range sum * rounds {
			got[Weighted(weights, uint64(i)*step+step/2)]++
		}
		for i, w := range weights {
			if got[i] != w*rounds {
				t.Fatalf("weights %v were hit %v times, want %d each", weights, got, rounds)
			}
		}
	})
}

func TestLeastLoaded(t *testing.T) {
	if got := LeastLoaded(nil, 3); got != -1 {
		t.Errorf("with no endpoint: %d, want −1", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		load := rapid.SliceOfN(rapid.Int64Range(0, 3), 1, 8).Draw(t, "load")
		least := slices.Min(load)
		seen := map[int]bool{}
		for turn := range uint64(len(load)) {
			i := LeastLoaded(load, turn)
			if load[i] != least {
				t.Fatalf("picked load %d from %v", load[i], load)
			}
			seen[i] = true
		}
		for i, l := range load {
			if l == least && !seen[i] {
				t.Fatalf("endpoint %d of %v never had its turn", i, load)
			}
		}
	})
}
