package telemetry

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports/record"
)

const ms = time.Millisecond

// watch observes a server in virtual time, in which the window ends at end and
// the run a second later.
func watch(t *testing.T, h http.Handler, change func(*Options), end time.Duration) (Observed, *Watch) {
	t.Helper()
	network := mock.NewNetwork()
	defer network.Serve(h)()
	start := time.Now()
	o := Options{
		Pages:    []Page{{URLs: []string{"http://localhost/metrics"}}},
		Interval: time.Second, Transport: client.Options{Dial: network.Dial}.NewTransport(),
		Now: func() time.Duration { return time.Since(start) },
	}
	if change != nil {
		change(&o)
	}
	w := Start(t.Context(), o)
	time.Sleep(end - time.Since(start))
	w.WindowEnds()
	time.Sleep(time.Second)
	return w.Stop(record.Window{Start: o.Warmup, End: end}), w
}

func times(samples []record.ServerSample) (at []time.Duration) {
	for _, s := range samples {
		at = append(at, s.At)
	}
	return at
}

func text(page string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }
}

// Counters are read where the window begins and ends, not only at ticks.
func TestEdges(t *testing.T) {
	for _, tt := range []struct {
		name        string
		warmup, end time.Duration
		want        []time.Duration
	}{
		{"between ticks", 1500 * ms, 3200 * ms, []time.Duration{0, 1000 * ms, 1500 * ms, 2000 * ms, 3000 * ms, 3200 * ms, 4000 * ms, 4200 * ms}},
		{"no warm-up", 0, 1500 * ms, []time.Duration{0, 1000 * ms, 1500 * ms, 2000 * ms, 2500 * ms}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen, _ := watch(t, text("vllm:num_requests_running 3\n"), func(o *Options) { o.Warmup = tt.warmup }, tt.end)
				if got := times(seen.Server); !slices.Equal(got, tt.want) || len(seen.Warnings) > 0 {
					t.Errorf("samples at %v, want %v; warnings %v", got, tt.want, seen.Warnings)
				}
			})
		})
	}
}

// T64: a page that fails and one that gains a series leave the rest alone.
func TestPageChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			switch n.Add(1) {
			case 2:
				w.WriteHeader(http.StatusInternalServerError)
			case 3:
				fmt.Fprint(w, "vllm:num_requests_running{ 3\n")
			case 4:
				time.Sleep(scrapeTimeout + time.Second)
			case 1:
				fmt.Fprint(w, "vllm:num_requests_running 3\n")
			default:
				fmt.Fprint(w, "vllm:num_requests_running 3\nvllm:kv_cache_usage_perc 0.5\n")
			}
		})
		seen, w := watch(t, page, nil, 10*time.Second)
		samples := seen.Server
		if len(samples) < 3 || !math.IsNaN(samples[0].KVUsage) || samples[1].KVUsage != 0.5 || samples[1].At < 5*time.Second || len(seen.Warnings) > 0 {
			t.Errorf("samples %+v, warnings %v", samples, seen.Warnings)
		}
		if live := w.Latest(); live == nil || live.Running != 3 || live.KVUsage != 0.5 {
			t.Errorf("the latest is %+v", live)
		}
	})
}

// The page is looked for where engines have it, and what nobody named is asked
// for once.
func TestFindsThePage(t *testing.T) {
	json := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		}
	}
	const prometheus, steps = "trtllm_num_requests_running 2\n", `[{"numActiveRequests":5}]`
	for _, tt := range []struct {
		name          string
		usual, trtllm http.HandlerFunc
		running       float64 // of all samples; 0 without any
		asked         int64   // at the usual address; 0 is often
	}{
		{"usual", text("vllm:num_requests_running 3\n"), http.NotFound, 3, 0},
		{"JSON beside a Prometheus page", json(steps), text(prometheus), 2, 1},
		{"JSON alone", json(steps), http.NotFound, 5, 0},
		{"JSON without a step, beside a page", json("[]"), text(prometheus), 2, 1},
		{"JSON without a step", json("[]"), http.NotFound, 0, 0},
		{"of something else", text("go_goroutines 7\n"), http.NotFound, 0, 1},
		{"none", http.NotFound, http.NotFound, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				mux := http.NewServeMux()
				mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) { asked.Add(1); tt.usual(w, r) })
				mux.HandleFunc("/prometheus/metrics", tt.trtllm)
				seen, _ := watch(t, mux, func(o *Options) {
					o.Pages[0].URLs = append(o.Pages[0].URLs, "http://localhost/prometheus/metrics")
				}, 3*time.Second)
				for _, s := range seen.Server {
					if s.Running != tt.running {
						t.Errorf("running %v, want %v", s.Running, tt.running)
					}
				}
				if (len(seen.Server) > 0) != (tt.running > 0) || len(seen.Warnings) > 0 {
					t.Errorf("%d samples, warnings %v", len(seen.Server), seen.Warnings)
				}
				if n := asked.Load(); tt.asked > 0 && n != tt.asked || tt.asked == 0 && n < 3 {
					t.Errorf("the usual address was asked %d times", n)
				}
			})
		})
	}
}

// Several pages are parts of one server; one that fails is told of when it was
// named, without its password.
func TestSeveralPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mux := http.NewServeMux()
		mux.HandleFunc("/a", text("vllm:num_requests_running{model_name=\"m\"} 3\nvllm:num_requests_running{model_name=\"n\"} 50\nvllm:kv_cache_usage_perc 0.2\n"))
		mux.HandleFunc("/b", text("vllm:num_requests_running{model_name=\"m\"} 4\nvllm:kv_cache_usage_perc 0.6\n"))
		seen, w := watch(t, mux, func(o *Options) {
			o.Model = "m"
			o.Pages = []Page{
				{URLs: []string{"http://localhost/a"}, Named: true}, {URLs: []string{"http://localhost/b"}, Named: true},
				{URLs: []string{"http://me:pass-word@localhost/c?key=pass-word"}, Named: true},
			}
		}, time.Second)
		pages := map[string]float64{}
		for _, s := range seen.Server {
			pages[s.Page] = s.Running
		}
		if diff := cmp.Diff(map[string]float64{"http://localhost/a": 3, "http://localhost/b": 4}, pages); diff != "" {
			t.Errorf("running by page (-want +got):\n%s", diff)
		}
		if len(seen.Warnings) != 1 || seen.Warnings[0].Code != "no_server_metrics" || strings.Contains(seen.Warnings[0].Text, "pass-word") || !strings.Contains(seen.Warnings[0].Text, "/c") {
			t.Errorf("warnings %v", seen.Warnings)
		}
		if live := w.Latest(); live == nil || live.Running != 7 || math.Abs(live.KVUsage-0.4) > 1e-12 {
			t.Errorf("together %+v", live)
		}
	})
}

// fakeGPUs are GPUs whose energy grows by their index and a watt more.
type fakeGPUs struct {
	names  []string
	now    func() time.Duration
	closed int
}

func (g *fakeGPUs) Names() []string { return g.names }

func (g *fakeGPUs) Read(i int) record.GPUSample {
	s := record.UnknownGPU()
	s.EnergyJ = float64(i+1) * g.now().Seconds()
	return s
}

func (g *fakeGPUs) Close() { g.closed++ }

func TestGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gpus := &fakeGPUs{names: []string{"a", "b"}}
		seen, _ := watch(t, http.NotFoundHandler(), func(o *Options) { gpus.now, o.GPUs, o.Warmup = o.Now, gpus, 1200*ms }, 2300*ms)
		if gpus.closed != 1 || len(seen.GPUs) != 2 || seen.GPUs[1].Name != "b" {
			t.Fatalf("closed %d times, %+v", gpus.closed, seen.GPUs)
		}
		var at []time.Duration
		for _, s := range seen.GPUs[1].Samples {
			at = append(at, s.At)
			if want := 2 * s.At.Seconds(); s.EnergyJ != want || !math.IsNaN(s.PowerW) {
				t.Errorf("at %v: %+v, want %v J", s.At, s, want)
			}
		}
		want := []time.Duration{0, 500 * ms, 1000 * ms, 1200 * ms, 1500 * ms, 2000 * ms, 2300 * ms, 2500 * ms, 3000 * ms, 3300 * ms}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("read at (-want +got):\n%s", diff)
		}
	})
}

// However long a run lasts, its samples are bounded, in order, and as far apart
// at the beginning as at the end.
func TestSeriesIsBounded(t *testing.T) {
	var s series[int]
	for n := range 10 * maxSamples {
		if s.due(n) {
			s.add(n)
		}
	}
	if len(s.all) > maxSamples || len(s.all) < maxSamples/2 || s.all[0] != 0 {
		t.Fatalf("%d samples from %d", len(s.all), s.all[0])
	}
	for i := 1; i < len(s.all); i++ {
		if s.all[i]-s.all[i-1] != s.stride {
			t.Fatalf("samples %d and %d follow each other with a stride of %d", s.all[i-1], s.all[i], s.stride)
		}
	}
}

// The histograms of a long run are kept where its growth is told by them.
func TestHistogramsAreThinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n := n.Add(1)
			if n == 1 {
				fmt.Fprint(w, "vllm:num_requests_running 0\n")
				return
			}
			fmt.Fprintf(w, "# TYPE vllm:time_to_first_token_seconds histogram\nvllm:time_to_first_token_seconds_bucket{le=\"1\"} %d\n"+
				"vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} %d\nvllm:time_to_first_token_seconds_sum 1\nvllm:time_to_first_token_seconds_count %d\n", n, n, n)
		})
		seen, _ := watch(t, page, func(o *Options) { o.Warmup = 5500 * ms }, 20200*ms)
		var kept []time.Duration
		for _, s := range seen.Server {
			if s.TTFT != nil {
				kept = append(kept, s.At)
			}
		}
		if diff := cmp.Diff([]time.Duration{time.Second, 5500 * ms, 20200 * ms}, kept, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("histograms are kept of (-want +got):\n%s", diff)
		}
	})
}
