package route

import (
	"math"
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
	tests := []struct {
		name      string
		endpoints []Endpoint
		want      int
	}{
		{"nothing", nil, -1},
		{"the smallest load", []Endpoint{{Load: 2}, {Load: 1}, {Load: 3}}, 1},
		{"a resting one is left alone", []Endpoint{{Load: 0, Resting: true}, {Load: 9}}, 1},
		{"all rest: fails open", []Endpoint{{Load: 2, Resting: true}, {Load: 1, Resting: true}}, 1},
		{"one that was tried is not tried again", []Endpoint{{Load: 0, Tried: true}, {Load: 9}}, 1},
		{"not even when the other rests", []Endpoint{{Load: 0, Tried: true}, {Load: 9, Resting: true}}, 1},
		{"waiting ones count twice", []Endpoint{{Load: 5, Waiting: 4}, {Load: 8}}, 1},
		{"a cache that is nearly full comes last", []Endpoint{{Load: 1, Usage: 0.9}, {Load: 9, Usage: 0.89}}, 1},
		{"a full one before one that rests", []Endpoint{{Load: 9, Usage: 1}, {Resting: true}}, 0},
		{"all were tried", []Endpoint{{Tried: true}, {Tried: true, Resting: true}}, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := LeastLoaded(test.endpoints, 0); got != test.want {
				t.Errorf("LeastLoaded(%v) = %d, want %d", test.endpoints, got, test.want)
			}
		})
	}
}

// drawEndpoints draws endpoints that are often equal.
func drawEndpoints(t *rapid.T) []Endpoint {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Endpoint {
		return Endpoint{
			Load:    rapid.Int64Range(0, 3).Draw(t, "load"),
			Waiting: rapid.Int64Range(0, 1).Draw(t, "waiting"),
			Usage:   rapid.SampledFrom([]float64{0, 0.5, 0.95}).Draw(t, "usage"),
			Match:   rapid.IntRange(0, 2).Draw(t, "match"),
			Resting: rapid.Bool().Draw(t, "resting"),
			Tried:   rapid.Bool().Draw(t, "tried"),
		}
	}), 1, 8).Draw(t, "endpoints")
}

// Whatever is picked has no better alternative, and equals all have their turn.
func TestPicksGoRoundEquals(t *testing.T) {
	policies := map[string]struct {
		pick   func([]Endpoint, uint64) int
		before func(e, other *Endpoint) bool
	}{
		"least loaded": {LeastLoaded, (*Endpoint).before},
		"round robin":  {RoundRobin, func(e, other *Endpoint) bool { return !e.Resting && other.Resting }},
		"affinity without a cap": {
			func(e []Endpoint, turn uint64) int { return PrefixAffinity(e, -1, turn) },
			func(e, other *Endpoint) bool {
				if e.Resting == other.Resting && e.Match != other.Match {
					return e.Match > other.Match
				}
				return e.before(other)
			},
		},
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				endpoints := drawEndpoints(t)
				seen := map[int]bool{}
				for turn := range uint64(len(endpoints)) {
					seen[policy.pick(endpoints, turn)] = true
				}
				for i := range seen {
					for j := range endpoints {
						e := &endpoints[j]
						switch {
						case e.Tried:
						case i < 0 || policy.before(e, &endpoints[i]):
							t.Fatalf("picked %d from %v, %d is better", i, endpoints, j)
						case !seen[j] && !policy.before(&endpoints[i], e):
							t.Fatalf("endpoint %d of %v never had its turn", j, endpoints)
						}
					}
					if i >= 0 && endpoints[i].Tried {
						t.Fatalf("picked %d from %v, which was tried", i, endpoints)
					}
				}
			})
		})
	}
}
