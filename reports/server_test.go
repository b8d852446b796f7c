package reports

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/reports/record"
)

const sec = time.Second

// countedAt is a scrape of a server that has counted n of everything.
func countedAt(at time.Duration, n float64) record.ServerSample {
	return scrape(at, func(s *record.ServerSample) {
		for _, number := range record.Numbers {
			if number.Counter {
				*number.Of(s) = n
			}
		}
		s.Finished = map[string]float64{"stop": n}
		s.TTFT = &record.Histogram{Bounds: []float64{1, 2, math.Inf(1)}, Counts: []float64{0, n, n}, Sum: 1.5 * n}
	})
}

func running(at time.Duration, n, usage float64) record.ServerSample {
	return scrape(at, func(s *record.ServerSample) { s.Running, s.KVUsage = n, usage })
}

func on(page string, s record.ServerSample) record.ServerSample {
	s.Page = page
	return s
}

func TestServerGauges(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		name           string
		samples        []record.ServerSample
		start, end     time.Duration
		running, usage *Gauge
	}{
		{"each holds until the next", []record.ServerSample{running(0, 1, 0.1), running(5*sec, 3, 0.3), running(10*sec, 2, 0.2)}, 0, 10 * sec, &Gauge{2, 3}, &Gauge{0.2, 0.3}},
		{"weighted by time", []record.ServerSample{running(0, 0, nan), running(9*sec, 10, nan)}, 0, 10 * sec, &Gauge{1, 10}, nil},
		{"what held before the window", []record.ServerSample{running(0, 4, nan), running(6*sec, 8, nan)}, 2 * sec, 10 * sec, &Gauge{6, 8}, nil},
		{"not what ended before it", []record.ServerSample{running(0, 9, nan), running(sec, 4, nan)}, 2 * sec, 10 * sec, &Gauge{4, 4}, nil},
		{"not what came after it", []record.ServerSample{running(0, 4, nan), running(11*sec, 9, nan)}, 0, 10 * sec, &Gauge{4, 4}, nil},
		{"a gap is not 0", []record.ServerSample{running(0, 4, nan), running(4*sec, nan, nan), running(8*sec, 6, nan)}, 0, 10 * sec, &Gauge{4.66666666667, 6}, nil},
		{"two pages: the sum, of shares the mean", []record.ServerSample{
			on("a", running(0, 1, 0.2)), on("a", running(5*sec, 3, 0.2)), on("b", running(0, 10, 0.4)), on("b", running(5*sec, 10, 0.8)),
		}, 0, 10 * sec, &Gauge{12, 13}, &Gauge{0.4, 0.5}},
		{"after the window only", []record.ServerSample{running(11*sec, 9, nan)}, 0, 10 * sec, nil, nil},
		{"a window without length", []record.ServerSample{running(0, 4, nan)}, 2 * sec, 2 * sec, &Gauge{4, 4}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serverSection(tc.samples, record.Window{Start: tc.start, End: tc.end})
			approx := cmpopts.EquateApprox(1e-9, 0)
			if diff := cmp.Diff(tc.running, s.Running, approx); diff != "" {
				t.Errorf("running (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.usage, s.KVUsage, approx); diff != "" {
				t.Errorf("KV usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServerCounters(t *testing.T) {
	late := record.UnknownSample()
	for _, tc := range []struct {
		name      string
		samples   []record.ServerSample
		want      float64 // growth of everything; negative: absent
		restarted bool
	}{
		{"nearest to the edges", []record.ServerSample{countedAt(0, 0), countedAt(1900*ms, 100), countedAt(3*sec, 200), countedAt(12100*ms, 1100), countedAt(20*sec, 5000)}, 1000, false},
		{"nothing", []record.ServerSample{countedAt(2*sec, 7), countedAt(12*sec, 7)}, 0, false},
		{"one scrape", []record.ServerSample{countedAt(2*sec, 7)}, -1, false},
		{"from the first scrape that has it", []record.ServerSample{late, countedAt(5*sec, 1000), countedAt(12*sec, 1100)}, 100, false},
		{"a restart", []record.ServerSample{countedAt(2*sec, 100), countedAt(6*sec, 10), countedAt(12*sec, 500)}, -1, true},
		{"a restart before the window", []record.ServerSample{countedAt(0, 100), countedAt(2*sec, 10), countedAt(12*sec, 500)}, 490, false},
		{"two pages", []record.ServerSample{on("a", countedAt(2*sec, 0)), on("a", countedAt(12*sec, 30)), on("b", countedAt(2*sec, 5)), on("b", countedAt(12*sec, 15))}, 40, false},
		{"one of two pages is silent", []record.ServerSample{on("a", countedAt(2*sec, 0)), on("a", countedAt(12*sec, 30)), on("b", late)}, -1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serverSection(tc.samples, record.Window{Start: 2 * sec, End: 12 * sec})
			if s.Restarted != tc.restarted {
				t.Errorf("restarted %v", s.Restarted)
			}
			if tc.want < 0 {
				if s.Preemptions != nil || s.PrefixHits != nil || s.TTFT != nil || s.Finished != nil || s.Speculation != nil {
					t.Errorf("what is not known is told: %+v", s)
				}
				return
			}
			if value(s.Preemptions) != tc.want || value(s.PromptTokens) != tc.want || value(s.PrefixQueries) != tc.want || s.Finished["stop"] != tc.want {
				t.Errorf("%v preemptions, %v prompt tokens, finished %v; want %v", value(s.Preemptions), value(s.PromptTokens), s.Finished, tc.want)
			}
			if tc.want == 0 {
				if s.TTFT != nil || s.Speculation != nil {
					t.Errorf("times of no request: %+v, %+v", s.TTFT, s.Speculation)
				}
				return
			}
			if s.TTFT.N != tc.want || value(s.TTFT.Mean) != 1.5 || value(s.TTFT.P50) != 1.5 || value(s.TTFT.P99) != 1.99 {
				t.Errorf("TTFT %+v", s.TTFT)
			}
			if value(s.Speculation.AcceptanceRate) != 1 || value(s.Speculation.TokensPerStep) != 2 {
				t.Errorf("speculation %+v", s.Speculation)
			}
		})
	}
}

// What happened in two windows that meet is what happened in both together,
// however the scrapes lie, as long as one lies at each edge.
func TestCountersAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var samples []record.ServerSample
		at, n := time.Duration(0), 0.0
		for range rapid.IntRange(3, 20).Draw(t, "scrapes") {
			samples = append(samples, countedAt(at, n))
			at += time.Duration(rapid.IntRange(1, 5000).Draw(t, "gap")) * ms
			n += float64(rapid.IntRange(0, 100).Draw(t, "counted"))
		}
		last := len(samples) - 1
		middle := rapid.IntRange(1, last-1).Draw(t, "middle")
		grown := func(from, to int) float64 {
			s := serverSection(record.Thin(samples, record.Window{Start: samples[from].At, End: samples[to].At}), record.Window{Start: samples[from].At, End: samples[to].At})
			if s.TTFT != nil && s.TTFT.N != value(s.Preemptions) {
				t.Fatalf("the histogram grew by %v, the counter by %v", s.TTFT.N, value(s.Preemptions))
			}
			return value(s.Preemptions)
		}
		if a, b, both := grown(0, middle), grown(middle, last), grown(0, last); a+b != both || both != samples[last].Preemptions {
			t.Fatalf("%v and %v are not %v", a, b, both)
		}
	})
}

func TestSpeculationByGauges(t *testing.T) {
	s := serverSection([]record.ServerSample{scrape(0, func(s *record.ServerSample) { s.AcceptanceRate, s.AcceptanceLength = 0.6, 2.8 })}, record.Window{End: sec})
	want := &Speculation{AcceptanceRate: new(0.6), TokensPerStep: new(2.8)}
	if diff := cmp.Diff(want, s.Speculation); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := serverSection([]record.ServerSample{running(0, 1, 0.5)}, record.Window{End: sec}); s.Speculation != nil {
		t.Errorf("a server that does not speculate: %+v", s.Speculation)
	}
}

func TestGPUSection(t *testing.T) {
	sample := func(at time.Duration, power, energy float64) record.GPUSample {
		s := record.UnknownGPU()
		s.At, s.PowerW, s.EnergyJ = at, power, energy
		return s
	}
	nan := math.NaN()
	for _, tc := range []struct {
		name     string
		gpus     [][]record.GPUSample
		energy   []float64 // negative: absent
		source   string
		perToken float64 // of 100 tokens in the window
	}{
		{"by its counter", [][]record.GPUSample{{sample(0, 100, 1000), sample(10*sec, 100, 2000), sample(20*sec, 900, 9000)}}, []float64{1000}, "counter", 10},
		{"a counter read beside the edges", [][]record.GPUSample{{sample(sec, 100, 1000), sample(9*sec, 100, 1800)}}, []float64{1000}, "counter", 10},
		{"by its power", [][]record.GPUSample{{sample(0, 100, nan), sample(5*sec, 300, nan)}}, []float64{2000}, "power", 20},
		{"a counter that fell", [][]record.GPUSample{{sample(0, 100, 5000), sample(10*sec, 100, 10)}}, []float64{1000}, "power", 10},
		{"two", [][]record.GPUSample{{sample(0, 100, 0), sample(10*sec, 100, 1000)}, {sample(0, 50, 0), sample(10*sec, 50, 500)}}, []float64{1000, 500}, "counter", 15},
		{"one that tells nothing", [][]record.GPUSample{{sample(0, 100, 0), sample(10*sec, 100, 1000)}, {sample(0, nan, nan)}}, []float64{1000, -1}, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := openRun(10 * sec)
			for _, samples := range tc.gpus {
				run.GPUs = append(run.GPUs, record.GPUSeries{Name: "g", Samples: samples})
			}
			r := summary(run, request(0, 100*ms, 10*ms, 100))
			for i, want := range tc.energy {
				g := r.GPUs[i]
				if want < 0 && g.EnergyJ != nil || want >= 0 && value(g.EnergyJ) != want || tc.source != "" && g.EnergySource != tc.source {
					t.Errorf("GPU %d: %v J by %s, want %v by %s", i, value(g.EnergyJ), g.EnergySource, want, tc.source)
				}
			}
			if j := r.Rates.JoulesPerOutputToken; tc.perToken == 0 && j != nil || tc.perToken > 0 && value(j) != tc.perToken {
				t.Errorf("%v J per token, want %v", value(j), tc.perToken)
			}
		})
	}
	if r := summary(openRun(sec), request(0, 100*ms, 10*ms, 2)); r.GPUs != nil || r.Rates.JoulesPerOutputToken != nil {
		t.Errorf("GPUs without one: %v", r.GPUs)
	}
}
