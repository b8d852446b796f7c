package workload_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"pgregory.net/rapid"
)

// chat is the default workload of the command line.
func chat() profiles.Workload {
	return profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 200},
		Input:   profiles.Distribution{Kind: profiles.Lognormal, Mean: 1500, P99: 8000},
		Output:  profiles.Distribution{Kind: profiles.Lognormal, Mean: 256, P99: 1000},
		Prefix:  profiles.Prefix{Groups: 8, Tokens: 750, Popularity: 1.1},
		Tenants: 5,
		Classes: map[string]float64{"interactive": 9, "batch": 1},
	}
}

func stream(t testing.TB, w profiles.Workload, o workload.Options) *workload.Stream {
	t.Helper()
	s, err := workload.New(w, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSameSeedSameStream(t *testing.T) {
	a, b := stream(t, chat(), workload.Options{Seed: 7}), stream(t, chat(), workload.Options{Seed: 7})
	other := stream(t, chat(), workload.Options{Seed: 8})
	differ := 0
	for i := int64(4999); i >= 0; i -= 7 { // the second stream is asked backwards
		j := (4999 - i) / 7 * 7
		_ = a.Session(j)
		if diff := cmp.Diff(a.Session(i), b.Session(i)); diff != "" {
			t.Fatalf("session %d:\n%s", i, diff)
		}
		if !cmp.Equal(a.Session(i), other.Session(i)) {
			differ++
		}
	}
	if differ < 700 {
		t.Errorf("another seed changes only %d of 715 sessions", differ)
	}
}

// TestGoldenStream pins the stream, so that recorded seeds keep their meaning.
func TestGoldenStream(t *testing.T) {
	s := stream(t, chat(), workload.Options{Seed: 1})
	got := []workload.Session{s.Session(0), s.Session(1), s.Session(100000)}
	want := goldenSessions
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
}

func TestConstantIsConstant(t *testing.T) { // inference-perf's is not: inference-sim#845
	for _, rate := range []float64{0.1, 3, 10, 200, 777.7, 1e6} {
		w := chat()
		w.Arrival = profiles.Arrival{Process: profiles.Constant, RatePerS: rate}
		s := stream(t, w, workload.Options{})
		gap := 1e9 / rate
		for i := range int64(1000) {
			if d := float64(s.Offset(i+1)-s.Offset(i)) - gap; math.Abs(d) > 1 {
				t.Fatalf("rate %g: gap %d is off by %g ns", rate, i, d)
			}
		}
		if got, want := s.Offset(1e6).Seconds(), 1e6/rate; math.Abs(got-want) > 1e-9*want+1e-9 {
			t.Errorf("rate %g: session 1,000,000 at %v s, want %v", rate, got, want)
		}
	}
}

// TestPoissonGaps compares the gaps with the exponential distribution by
// Kolmogorov and Smirnov, at a significance of about 0.001, and checks that
// neighbours are not correlated.
func TestPoissonGaps(t *testing.T) {
	const n, rate = 20000, 50.0
	w := chat()
	w.Arrival.RatePerS = rate
	for seed := range uint64(4) {
		s := stream(t, w, workload.Options{Seed: seed})
		gaps := make([]float64, n)
		before := time.Duration(0)
		for i := range int64(n) {
			gaps[i] = (s.Offset(i) - before).Seconds()
			before = s.Offset(i)
		}
		correlation := 0.0
		for i := range n - 1 {
			correlation += (gaps[i]*rate - 1) * (gaps[i+1]*rate - 1) / n
		}
		if math.Abs(correlation) > 4/math.Sqrt(n) {
			t.Errorf("seed %d: neighbouring gaps correlate by %.3f", seed, correlation)
		}
		slices.Sort(gaps)
		d := 0.0
		for i, g := range gaps {
			cdf := 1 - math.Exp(-g*rate)
			d = max(d, math.Abs(cdf-float64(i)/n), math.Abs(cdf-float64(i+1)/n))
		}
		if d > 1.95/math.Sqrt(n) {
			t.Errorf("seed %d: distance of Kolmogorov and Smirnov %.4f", seed, d)
		}
	}
}

// TestPoissonOffsetAnyOrder asks for offsets out of order.
func TestPoissonOffsetAnyOrder(t *testing.T) {
	sequential := stream(t, chat(), workload.Options{Seed: 3})
	var want []time.Duration
	for i := range int64(5000) {
		want = append(want, sequential.Offset(i))
	}
	if !slices.IsSorted(want) {
		t.Fatal("offsets decrease")
	}
	rapid.Check(t, func(t *rapid.T) {
		s, err := workload.New(chat(), workload.Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range rapid.SliceOfN(rapid.Int64Range(0, 4999), 1, 20).Draw(t, "indexes") {
			if s.Offset(i) != want[i] {
				t.Fatalf("offset %d is %v, in order it is %v", i, s.Offset(i), want[i])
			}
		}
	})
}

func TestPacer(t *testing.T) {
	w := chat()
	w.Arrival = profiles.Arrival{Process: profiles.Constant, RatePerS: 10}
	p := stream(t, w, workload.Options{}).Pacer()
	for _, tt := range []struct {
		elapsed time.Duration
		hits    uint64
		want    time.Duration
	}{{0, 0, 0}, {0, 3, 300 * time.Millisecond}, {250 * time.Millisecond, 3, 50 * time.Millisecond}, {time.Second, 3, 0}} {
		if wait, stop := p.Pace(tt.elapsed, tt.hits); wait != tt.want || stop {
			t.Errorf("Pace(%v, %d) = %v, %v, want %v", tt.elapsed, tt.hits, wait, stop, tt.want)
		}
	}
	if p.Rate(time.Second) != 10 {
		t.Errorf("rate %v", p.Rate(time.Second))
	}
}

func TestLengths(t *testing.T) {
	const n = 100000
	tests := []struct {
		name      string
		d         profiles.Distribution
		mean, p99 float64
		low, high int
	}{
		{"fixed", profiles.Distribution{Kind: profiles.Fixed, Mean: 100}, 100, 100, 100, 100},
		{"uniform", profiles.Distribution{Kind: profiles.Uniform, Min: 10, Max: 20}, 15, 20, 10, 20},
		{"normal", profiles.Distribution{Kind: profiles.Normal, Mean: 1000, StdDev: 100}, 1000, 1232.6, 1, 1600},
		{"lognormal", profiles.Distribution{Kind: profiles.Lognormal, Mean: 1500, P99: 8000}, 1500, 8000, 1, 1 << 20},
		{"lognormal without spread", profiles.Distribution{Kind: profiles.Lognormal, Mean: 70, P99: 70}, 70, 70, 70, 70},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := profiles.Workload{Arrival: chat().Arrival, Input: tt.d, Output: tt.d}
			s := stream(t, w, workload.Options{Seed: 5})
			lengths, total := make([]int, n), 0
			for i := range lengths {
				lengths[i] = s.Session(int64(i)).Turns[0].Input
				total += lengths[i]
			}
			slices.Sort(lengths)
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 0.03*want {
					t.Errorf("%s %.1f, want %.1f", what, got, want)
				}
			}
			near("mean", float64(total)/n, tt.mean)
			near("p99", float64(lengths[n*99/100]), tt.p99)
			if lengths[0] < tt.low || lengths[n-1] > tt.high {
				t.Errorf("lengths from %d to %d, expected within %d to %d", lengths[0], lengths[n-1], tt.low, tt.high)
			}
		})
	}
}

func TestPrefixes(t *testing.T) {
	s := stream(t, chat(), workload.Options{Seed: 1})
	popularity := make([]int, 8)
	for i := range int64(2000) {
		turn := s.Session(i).Turns[0]
		if turn.Prefix != min(750, turn.Input-1) || (turn.Prefix == 0) != (turn.Group == workload.NoGroup) {
			t.Fatalf("session %d: %+v", i, turn)
		}
		if turn.Group != workload.NoGroup {
			popularity[turn.Group]++
		}
	}
	if slices.Min(popularity) == 0 || !slices.IsSortedFunc(popularity[:4], func(a, b int) int { return b - a }) {
		t.Errorf("requests by group: %v", popularity)
	}
}

// TestUniquePrefixes is the shared-prefix experiment: all but the sharing stays.
func TestUniquePrefixes(t *testing.T) {
	shared := stream(t, chat(), workload.Options{Seed: 1})
	unique := stream(t, chat(), workload.Options{Seed: 1, UniquePrefixes: true})
	if !shared.Shares() || unique.Shares() {
		t.Errorf("Shares: %v and %v", shared.Shares(), unique.Shares())
	}
	for i := range int64(500) {
		a, b := shared.Session(i), unique.Session(i)
		if b.Turns[0].Group != workload.NoGroup {
			t.Fatalf("session %d belongs to group %d", i, b.Turns[0].Group)
		}
		b.Turns[0].Group = a.Turns[0].Group
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("session %d (-shared +unique):\n%s", i, diff)
		}
	}
}

func TestShortPromptKeepsOneOwnToken(t *testing.T) {
	w := chat()
	w.Input = profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 3}
	s := stream(t, w, workload.Options{})
	for i := range int64(100) {
		turn := s.Session(i).Turns[0]
		if turn.Prefix != turn.Input-1 || (turn.Prefix == 0) != (turn.Group == workload.NoGroup) {
			t.Fatalf("session %d: %+v", i, turn)
		}
	}
}

func TestSharesOfTenantsAndClasses(t *testing.T) {
	s := stream(t, chat(), workload.Options{Seed: 1})
	tenants, classes := map[string]int{}, map[string]int{}
	for i := range int64(10000) {
		session := s.Session(i)
		tenants[session.Tenant]++
		classes[session.Class]++
	}
	if len(tenants) != 5 || tenants["tenant-1"] < 1800 || tenants["tenant-5"] < 1800 {
		t.Errorf("tenants: %v", tenants)
	}
	if len(classes) != 2 || classes["batch"] < 900 || classes["batch"] > 1100 {
		t.Errorf("classes: %v", classes)
	}
}

func TestOneTenant(t *testing.T) {
	w := chat()
	w.Tenants, w.Tenant = 0, "abuser"
	s := stream(t, w, workload.Options{Seed: 1})
	for i := range int64(100) {
		if got := s.Session(i).Tenant; got != "abuser" {
			t.Fatalf("session %d is of %q", i, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*profiles.Workload)
		want   string
	}{
		{"no rate", func(w *profiles.Workload) { w.Arrival.RatePerS = 0 }, "arrival rate of 0/s"},
		{"negative rate", func(w *profiles.Workload) { w.Arrival.RatePerS = -1 }, "arrival: rate -1/s"},
		{"rate too low for a clock", func(w *profiles.Workload) { w.Arrival.RatePerS = 1e-10 }, "arrival rate of 1e-10/s"},
		{"rate is no number", func(w *profiles.Workload) { w.Arrival.RatePerS = math.NaN() }, "arrival: rate NaN/s"},
		{"unknown process", func(w *profiles.Workload) { w.Arrival.Process = "sometimes" }, `"sometimes"`},
		{"closed without concurrency", func(w *profiles.Workload) { w.Arrival = profiles.Arrival{Process: profiles.Closed} }, "a closed process needs concurrency"},
		{"no input", func(w *profiles.Workload) { w.Input = profiles.Distribution{} }, "input"},
		{"fixed at 0", func(w *profiles.Workload) { w.Input = profiles.Distribution{Kind: profiles.Fixed} }, "input: mean 0"},
		{"uniform upside down", func(w *profiles.Workload) {
			w.Output = profiles.Distribution{Kind: profiles.Uniform, Min: 9, Max: 3}
		}, "output: max 3 is below min 9"},
		{"negative spread", func(w *profiles.Workload) {
			w.Output = profiles.Distribution{Kind: profiles.Normal, Mean: 9, StdDev: -3}
		}, "output: stddev -3"},
		{"p99 below the mean", func(w *profiles.Workload) { w.Input.P99 = 3 }, "p99 3"},
		{"p99 too far from the mean", func(w *profiles.Workload) { w.Input.P99 = 30000 }, "input: p99 30000 is too far above mean 1500"},
		{"negative groups", func(w *profiles.Workload) { w.Prefix.Groups = -1 }, "-1 groups"},
		{"negative tenants", func(w *profiles.Workload) { w.Tenants = -1 }, "-1 tenants"},
		{"class without share", func(w *profiles.Workload) { w.Classes["batch"] = 0 }, "class batch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := chat()
			tt.change(&w)
			if _, err := workload.New(w, workload.Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestClosedLoopHasNoOffsets(t *testing.T) {
	w := chat()
	w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 4}
	s := stream(t, w, workload.Options{})
	if n, ok := s.Closed(); n != 4 || !ok || s.Offset(1000) != 0 {
		t.Errorf("Closed = %d, %v; offset %v", n, ok, s.Offset(1000))
	}
}

func BenchmarkSession(b *testing.B) {
	s := stream(b, chat(), workload.Options{})
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		_ = s.Session(i)
	}
}
