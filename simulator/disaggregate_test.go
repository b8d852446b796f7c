package simulator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// pair is a prefill and a decode replica with a network of 100 MB/s: a token's
// cache of 100 kB takes 1 ms.
func pair(streams ...*workload.Stream) Config {
	return Config{
		Pools:   []Pool{{Name: "prefill", Replicas: 1, Kind: steady(prefill)}, {Name: "decode", Replicas: 1, Kind: steady(decode)}},
		Streams: streams,
		Cluster: profiles.Cluster{Link: profiles.Link{BandwidthPerS: 1e8, Latency: 3 * ms}},
	}
}

// TestDisaggregated: a prompt is computed here, its cache is sent there, and tokens
// come from there.
func TestDisaggregated(t *testing.T) {
	c := pair(stream(t, constant(1), 100, 5))
	c.Requests = 1
	records, result := run(t, c)
	const (
		request  = 2 * ms   // on the way to the engine
		step     = 10 * ms  // of either
		transfer = 100 * ms // 100 tokens
	)
	r := records[0]
	first := request + step + transfer + 3*ms + step
	if got := at(r.First); got != first {
		t.Errorf("first token at %v, want %v: prefill, transfer and a step of the decode replica", got, first)
	}
	if got := at(r.Last); got != first+4*step {
		t.Errorf("last token at %v, want %v", got, first+4*step)
	}
	if n, _ := r.Endpoint.Value(); n != 1 || r.Attempts != 1 {
		t.Errorf("answered by replica %d in %d tries, want the decode replica in 1", n, r.Attempts)
	}
	if result.Steps != 1+5 {
		t.Errorf("%d steps, want one for the prompt and five for the tokens: the cache comes loaded", result.Steps)
	}
}

// TestTransfersQueue: the adapters of both sides send and receive one cache after
// another; the blocks of those that wait are held.
func TestTransfersQueue(t *testing.T) {
	for _, test := range []struct {
		name            string
		prefill, decode int
		want            []time.Duration // first tokens, of requests that come at once
	}{
		{"one pair", 1, 1, []time.Duration{125 * ms, 225 * ms, 325 * ms}},
		{"one sender", 1, 3, []time.Duration{125 * ms, 225 * ms, 325 * ms}},
		{"one receiver", 3, 1, []time.Duration{125 * ms, 225 * ms, 325 * ms}},
		{"three of each", 3, 3, []time.Duration{125 * ms, 125 * ms, 125 * ms}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := pair(stream(t, profiles.Arrival{Process: profiles.Closed, Concurrency: 3}, 100, 2))
			c.Pools[0].Replicas, c.Pools[1].Replicas = test.prefill, test.decode
			c.Requests = 3
			records, _ := run(t, c)
			var got []time.Duration
			for _, r := range records {
				got = append(got, at(r.First).Truncate(5*ms))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("first tokens (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPrefillHolds: a prefill replica whose blocks are all on their way computes no
// other prompt until a transfer is over.
func TestPrefillHolds(t *testing.T) {
	c := pair(stream(t, profiles.Arrival{Process: profiles.Closed, Concurrency: 3}, 96, 1))
	c.Pools[0].Kind.Blocks = 14 // two prompts
	c.Requests = 3
	records, _ := run(t, c)
	// Two are prefilled at once, by 12 ms, and take 96 ms each. The third waits for
	// the first transfer, which is 3 ms longer on the way, and is then the next one
	// on the wire.
	want := []time.Duration{12*ms + 96*ms + 3*ms + 10*ms, 12*ms + 2*96*ms + 3*ms + 10*ms, 12*ms + 3*96*ms + 3*ms + 10*ms}
	got := []time.Duration{at(records[0].First), at(records[1].First), at(records[2].First)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first tokens with room for two prompts (-want +got):\n%s", diff)
	}
	c.Streams[0] = stream(t, profiles.Arrival{Process: profiles.Closed, Concurrency: 3}, 96, 1)
	c.Pools[0].Kind.Blocks = 8 // one prompt
	records, _ = run(t, c)
	// Now each prompt waits for the transfer of the one before.
	each := 10*ms + 96*ms + 3*ms
	want = []time.Duration{2*ms + each + 10*ms, 2*ms + 2*each + 10*ms, 2*ms + 3*each + 10*ms}
	got = []time.Duration{at(records[0].First), at(records[1].First), at(records[2].First)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first tokens with room for one prompt (-want +got):\n%s", diff)
	}
}

// TestCrashOnTheWay: a cache on its way is lost with either of its ends.
func TestCrashOnTheWay(t *testing.T) {
	for replica, name := range []string{"prefill", "decode"} {
		t.Run(name, func(t *testing.T) {
			c := pair(stream(t, constant(1), 100, 5))
			c.Requests = 1
			c.Cluster.Failures = []profiles.Failure{{Kind: "crash", Replica: replica, At: 50 * ms, For: 20 * ms}}
			records, _ := run(t, c)
			if r := records[0]; r.Outcome != record.Failed || r.Failure != record.Connect || r.Output.Known() {
				t.Errorf("ended as %s %s with %v tokens, want a failure before the first one", r.Outcome, r.Failure, r.Output)
			}
			c.Streams = []*workload.Stream{stream(t, constant(1), 100, 5)}
			c.Cluster.Gateway = profiles.Gateway{Retry: profiles.Retry{Attempts: 2, Backoff: 30 * ms}}
			records, _ = run(t, c)
			if r := records[0]; r.Outcome != record.OK || r.Attempts != 2 {
				t.Errorf("with a retry: %s %s in %d tries, want ok in 2", r.Outcome, r.Failure, r.Attempts)
			}
		})
	}
}

// TestPrefixAtPrefill: what the cache saves is saved where prompts are computed, and
// the record says so.
func TestPrefixAtPrefill(t *testing.T) {
	c := pair(stream(t, constant(1), 100, 5, func(w *profiles.Workload) { w.Prefix = profiles.Prefix{Groups: 1, Tokens: 64} }))
	c.Requests = 3
	records, _ := run(t, c)
	var got []int
	for _, r := range records {
		n, _ := r.Cached.Value()
		got = append(got, n)
	}
	if diff := cmp.Diff([]int{0, 64, 64}, got); diff != "" {
		t.Errorf("cached tokens (-want +got):\n%s", diff)
	}
}
