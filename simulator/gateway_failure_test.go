package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// An outage of twenty seconds, with retries. Without a budget the requests of the
// outage all come back in the middle of those that are sent after it, and keep
// them waiting; with one, those find things as they were.
func TestRetryStorm(t *testing.T) {
	const ends = 30 * second
	traffic := every(20*ms, 3000, ask{input: 500, output: 4}) // 50 a second, at 80 % of what the replica does
	run := func(budget float64) (slow time.Duration, tries float64, saved int) {
		result, records := play(t, profiles.Cluster{
			Gateway:  profiles.Gateway{Retry: profiles.Retry{Attempts: 6, Backoff: second, Budget: budget}},
			Failures: []profiles.Failure{{Kind: "outage", Target: "replicas", At: ends - 20*second, For: 20 * second}},
		}, nil, traffic)
		during := of(records, sentBetween(ends-20*second, ends))
		return ttft(of(records, sentBetween(ends, ends+10*second)), 0.5), 1 + float64(result.Gateway.Retried)/float64(len(records)), tally(during)["ok"]
	}
	slow, tries, saved := run(0)
	if slow < second || tries < 2 || saved < 900 {
		t.Errorf("without a budget: median TTFT %v, %.2f tries per request, %d of 1000 saved; want a storm", slow, tries, saved)
	}
	slow, tries, saved = run(0.1)
	if slow > 200*ms || tries > 1.2 || saved > 100 {
		t.Errorf("with a budget: median TTFT %v, %.2f tries per request, %d of 1000 saved; want no storm", slow, tries, saved)
	}
}

// One replica of two is too slow to answer in time. Its requests time out, which
// makes it look idle; the breaker sees to it that few are sent there.
func TestBreakerLeavesASlowReplicaAlone(t *testing.T) {
	slow := toy()
	slow.Slowdown = 1000
	result, records := play(t, profiles.Cluster{
		Gateway: profiles.Gateway{Timeout: second, Retry: profiles.Retry{Attempts: 3}},
	}, []Pool{{Replicas: 1, Kind: toy()}, {Replicas: 1, Kind: slow}}, every(50*ms, 1200, ask{input: 100, output: 10}))
	if ends := tally(records); ends["ok"] != len(records) {
		t.Errorf("requests ended %v, want all answered", ends)
	}
	// A minute has time for a dozen probes, after a first handful of failures.
	if n := result.Gateway.TimedOut; n < 10 || n > 60 {
		t.Errorf("%d tries timed out, want only the first ones and probes", n)
	}
}

// The breaker's probe is over with the first token of its answer: an endpoint that
// is well again is back long before a long answer ends.
func TestProbeIsAnsweredByTheFirstToken(t *testing.T) {
	_, records := play(t, profiles.Cluster{
		Replicas: 1,
		Gateway:  profiles.Gateway{Fallback: profiles.Fallback{TTFT: 100 * ms}},
		Failures: []profiles.Failure{{Kind: "outage", Target: "replicas", For: second}},
	}, nil, every(50*ms, 400, ask{input: 100, output: 3000}))
	// The breaker opens with the tenth failure at half a second and is tried at
	// five and a half; eight requests run at once.
	own := of(records, func(r *record.Record) bool { return r.Cached.Known() })
	if len(own) < 200 {
		t.Errorf("%d requests were the replica's, want those of the last fourteen seconds", len(own))
	}
}

// While the breakers of all replicas are open, requests go to the fallback at once
// and not by way of a replica that fails.
func TestOpenBreakersLeadToTheFallback(t *testing.T) {
	_, records := play(t, profiles.Cluster{
		Replicas: 2,
		Gateway:  profiles.Gateway{Fallback: profiles.Fallback{TTFT: 100 * ms}},
		Failures: []profiles.Failure{{Kind: "outage", Target: "replicas"}},
	}, nil, every(20*ms, 1000, ask{input: 100, output: 1}))
	ends := tally(records)
	// Ten failures open each breaker, and there is a probe every five seconds.
	if tried := len(of(records, func(r *record.Record) bool { return r.Attempts > 1 })); ends["ok"] != 1000 || tried < 20 || tried > 40 {
		t.Errorf("requests ended %v, %d by way of a replica; want all answered and 20 to 40", ends, tried)
	}
}

// What a fallback answers has a price, and only in the window.
func TestFallbackIsPaidFor(t *testing.T) {
	result, records := play(t, profiles.Cluster{
		Gateway:  profiles.Gateway{Fallback: profiles.Fallback{TTFT: 100 * ms, TPOT: ms, USDPer1MIn: 2, USDPer1MOut: 8}},
		Failures: []profiles.Failure{{Kind: "outage", Target: "replicas"}},
	}, nil, every(second, 100, ask{input: 1000, output: 100}))
	want := record.Provided{}
	for i := range records {
		if last, ok := records[i].Last.Since(); ok && last < result.Window.End {
			want.Requests++
		}
	}
	want.InputTokens, want.OutputTokens = want.Requests*1000, want.Requests*100
	want.USD = float64(want.Requests) * (0.002 + 0.0008)
	got := *result.Gateway.Fallback
	if d := got.USD - want.USD; want.Requests < 95 || d > 1e-9 || d < -1e-9 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got.USD = want.USD; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// gatewayText are all counts of a gateway.
func gatewayText(g *record.Gateway) string {
	text, _ := json.Marshal(g) // numbers always can be
	return string(text)
}

// Whatever a gateway is set to and whatever fails: each request ends once, within
// the tries that it has; nobody has more in flight than allowed; and the same seed
// gives the same.
func TestGatewayKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		span := func(label string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(rt, label))
		}
		g := profiles.Gateway{
			Limits:   profiles.Limits{RPM: rapid.SampledFrom([]int64{0, 100}).Draw(rt, "rpm"), OutputTPM: rapid.SampledFrom([]int64{0, 1000}).Draw(rt, "tpm"), Concurrent: rapid.SampledFrom([]int64{0, 5}).Draw(rt, "concurrent")},
			MaxQueue: rapid.IntRange(0, 10).Draw(rt, "queue"),
			InFlight: rapid.IntRange(0, 6).Draw(rt, "in flight"),
			Timeout:  rapid.SampledFrom([]time.Duration{0, 30 * ms, second}).Draw(rt, "timeout"),
			Retry:    profiles.Retry{Attempts: rapid.IntRange(0, 4).Draw(rt, "attempts"), Budget: rapid.SampledFrom([]float64{0, 0.1}).Draw(rt, "budget"), Backoff: span("back-off", second)},
			Fallback: profiles.Fallback{TTFT: rapid.SampledFrom([]time.Duration{0, 50 * ms}).Draw(rt, "fallback"), TPOT: span("tpot", 20*ms), Concurrent: rapid.IntRange(0, 2).Draw(rt, "fallback's places"), WhenSaturated: rapid.Bool().Draw(rt, "saturated")},
		}
		cluster := profiles.Cluster{Replicas: rapid.IntRange(1, 3).Draw(rt, "replicas"), Gateway: g}
		cluster.Router.Policy = rapid.SampledFrom([]string{"", roundRobin, prefixAffinity}).Draw(rt, "policy")
		for range rapid.IntRange(0, 3).Draw(rt, "outages") {
			cluster.Failures = append(cluster.Failures, profiles.Failure{
				Kind: "outage", Target: rapid.SampledFrom([]string{"replicas", "fallback"}).Draw(rt, "target"), At: span("at", 5*second), For: 1 + span("for", 3*second),
			})
		}
		asks := []ask{{input: 100, output: 10}}
		for range rapid.IntRange(0, 60).Draw(rt, "requests") {
			asks = append(asks, ask{
				at: span("sent", 5*second), tenant: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "tenant"), class: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "class"),
				group: rapid.IntRange(0, 2).Draw(rt, "group"), prefix: 64, input: rapid.IntRange(65, 3000).Draw(rt, "input"), output: rapid.IntRange(1, 60).Draw(rt, "output"),
				leaves: rapid.SampledFrom([]time.Duration{0, 0, 100 * ms}).Draw(rt, "leaves"),
			})
		}
		result, records := play(t, cluster, nil, asks)
		again, second := play(t, cluster, nil, asks)
		if a, b := fmt.Sprint(summary(records), gatewayText(result.Gateway)), fmt.Sprint(summary(second), gatewayText(again.Gateway)); a != b {
			rt.Fatalf("the same seed gave\n%s\nand\n%s", a, b)
		}
		for i := range records {
			check(rt, &records[i], &g)
		}
		if n := g.InFlight; n > 0 {
			for replica := range cluster.Replicas {
				if most := mostInFlight(records, replica, cluster.Replicas > 1); most > n {
					rt.Fatalf("%d answers at once from replica %d, of at most %d in flight", most, replica, n)
				}
			}
		}
	})
}

// check tests one record against what its gateway may do.
func check(t *rapid.T, r *record.Record, g *profiles.Gateway) {
	asked, _ := r.AskedOutput.Value()
	output, _ := r.Output.Value()
	sent, _ := r.Sent.Since()
	first, begun := r.First.Since()
	last, _ := r.Last.Since()
	closed, _ := r.Closed.Since()
	switch {
	case r.Attempts > max(1, g.Retry.Attempts)+1:
		t.Fatalf("request %d was tried %d times", r.ID, r.Attempts)
	case r.Outcome == record.OK && output != asked, output > asked:
		t.Fatalf("request %d ended %s with %d of %d tokens", r.ID, ending(r), output, asked)
	case begun && (first < sent || last < first || closed < last), closed < sent:
		t.Fatalf("request %d was sent at %v and ended %s at %v, with tokens from %v to %v", r.ID, sent, ending(r), closed, first, last)
	case begun != (output > 0), begun && r.Outcome == record.Failed && r.Failure != record.Truncated:
		t.Fatalf("request %d ended %s after %d tokens", r.ID, ending(r), output)
	case g.Timeout > 0 && begun && r.Attempts == 1 && g.InFlight == 0 && g.Retry.Attempts < 2 && first-sent > max(g.Timeout, g.Fallback.TTFT):
		t.Fatalf("request %d had its first token after %v", r.ID, first-sent)
	}
}

// mostInFlight is the largest number of answers that a replica gave at once.
func mostInFlight(records []record.Record, replica int, several bool) int {
	type edge struct {
		at time.Duration
		by int
	}
	var edges []edge
	for i := range records {
		r := &records[i]
		if at, known := r.Endpoint.Value(); several && (!known || at != replica) || r.Output == 0 {
			continue
		}
		if _, ours := r.Chunks.(*record.StepChunks); !ours {
			continue
		}
		first, _ := r.First.Since()
		last, _ := r.Last.Since()
		edges = append(edges, edge{first, 1}, edge{last, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.by - b.by
	})
	most, now := 0, 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

// summary is what runs are compared by.
func summary(records []record.Record) (lines []string) {
	for i := range records {
		r := &records[i]
		lines = append(lines, fmt.Sprintln(r.ID, ending(r), r.Attempts, r.Endpoint, r.First, r.Last, r.Closed, r.Output))
	}
	return lines
}
