package simulator

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

// toy is a replica whose times can be told by heart: a step takes 10 ms and 20 µs
// per token, and eight requests run at once.
func toy() Kind {
	return Kind{
		Device:    &profiles.Accelerator{BandwidthBytesPerS: 1e12, BF16FlopsPerS: 1e12},
		Facts:     cost.Facts{Layers: 1, Tensor: 1, LayerParameters: 1e7},
		Constants: cost.Constants{StepS: 0.01, ComputeFactor: 1, RequestS: 0.001},
		Sched:     sched.Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 2048, MaxModelLen: 1 << 16},
		Blocks:    4096, BlockSize: 16,
	}
}

// ask is a request that somebody sends.
type ask struct {
	at            time.Duration
	tenant, class string
	group, prefix int // group 0: the prompt shares nothing
	input, output int
	leaves        time.Duration // after so long
}

// every repeats a request n times.
func every(gap time.Duration, n int, a ask) (all []ask) {
	for range n {
		all = append(all, a)
		a.at += gap
	}
	return all
}

// play has a cluster of toys answer requests, and returns their records in the
// order in which they were sent.
func play(t testing.TB, cluster profiles.Cluster, pools []Pool, asks ...[]ask) (Result, []record.Record) {
	t.Helper()
	all := slices.Concat(asks...)
	slices.SortStableFunc(all, func(a, b ask) int { return cmp.Compare(a.at, b.at) })
	if all[0].at != 0 {
		t.Fatal("a trace begins with its first request; none is due at 0")
	}
	var recorded []workload.Session
	for _, a := range all {
		recorded = append(recorded, workload.Session{Offset: a.at, Tenant: a.tenant, Class: a.class, Turns: []workload.Turn{{
			Group: a.group - 1, Prefix: a.prefix, Input: a.input, Output: a.output, CancelAfter: a.leaves,
		}}})
	}
	stream, err := workload.New(profiles.Workload{Arrival: profiles.Arrival{Process: profiles.TraceArrival}}, workload.Options{Recorded: recorded})
	if err != nil {
		t.Fatal(err)
	}
	if pools == nil {
		pools = []Pool{{Replicas: max(1, cluster.Replicas), Kind: toy()}}
	}
	records := make([]record.Record, len(all))
	known := make([]bool, len(all))
	config := Config{Pools: pools, Streams: []*workload.Stream{stream}, Cluster: cluster, Seed: 7, Requests: len(all), Drain: time.Hour}
	result, err := Run(t.Context(), config, func(record.Window) {}, func(r *record.Record) {
		if known[r.ID] {
			t.Fatalf("request %d has ended twice", r.ID)
		}
		records[r.ID], known[r.ID] = *r, true
		if r.Chunks != nil && r.Chunks.Len() == 0 {
			t.Errorf("request %d has no output, and events with output", r.ID)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(known, false); i >= 0 {
		t.Fatalf("request %d of %d has no record", i, len(all))
	}
	return result, records
}

// tally counts records by how they ended.
func tally(records []record.Record) map[string]int {
	n := map[string]int{}
	for i := range records {
		n[ending(&records[i])]++
	}
	return n
}

func ending(r *record.Record) string { return cmp.Or(string(r.Failure), string(r.Outcome)) }

// ttft is the q-th quantile of the time to first token of those that were answered.
func ttft(records []record.Record, q float64) time.Duration {
	var all []time.Duration
	for i := range records {
		sent, _ := records[i].Sent.Since()
		if first, ok := records[i].First.Since(); ok && records[i].Outcome == record.OK {
			all = append(all, first-sent)
		}
	}
	if len(all) == 0 {
		return -1
	}
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}

// of picks records.
func of(records []record.Record, wanted func(*record.Record) bool) (some []record.Record) {
	for i := range records {
		if wanted(&records[i]) {
			some = append(some, records[i])
		}
	}
	return some
}

func sentBetween(from, to time.Duration) func(*record.Record) bool {
	return func(r *record.Record) bool {
		at, _ := r.Sent.Since()
		return at >= from && at < to
	}
}
