package sizing

import (
	"math"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestPrefixHitsAgreeWithEvents makes the pool small and the groups many.
func TestPrefixHitsAgreeWithEvents(t *testing.T) {
	if underRace {
		t.Skip("nothing to race")
	}
	for _, tc := range []struct {
		name   string
		groups int
		pool   int64 // bytes
	}{
		{"all fit", 8, 54 << 30}, {"eight in 4 GiB", 8, 4 << 30}, {"64 in 4 GiB", 64, 4 << 30}, {"1,000 in 16 GiB", 1000, 16 << 30},
		{"10,000 in 16 GiB", 10_000, 16 << 30},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, scenario(func(r *Request) {
				r.KVCacheMemory, r.MaxModelLen = tc.pool, 8192
				r.Scenario.Workload = profiles.Workload{Input: fixed(1500), Output: fixed(100), Prefix: profiles.Prefix{Groups: tc.groups, Tokens: 1008}}
			}))
			e.requests = 3000
			rate, _ := limits{quantile: 0.99}.maxRate(e.replica)
			e.rate = 0.7 * rate
			seen := measured(e.run(t), func(o observed) float64 { return o.hit }).Mean
			got := e.replica.mix.hitRate()
			t.Logf("hit rate %.3f, events %.3f", got, seen)
			if math.Abs(got-seen) > 0.12 {
				t.Errorf("hit rate %.3f, events %.3f", got, seen)
			}
		})
	}
}

func TestPopularitiesAreShares(t *testing.T) {
	for _, p := range []profiles.Prefix{{Groups: 1}, {Groups: 7, Tokens: 1}, {Groups: 10_000_000, Popularity: 1.1}, {Groups: 30, Popularity: 2}} {
		sum, groups := 0.0, 0.0
		for _, g := range popularities(p) {
			sum += g.weight
			groups += g.weight / g.value
		}
		if math.Abs(sum-1) > 1e-9 || math.Abs(groups-float64(p.Groups)) > 1e-6*float64(p.Groups) {
			t.Errorf("%+v: weights add up to %v, of %v groups", p, sum, groups)
		}
	}
	even, zipf := prefixHits(profiles.Prefix{Groups: 1000}, 10_000, 100, 50), prefixHits(profiles.Prefix{Groups: 1000, Popularity: 1.2}, 10_000, 100, 50)
	if !(even < zipf) {
		t.Errorf("popular prefixes stay cached: %v even, %v by Zipf's law", even, zipf)
	}
}
