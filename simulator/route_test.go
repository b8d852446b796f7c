package simulator

import (
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// shares is how many requests each of the replicas had, and how many prompt tokens
// caches saved.
func shares(records []record.Record, replicas int) (by []int, cached int) {
	by = make([]int, replicas)
	for i := range records {
		at, _ := records[i].Endpoint.Value()
		by[at]++
		n, _ := records[i].Cached.Value()
		cached += n
	}
	return by, cached
}

// Each of many prompts is best sent where it was before; any other policy computes
// it everywhere.
func TestPrefixAffinityFindsTheCache(t *testing.T) {
	const replicas, groups = 4, 12
	// Four caches hold three prompts each, and none holds twelve.
	small := toy()
	small.Blocks = 4 * 2000 / small.BlockSize
	var asks []ask
	for round := range 40 {
		for g := range groups {
			asks = append(asks, ask{at: time.Duration(round*groups+(g*5+round*7)%groups) * 60 * ms, group: g + 1, prefix: 1920, input: 1984, output: 4})
		}
	}
	saved := func(policy string) (cached int) {
		_, records := play(t, profiles.Cluster{Router: profiles.Router{Policy: policy}}, []Pool{{Replicas: replicas, Kind: small}}, asks)
		_, cached = shares(records, replicas)
		return cached
	}
	all := len(asks) * 1920
	for policy, want := range map[string]struct{ low, high float64 }{
		"":             {0, 0.5},
		roundRobin:     {0, 0.5},
		prefixAffinity: {0.8, 1},
	} {
		if share := float64(saved(policy)) / float64(all); share < want.low || share > want.high {
			t.Errorf("policy %q: %.0f %% of the shared tokens came from caches, want %.0f to %.0f %%", policy, 100*share, 100*want.low, 100*want.high)
		}
	}
}

// One prompt that everybody begins with makes one replica hot; the load cap does
// not let it.
func TestLoadCapCoolsTheHotSpot(t *testing.T) {
	const replicas = 4
	asks := every(10*ms, 2000, ask{group: 1, prefix: 1600, input: 1664, output: 20})
	run := func(loadCap float64) (hottest int, slow time.Duration) {
		_, records := play(t, profiles.Cluster{Replicas: replicas, Router: profiles.Router{Policy: prefixAffinity, LoadCap: loadCap}}, nil, asks)
		by, _ := shares(records, replicas)
		for _, n := range by {
			hottest = max(hottest, n)
		}
		return hottest, ttft(records, 0.99)
	}
	if hottest, slow := run(-1); hottest != len(asks) || slow < 5*second {
		t.Errorf("no cap: %d of %d requests at one replica, p99 TTFT %v; want all, and above 5 s", hottest, len(asks), slow)
	}
	if hottest, slow := run(0); hottest > len(asks)/2 || slow > 300*ms {
		t.Errorf("default cap: %d of %d requests at one replica, p99 TTFT %v; want at most half, and below 300 ms", hottest, len(asks), slow)
	}
}

func TestRoundRobinGivesEachTheSame(t *testing.T) {
	// Every other request is long: round robin sends all of those to one of two.
	var asks []ask
	for i := range 100 {
		asks = append(asks, ask{at: time.Duration(i) * 100 * ms, input: 100, output: 1 + i%2*100})
	}
	_, records := play(t, profiles.Cluster{Replicas: 2, Router: profiles.Router{Policy: roundRobin}}, nil, asks)
	long := of(records, func(r *record.Record) bool { n, _ := r.Output.Value(); return n > 1 })
	if by, _ := shares(long, 2); by[0] != 0 && by[1] != 0 {
		t.Errorf("long requests by replica %v, want all at one", by)
	}
	if by, _ := shares(records, 2); by[0] != by[1] {
		t.Errorf("requests by replica %v, want the same number", by)
	}
}

// BenchmarkFront is what a request costs between its sender and a replica, and
// back, with little to do for the engine.
func BenchmarkFront(b *testing.B) {
	asks := every(ms, 5000, ask{tenant: "a", group: 1, prefix: 512, input: 1024, output: 1})
	for _, bench := range []struct {
		name    string
		cluster profiles.Cluster
	}{
		{"bare", profiles.Cluster{Replicas: 16}},
		{"gateway", profiles.Cluster{Replicas: 16, Gateway: profiles.Gateway{
			Limits: profiles.Limits{RPM: 1 << 40, InputTPM: 1 << 40}, InFlight: 32, Timeout: time.Minute, Retry: profiles.Retry{Attempts: 3, Budget: 0.2},
		}}},
		{"affinity", profiles.Cluster{Replicas: 16, Router: profiles.Router{Policy: prefixAffinity}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				play(b, bench.cluster, nil, asks)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(asks)), "ns/request")
		})
	}
}
