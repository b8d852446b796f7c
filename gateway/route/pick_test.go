package route

import (
	"testing"

	"pgregory.net/rapid"
)

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
