package loadgen

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports/record"
)

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := mock.NewNetwork()
		defer network.Serve(&mock.Server{TTFT: 100 * ms, ITL: 20 * ms, Tokens: 11, ContinuousUsage: true})()
		var lives []record.Live
		records := 0
		o := inMemory(network, Options{
			Workload: fixed(t, constant(20), 8, 11), Warmup: time.Second, Duration: 2 * time.Second,
			OnLive:   func(l record.Live) { lives = append(lives, l) },
			OnRecord: func(*record.Record) { records++ },
		})
		result, err := Run(t.Context(), o)
		if err != nil || len(result.Records) != 0 || records != 60 {
			t.Fatalf("%v, %d records kept, %d handed on", err, len(result.Records), records)
		}
		var phases []string
		for _, l := range lives {
			phases = append(phases, l.Phase)
		}
		if want := []string{"warming up", "measuring", "draining"}; !slices.Equal(slices.Compact(phases), want) {
			t.Errorf("phases %v", slices.Compact(phases))
		}
		middle := lives[len(lives)/2]
		if middle.TTFT.P50 != 100*ms || middle.TTFT.P99 != 100*ms || middle.TPOT.P50 != 20*ms || middle.TTFT.N < 20 {
			t.Errorf("TTFT %+v, TPOT %+v", middle.TTFT, middle.TPOT)
		}
		if middle.OfferedRPS < 19 || middle.OfferedRPS > 21 || middle.OutputTokensPerS < 200 || middle.OutputTokensPerS > 240 ||
			middle.InFlight < 5 || middle.InFlight > 7 || middle.Total != 3*time.Second || middle.Lag.N < 20 || middle.Lag.P99 != 0 || middle.ClosedLoop {
			t.Errorf("%+v", middle)
		}
		last := lives[len(lives)-1]
		if last.OK != 60 || last.Scheduled != 60 || last.Sent != 60 || last.InFlight != 0 {
			t.Errorf("%+v", last)
		}
		if n := len(lives); n < 30 || n > 35 {
			t.Errorf("%d views in 3.3 s", n)
		}
	})
}

// TestLiveTPOT: a live view divides by the same number of tokens as a report.
func TestLiveTPOT(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := mock.NewNetwork()
		defer network.Serve(&mock.Server{TTFT: 100 * ms, ITL: 20 * ms, Tokens: 40, TokensPerChunk: 4, ContinuousUsage: true})()
		var last record.Live
		o := inMemory(network, Options{Workload: fixed(t, closed(1), 8, 40), Requests: 3, OnLive: func(l record.Live) { last = l }})
		if _, err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if last.TPOT.N != 3 || last.TPOT.P50 != 20*ms {
			t.Errorf("TPOT %+v, want 20 ms of 3 requests", last.TPOT)
		}
	})
}

func TestLiveCountsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := mock.NewNetwork()
		defer network.Serve(scripted(&mock.Script{Status: 429}))()
		var last record.Live
		o := inMemory(network, Options{Workload: fixed(t, closed(1), 8, 4), Requests: 5, OnLive: func(l record.Live) { last = l }})
		if _, err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if last.Failed != 5 || last.Failures["http_429"] != 5 || last.PlannedRequests != 5 || !last.ClosedLoop || last.OfferedRPS != 0 || last.Lag.N != 0 {
			t.Errorf("%+v", last)
		}
	})
}

const page = "vllm:num_requests_running 3\nvllm:num_requests_waiting 1\n"

func TestServerSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := mock.NewNetwork()
		defer network.Serve(&mock.Server{TTFT: 100 * ms, Tokens: 1, Metrics: page})()
		var live *record.ServerSample
		o := inMemory(network, Options{Workload: fixed(t, constant(10), 8, 1), Duration: 2 * time.Second,
			OnLive: func(l record.Live) { live = l.Server }})
		o.MetricsInterval = 500 * ms
		result, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var at []time.Duration
		for _, s := range result.Run.Server {
			at = append(at, s.At)
			if s.Running != 3 || s.Waiting != 1 || s.KVUsage == s.KVUsage {
				t.Errorf("%+v", s)
			}
		}
		if want := []time.Duration{0, 500 * ms, 1000 * ms, 1500 * ms, 2000 * ms}; !slices.Equal(at[:5], want) {
			t.Errorf("samples at %v", at)
		}
		if live == nil || live.Running != 3 || len(result.Run.Warnings) != 0 {
			t.Errorf("live %+v, warnings %v", live, result.Run.Warnings)
		}
	})
}

// TestServerMetricsFail is T64: whatever the page does, the run goes on.
func TestServerMetricsFail(t *testing.T) {
	var scrapes atomic.Int64
	flaky := http.NewServeMux()
	flaky.Handle("/", &mock.Server{TTFT: 300 * ms, Tokens: 1})
	flaky.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		switch scrapes.Add(1) {
		case 1:
			_, _ = w.Write([]byte(page))
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
		default: // a field that was not there before
			_, _ = w.Write([]byte(page + "vllm:kv_cache_usage_perc 0.5\n"))
		}
	})
	ts := httptest.NewServer(flaky)
	defer ts.Close()
	o := Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(t, closed(1), 8, 1), Requests: 1, MetricsInterval: 50 * ms}
	result, err := Run(t.Context(), o)
	if err != nil || result.Records[0].Outcome != record.OK {
		t.Fatalf("%v %+v", err, result)
	}
	samples := result.Run.Server
	if len(samples) < 2 || samples[0].KVUsage == samples[0].KVUsage || samples[len(samples)-1].KVUsage != 0.5 {
		t.Errorf("samples %+v", samples)
	}
	t.Run("a page that the user named", func(t *testing.T) {
		o := o
		o.MetricsURLs = []string{strings.Replace(ts.URL, "http://", "http://me:pass-word@", 1) + "/v1/models?key=pass-word"}
		result, err := Run(t.Context(), o)
		if err != nil || len(result.Run.Warnings) != 1 || result.Run.Warnings[0].Code != "no_server_metrics" || strings.Contains(result.Run.Warnings[0].Text, "pass-word") {
			t.Errorf("%v, warnings %v", err, result.Run.Warnings)
		}
	})
	t.Run("a page that nobody serves", func(t *testing.T) {
		o := o
		o.MetricsURLs = []string{"http://me:pass-word@127.0.0.1:1/?key=pass-word"}
		result, err := Run(t.Context(), o)
		if err != nil || len(result.Run.Warnings) != 1 || strings.Contains(result.Run.Warnings[0].Text, "pass-word") {
			t.Errorf("%v, warnings %v", err, result.Run.Warnings)
		}
	})
	t.Run("no page where one might be", func(t *testing.T) {
		server := httptest.NewServer(&mock.Server{Tokens: 1})
		defer server.Close()
		o := o
		o.Client.Endpoint = server.URL
		result, err := Run(t.Context(), o)
		if err != nil || len(result.Run.Warnings) != 0 || len(result.Run.Server) != 0 {
			t.Errorf("%v, warnings %v", err, result.Run.Warnings)
		}
	})
}

// TestRealPacing runs the real wait: requests are never early, and a machine
// that can run tests at all is not a quarter of a second late.
func TestRealPacing(t *testing.T) {
	ts := httptest.NewServer(&mock.Server{Tokens: 1})
	defer ts.Close()
	o := Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(t, constant(100), 8, 1), Duration: 500 * ms, MetricsInterval: -1}
	result, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range byID(result.Records) {
		lag := between(r.Scheduled, r.Sent)
		if since(r.Scheduled) != time.Duration(i)*10*ms || lag < 0 || lag > 250*ms {
			t.Errorf("request %d was due at %v and sent %v later", i, since(r.Scheduled), lag)
		}
	}
	client := result.Run.Client
	if len(result.Records) != 50 || client.CPUFraction == 0 || client.CPUFraction > 1.5 || client.GCPauseP99 < 0 {
		t.Errorf("%d records, client %+v", len(result.Records), client)
	}
}
