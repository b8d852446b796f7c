package simulator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

const (
	us     = time.Microsecond
	ms     = time.Millisecond
	second = time.Second
)

// What one request of each kind comes to, in all detail.
func TestGatewayEndings(t *testing.T) {
	short := ask{input: 100, output: 10}
	long := ask{input: 100, output: 100} // a second
	outage := func(at, length time.Duration) []profiles.Failure {
		return []profiles.Failure{{Kind: "outage", Target: "replicas", At: at, For: length}}
	}
	fallback := profiles.Fallback{TTFT: 300 * ms, TPOT: 10 * ms, USDPer1MIn: 1, USDPer1MOut: 10}
	type want struct {
		ending   string
		status   int
		attempts int
		output   int
		took     time.Duration // until it ended
	}
	tests := []struct {
		name    string
		cluster profiles.Cluster
		asks    []ask
		want    want // of the last request
	}{
		{"no gateway", profiles.Cluster{}, []ask{short}, want{"ok", 200, 1, 10, 103*ms + 180*us}},
		{"no gateway, an outage", profiles.Cluster{Failures: outage(0, second)}, []ask{short}, want{"connect", 0, 1, 0, 2 * ms}},
		{"no gateway, an outage in the middle of the answer", profiles.Cluster{Failures: outage(500*ms, second)}, []ask{long}, want{"truncated", 200, 1, 49, 500 * ms}},
		{"a gateway that has nothing to do", profiles.Cluster{Gateway: profiles.Gateway{Timeout: time.Minute}}, []ask{short}, want{"ok", 200, 1, 10, 103*ms + 180*us}},

		{"above the limit of requests", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{RPM: 1}}}, []ask{short, short}, want{"http_429", 429, 1, 0, ms}},
		{"another tenant's limit", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{RPM: 1}}}, []ask{{tenant: "a", input: 100, output: 10}, {tenant: "b", at: second, input: 100, output: 10}}, want{"ok", 200, 1, 10, 103*ms + 180*us}},
		{"what is reserved counts", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{OutputTPM: 199}}}, []ask{long, long}, want{"http_429", 429, 1, 0, ms}},
		{"what a user who left did not use is given back", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{OutputTPM: 150}}}, []ask{{input: 100, output: 100, leaves: 200 * ms}, {at: 300 * ms, input: 100, output: 100}}, want{"ok", 200, 1, 100, 1004*ms + 980*us}},
		{"what a request that failed did not use is given back", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{OutputTPM: 150}}, Failures: outage(0, second)}, []ask{long, {at: 2 * second, input: 100, output: 100}}, want{"ok", 200, 1, 100, 1004*ms + 980*us}},
		{"that it was sent counts all the same", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{RPM: 1}}, Failures: outage(0, second)}, []ask{long, {at: 2 * second, input: 100, output: 100}}, want{"http_429", 429, 1, 0, ms}},
		{"what was used is not given back", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{OutputTPM: 150}}}, []ask{long, {at: 2 * second, input: 100, output: 100}}, want{"http_429", 429, 1, 0, ms}},
		{"one at once", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{Concurrent: 1}}}, []ask{long, {at: 500 * ms, input: 100, output: 10}}, want{"http_429", 429, 1, 0, ms}},
		{"one after the other", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{Concurrent: 1}}}, []ask{short, {at: 500 * ms, input: 100, output: 10}}, want{"ok", 200, 1, 10, 103*ms + 180*us}},

		{"waits for the one that is in flight", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1}}, []ask{long, short}, want{"ok", 200, 1, 10, 1108*ms + 160*us}},
		{"finds the queue full", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1, MaxQueue: 1}}, []ask{long, short, short}, want{"http_503", 503, 1, 0, ms}},
		{"leaves the queue", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1}}, []ask{long, {input: 100, output: 10, leaves: 400 * ms}}, want{"cancelled", 0, 1, 0, 400 * ms}},

		{"the one in flight has left, and the replica is told", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1, PropagateCancel: "on"}}, []ask{{input: 100, output: 100, leaves: 200 * ms}, {at: 300 * ms, input: 100, output: 10}}, want{"ok", 200, 1, 10, 103*ms + 180*us}},
		{"the one in flight has left, and nobody is told", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1, PropagateCancel: "off"}}, []ask{{input: 100, output: 100, leaves: 200 * ms}, {at: 300 * ms, input: 100, output: 10}}, want{"ok", 200, 1, 10, 808*ms + 160*us}},
		{"leaves, and nobody is told", profiles.Cluster{Gateway: profiles.Gateway{PropagateCancel: "off"}}, []ask{{input: 100, output: 100, leaves: 200 * ms}}, want{"cancelled", 200, 1, 19, 200 * ms}},
		{"leaves the queue, and nobody is told", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1, PropagateCancel: "off"}}, []ask{{input: 100, output: 100}, {input: 100, output: 100, leaves: 400 * ms}, {at: 500 * ms, input: 100, output: 10}}, want{"ok", 200, 1, 10, 1613*ms + 140*us}},
		{"what nobody was told to stop is used", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{OutputTPM: 150}, PropagateCancel: "off"}}, []ask{{input: 100, output: 100, leaves: 200 * ms}, {at: 2 * second, input: 100, output: 100}}, want{"http_429", 429, 1, 0, ms}},
		{"leaves the fallback, which is told in any case", profiles.Cluster{Gateway: profiles.Gateway{Fallback: fallback, PropagateCancel: "off"}, Failures: outage(0, second)}, []ask{{input: 100, output: 10, leaves: 351 * ms}}, want{"cancelled", 200, 2, 6, 351 * ms}},
		{"no token in time", profiles.Cluster{Gateway: profiles.Gateway{Timeout: 50 * ms}}, []ask{{input: 10_000, output: 10}}, want{"http_504", 504, 1, 0, 50 * ms}},
		{"no token in time, twice", profiles.Cluster{Gateway: profiles.Gateway{Timeout: 50 * ms, Retry: profiles.Retry{Attempts: 2}}}, []ask{{input: 10_000, output: 10}}, want{"http_504", 504, 2, 0, 100 * ms}},
		{"a token in time, and a long answer", profiles.Cluster{Gateway: profiles.Gateway{Timeout: 50 * ms}}, []ask{long}, want{"ok", 200, 1, 100, 1004*ms + 980*us}},
		{"an outage", profiles.Cluster{Gateway: profiles.Gateway{Timeout: second}, Failures: outage(0, second)}, []ask{short}, want{"http_502", 502, 1, 0, ms}},
		{"an outage that a retry outlasts", profiles.Cluster{Gateway: profiles.Gateway{Retry: profiles.Retry{Attempts: 2, Backoff: 2 * second}}, Failures: outage(0, second)}, []ask{short}, want{"ok", 200, 2, 10, -1}},
		{"an outage before the first token: the retry", profiles.Cluster{Gateway: profiles.Gateway{Retry: profiles.Retry{Attempts: 2, Backoff: 2 * second}}, Failures: outage(5*ms, second)}, []ask{short}, want{"ok", 200, 2, 10, -1}},
		{"an outage after the first token: none", profiles.Cluster{Gateway: profiles.Gateway{Retry: profiles.Retry{Attempts: 2, Backoff: 2 * second}}, Failures: outage(500*ms, second)}, []ask{long}, want{"truncated", 200, 1, 49, 500 * ms}},

		{"the fallback", profiles.Cluster{Gateway: profiles.Gateway{Fallback: fallback}, Failures: outage(0, second)}, []ask{short}, want{"ok", 200, 2, 10, 391 * ms}},
		{"leaves the fallback", profiles.Cluster{Gateway: profiles.Gateway{Fallback: fallback}, Failures: outage(0, second)}, []ask{{input: 100, output: 10, leaves: 351 * ms}}, want{"cancelled", 200, 2, 6, 351 * ms}},
		{"the fallback is busy", profiles.Cluster{Gateway: profiles.Gateway{Fallback: profiles.Fallback{TTFT: second, Concurrent: 1}}, Failures: outage(0, second)}, []ask{short, short}, want{"http_502", 502, 1, 0, ms}},
		{"the fallback is out, too", profiles.Cluster{Gateway: profiles.Gateway{Fallback: fallback}, Failures: append(outage(0, second), profiles.Failure{Kind: "outage", Target: "fallback"})}, []ask{short}, want{"http_502", 502, 1, 0, ms}},
		{"the fallback goes out in the middle of the answer", profiles.Cluster{Gateway: profiles.Gateway{Fallback: fallback}, Failures: append(outage(0, second), profiles.Failure{Kind: "outage", Target: "fallback", At: 326 * ms})}, []ask{short}, want{"truncated", 200, 2, 3, 326 * ms}},
		{"the fallback does not take what is shed", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1, MaxQueue: 1, Fallback: fallback}}, []ask{long, short, short}, want{"http_503", 503, 1, 0, ms}},
		{"the fallback takes what is shed", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1, MaxQueue: 1, Fallback: profiles.Fallback{TTFT: 300 * ms, TPOT: 10 * ms, WhenSaturated: true}}}, []ask{long, short, short}, want{"ok", 200, 1, 10, 390 * ms}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, records := play(t, test.cluster, nil, test.asks)
			r := &records[len(records)-1]
			sent, _ := r.Sent.Since()
			closed, _ := r.Closed.Since()
			output, _ := r.Output.Value()
			got := want{ending(r), r.HTTPStatus, r.Attempts, output, closed - sent}
			if test.want.took < 0 {
				got.took = test.want.took
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("last request (-want +got):\n%s", diff)
			}
			if r.Chunks != nil && r.Chunks.Len() != output {
				t.Errorf("%d events of %d tokens", r.Chunks.Len(), output)
			}
		})
	}
}

// Requests that get no answer say why.
func TestRefusalsAreExplained(t *testing.T) {
	long, short := ask{input: 100, output: 100}, ask{input: 100, output: 10}
	crash := []profiles.Failure{{Kind: "crash"}}
	for _, test := range []struct {
		name    string
		cluster profiles.Cluster
		asks    []ask
		want    string // of the last request
	}{
		{"too long", profiles.Cluster{}, []ask{{input: 1 << 20, output: 1}}, "prompt of 1048576 tokens leaves no room for output in the "},
		{"above a limit", profiles.Cluster{Gateway: profiles.Gateway{Limits: profiles.Limits{RPM: 1}}}, []ask{short, short}, "limit of 1 requests a minute of the tenant reached"},
		{"the queue is full", profiles.Cluster{Gateway: profiles.Gateway{InFlight: 1, MaxQueue: 1}}, []ask{long, short, short}, "the gateway's queue of 1 requests is full"},
		{"too late", profiles.Cluster{Gateway: profiles.Gateway{Timeout: 50 * ms}}, []ask{{input: 10_000, output: 10}}, "no token within 50ms"},
		{"nobody there", profiles.Cluster{Failures: crash}, []ask{short, {at: second, input: 100, output: 10}}, "no replica serves"},
		{"nobody there behind a gateway", profiles.Cluster{Gateway: profiles.Gateway{Timeout: second}, Failures: crash}, []ask{short, {at: second, input: 100, output: 10}}, "no replica serves"},
		{"died in the middle", profiles.Cluster{Failures: []profiles.Failure{{Kind: "crash", At: 500 * ms}}}, []ask{long}, "its replica failed"},
		{"answered", profiles.Cluster{}, []ask{short}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, records := play(t, test.cluster, nil, test.asks)
			r := records[0]
			for i := range records {
				if records[i].ID > r.ID {
					r = records[i]
				}
			}
			if got := r.Detail; !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
				t.Errorf("%s: %q, want %q", ending(&r), got, test.want)
			}
		})
	}
}

// A tenant that sends prompts a hundred times as long has the same number of
// requests, and takes the service away from the others. A limit on requests lets
// it; a limit on tokens does not.
func TestTokensPerMinuteAgainstRequestsPerMinute(t *testing.T) {
	const length = 4 * time.Minute
	polite := every(second, int(length/second), ask{tenant: "polite", input: 200, output: 10})
	abuser := every(second, int(length/second), ask{tenant: "abuser", input: 60_000, output: 10}) // 1.5 s each
	run := func(limits profiles.Limits) (slow time.Duration, refused map[string]int) {
		_, records := play(t, profiles.Cluster{Gateway: profiles.Gateway{Limits: limits}}, nil, polite, abuser)
		late := of(records, sentBetween(length/2, length))
		refused = tally(of(late, func(r *record.Record) bool { return r.Tenant == "abuser" }))
		return ttft(of(late, func(r *record.Record) bool { return r.Tenant == "polite" }), 0.5), refused
	}
	byRequests, ends := run(profiles.Limits{RPM: 60})
	if byRequests < 10*second || ends["http_429"] > 0 {
		t.Errorf("limit on requests: median TTFT of the polite tenant %v, want above 10 s; the other one's requests %v, want none refused", byRequests, ends)
	}
	byTokens, ends := run(profiles.Limits{InputTPM: 120_000})
	if byTokens > 200*ms || ends["http_429"] == 0 || ends["ok"] == 0 {
		t.Errorf("limit on tokens: median TTFT of the polite tenant %v, want below 200 ms; the other one's requests %v, want some refused and some answered", byTokens, ends)
	}
}

// The queue is in the gateway when replicas have a limit, and there it knows
// tenants: one that sends a hundred requests at once keeps nobody waiting.
func TestQueueIsFairAmongTenants(t *testing.T) {
	burst := every(0, 200, ask{tenant: "burst", input: 100, output: 20})
	single := every(200*ms, 10, ask{at: 100 * ms, tenant: "single", input: 100, output: 20})
	slowest := func(g profiles.Gateway) time.Duration {
		_, records := play(t, profiles.Cluster{Gateway: g}, nil, burst, single)
		return ttft(of(records, func(r *record.Record) bool { return r.Tenant == "single" }), 1)
	}
	if atReplica := slowest(profiles.Gateway{Timeout: time.Hour}); atReplica < 3*second {
		t.Errorf("queue at the replica: the slowest TTFT of the single tenant is %v, want above 3 s", atReplica)
	}
	if inGateway := slowest(profiles.Gateway{InFlight: 8}); inGateway > 500*ms {
		t.Errorf("queue in the gateway: the slowest TTFT of the single tenant is %v, want below 500 ms", inGateway)
	}
}

// A full queue sheds the least urgent requests, and the urgent ones go first.
func TestSheddingSparesTheUrgent(t *testing.T) {
	batch := every(0, 100, ask{class: "batch", input: 100, output: 50})
	chat := every(100*ms, 20, ask{at: 50 * ms, class: "chat", input: 100, output: 10})
	endings := func(priorities map[string]int) (map[string]int, time.Duration) {
		kind := toy()
		kind.Serving.Priorities = priorities
		_, records := play(t, profiles.Cluster{Gateway: profiles.Gateway{InFlight: 8, MaxQueue: 30}}, []Pool{{Replicas: 1, Kind: kind}}, batch, chat)
		of := of(records, func(r *record.Record) bool { return r.Class == "chat" })
		return tally(of), ttft(of, 1)
	}
	if ends, _ := endings(nil); ends["http_503"] == 0 {
		t.Errorf("without priorities the chat ended %v, want some shed", ends)
	}
	if ends, slowest := endings(map[string]int{"batch": 10}); ends["ok"] != 20 || slowest > second {
		t.Errorf("with priorities the chat ended %v with at most %v to the first token, want all answered within a second", ends, slowest)
	}
}
