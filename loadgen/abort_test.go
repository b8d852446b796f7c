package loadgen

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

func TestFailureRule(t *testing.T) {
	ends := func(pattern string, n int) string { return strings.Repeat(pattern, n) }
	for _, tt := range []struct {
		name  string
		limit float64
		ends  string // F failed, . ok
		after int    // 0 is never
	}{
		{"no rule", 0, ends("F", 500), 0},
		{"all fail", 0.5, ends("F", 500), failureGrace},
		{"a bad start", 0.5, ends("F", 15) + ends(".", 500), 0},
		{"half is not more than half", 0.5, ends(".F", 500), 0},
		{"dies later", 0.5, ends(".", 1000) + ends("F", 100), 1051},
		{"old failures are forgotten", 0.5, ends("F", 12) + ends(".", 88) + ends("F", 40) + ends(".", 300), 0},
		{"never", 1, ends("F", 500), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule := failureRule{limit: tt.limit}
			after := 0
			for i, end := range tt.ends {
				if why := rule.add(end == 'F'); why != "" && after == 0 {
					after = i + 1
				}
			}
			if after != tt.after {
				t.Errorf("broken off after %d requests, want %d", after, tt.after)
			}
		})
	}
}

// TestGrowth: what is significant, and what is much.
func TestGrowth(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		rise   float64
		grows  bool
	}{
		{"steady growth", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 9, true},
		{"one step back", []float64{1, 2, 4, 3, 5, 6, 7, 8, 9, 10}, 9, true},
		{"flat", []float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, 0, false},
		{"falls", []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, -9, false},
		{"significant but little", []float64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109}, 9, false},
		{"much but not significant", []float64{3, 1, 2, 9, 4, 8, 5, 10, 7, 6}, 5.625, false},
		{"one jump", []float64{1, 1, 1, 1, 1, 9, 9, 9, 9, 9}, 9, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if rise, grows := growth(tt.values); math.Abs(rise-tt.rise) > 1e-9 || grows != tt.grows {
				t.Errorf("grows by %v: %v, want %v: %v", rise, grows, tt.rise, tt.grows)
			}
		})
	}
}

// TestSaturationSignificance: numbers without a trend are taken for one as rarely
// as the comment says. The seed is fixed.
func TestSaturationSignificance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 200_000
	found := 0
	values := make([]float64, saturationBlocks)
	for range n {
		for i := range values {
			values[i] = math.Exp(3 * r.NormFloat64()) // so wide that each rise is much
		}
		if _, grows := growth(values); grows {
			found++
		}
	}
	if share := float64(found) / n; share > 1.0/1900 || share < 1.0/5000 {
		t.Errorf("one in %.0f, want about one in 2,100 or fewer", 1/share)
	}
}

// queueServer serves at most a number of requests at a time, in order, each for
// a time; the others wait.
func queueServer(atOnce int, each time.Duration) http.Handler {
	// Made by the first request, in the bubble of virtual time that it comes from.
	places := sync.OnceValue(func() chan struct{} { return make(chan struct{}, atOnce) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places() <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		defer func() { <-places() }()
		(&mock.Server{TTFT: each, Tokens: 1}).ServeHTTP(w, r)
	})
}

// TestAbortSaturated: a target that is offered more than it serves ends the run
// once that is sure; one that keeps up does not, even while the rate ramps up.
func TestAbortSaturated(t *testing.T) {
	for _, tt := range []struct {
		name    string
		arrival profiles.Arrival
		window  time.Duration
		aborted bool
	}{
		{"twice of what it serves", constant(20), 10 * time.Second, true},
		{"a third more than it serves", constant(13), 10 * time.Second, true},
		{"nearly what it serves", constant(9.9), 10 * time.Second, false},
		{"no rule", constant(20), 0, false},
		{"a closed loop can not", closed(50), 10 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Workload: fixed(t, tt.arrival, 8, 1), Warmup: 2 * time.Second, Duration: 40 * time.Second, AbortSaturated: tt.window, Drain: time.Second}
			virtual(t, queueServer(1, 100*ms), o, func(result *Result) {
				end := result.Run.Window.End
				if aborted := hasWarning(result, record.Aborted); aborted != tt.aborted || aborted == (end == 42*time.Second) {
					t.Errorf("window to %v, warnings %v", end, result.Run.Warnings)
				}
				if tt.aborted && (end < 12*time.Second || end > 30*time.Second || result.Run.Interrupted) {
					t.Errorf("broken off at %v, interrupted %v", end, result.Run.Interrupted)
				}
			})
		})
	}
}

// TestRisingRateIsNoSaturation: requests in flight grow with the rate while TTFT
// stays.
func TestRisingRateIsNoSaturation(t *testing.T) {
	var s saturation
	s.window = 10 * time.Second
	for at := time.Duration(0); at < time.Minute; at += 100 * ms {
		s.first(at, 50*ms)
		if why := s.sample(at, int(at/(100*ms))); why != "" {
			t.Fatalf("at %v: %s", at, why)
		}
	}
}

// TestAbortFailures: a target that dies in the middle ends the run; failures of
// the warm-up do not.
func TestAbortFailures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		dead    func(n int64) bool
		limit   float64
		aborted bool
	}{
		{"dies", func(n int64) bool { return n > 500 }, 0.5, true},
		{"wakes up in the warm-up", func(n int64) bool { return n < 90 }, 0.5, false},
		{"no rule", func(n int64) bool { return n > 500 }, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var n atomic.Int64
			server := &mock.Server{Tokens: 1}
			server.Script = func(mock.Request) *mock.Script {
				if tt.dead(n.Add(1)) {
					return &mock.Script{Status: 503}
				}
				return nil
			}
			o := Options{Workload: fixed(t, constant(100), 8, 1), Warmup: time.Second, Duration: 9 * time.Second, AbortFailures: tt.limit}
			virtual(t, server, o, func(result *Result) {
				aborted := hasWarning(result, record.Aborted)
				if end := result.Run.Window.End; aborted != tt.aborted || aborted != (end < 6*time.Second) {
					t.Errorf("window to %v, warnings %v", end, result.Run.Warnings)
				}
			})
		})
	}
}

func hasWarning(r *Result, code string) bool {
	for _, w := range r.Run.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}
