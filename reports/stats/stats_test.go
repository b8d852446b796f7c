package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The expected values are numpy.percentile of the same input.
func TestPercentileType7(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tc := range []struct {
		name    string
		samples []float64
		p       float64
		want    float64
	}{
		{"single", []float64{7}, 99, 7},
		{"median of two", []float64{1, 2}, 50, 1.5},
		{"p0 is the minimum", ten, 0, 1},
		{"p100 is the maximum", ten, 100, 10},
		{"p50 of ten", ten, 50, 5.5},
		{"p90 of ten", ten, 90, 9.1},
		{"p99 of ten", ten, 99, 9.91},
		{"p25 of ten", ten, 25, 3.25},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Percentile(tc.samples, tc.p); math.Abs(got-tc.want) > 1e-12 {
				t.Errorf("Percentile(%v, %v) = %v, want %v", tc.samples, tc.p, got, tc.want)
			}
		})
	}
	if got := Percentile(nil, 50); !math.IsNaN(got) {
		t.Errorf("Percentile of nothing = %v, want NaN", got)
	}
}

func TestThin(t *testing.T) {
	for _, tc := range []struct {
		n    int
		p    float64
		want bool
	}{{499, 99, true}, {500, 99, false}, {9, 50, true}, {10, 50, false}, {49, 90, true}, {50, 90, false}, {1_000_000, 100, true}} {
		if got := Thin(tc.n, tc.p); got != tc.want {
			t.Errorf("Thin(%d, %v) = %v, want %v", tc.n, tc.p, got, tc.want)
		}
	}
}

func TestDist(t *testing.T) {
	var s Sample
	for _, v := range []float64{0.4, 0.1, 0.3, 0.2} {
		s.Add(v)
	}
	sd := 0.129099445
	want := &Dist{N: 4, Mean: 0.25, StdDev: &sd, Min: 0.1, P50: 0.25, P90: 0.37, P95: 0.385, P99: 0.397, Max: 0.4,
		Thin: []string{"p50", "p90", "p95", "p99"}}
	if diff := cmp.Diff(want, s.Dist(1e9)); diff != "" {
		t.Errorf("Dist (-want +got):\n%s", diff)
	}
	if got := new(Sample).Dist(0); got != nil {
		t.Errorf("Dist of nothing = %+v, want nil", got)
	}
	var one Sample
	one.Add(1)
	if got := one.Dist(0); got.StdDev != nil {
		t.Errorf("stddev of one value = %v, want absent", *got.StdDev)
	}
}

func values(label string) *rapid.Generator[[]float64] {
	positive := rapid.Custom(func(t *rapid.T) float64 {
		return math.Exp(rapid.Float64Range(math.Log(1e-9), math.Log(1e4)).Draw(t, label))
	})
	return rapid.SliceOfN(positive, 1, 200)
}

func TestSampleAgreesWithNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := values("v").Draw(t, "values")
		p := rapid.Float64Range(0, 100).Draw(t, "p")
		var s Sample
		for _, v := range in {
			s.Add(v)
		}
		sorted := slices.Sorted(slices.Values(in))
		rank := p / 100 * float64(len(in)-1)
		lo, hi := sorted[int(math.Floor(rank))], sorted[int(math.Ceil(rank))]
		want := lo + (rank-math.Floor(rank))*(hi-lo)
		if got := s.Percentile(p); math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Fatalf("p%v = %v, want %v", p, got, want)
		}
		var sum float64
		for _, v := range in {
			sum += v
		}
		if mean := sum / float64(len(in)); math.Abs(s.Mean()-mean) > 1e-9*mean {
			t.Fatalf("mean = %v, want %v", s.Mean(), mean)
		}
	})
}

func TestHistogramIsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := values("v").Draw(t, "values")
		if rapid.Bool().Draw(t, "negative") {
			for i := range in {
				in[i] = -in[i]
			}
		}
		exact, rough := Sample{}, Sample{Limit: 1}
		for _, v := range in {
			n := rapid.IntRange(1, 3).Draw(t, "n")
			exact.AddN(v, n)
			rough.AddN(v, n)
		}
		if several := slices.ContainsFunc(in, func(v float64) bool { return v != in[0] }); several && !rough.Approximate() {
			t.Fatal("histogram did not take over")
		}
		for _, p := range []float64{0, 1, 37.5, 50, 90, 99, 100} {
			got, want := rough.Percentile(p), exact.Percentile(p)
			// Interpolation mixes two order statistics; the larger one bounds
			// the error of both.
			n := float64(exact.N() - 1)
			scale := max(math.Abs(exact.order(int(p/100*n))), math.Abs(exact.order(int(math.Ceil(p/100*n)))))
			if math.Abs(got-want) > MaxRelativeError*scale*(1+1e-9) {
				t.Fatalf("p%v = %v, want %v within %v", p, got, want, MaxRelativeError*scale)
			}
		}
		a, b := exact.Dist(0), rough.Dist(0)
		if a.Min != b.Min || a.Max != b.Max || a.N != b.N || math.Abs(a.Mean-b.Mean) > 1e-9*math.Abs(a.Mean) {
			t.Fatalf("exact part differs: %+v and %+v", a, b)
		}
	})
}

func TestSampleIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := values("v").Draw(t, "values")
		shuffled := rapid.Permutation(in).Draw(t, "shuffled")
		var a, b Sample
		for i := range in {
			a.Add(in[i])
			b.Add(shuffled[i])
		}
		if diff := cmp.Diff(a.Dist(0), b.Dist(0)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestBins(t *testing.T) {
	for _, limit := range []int{0, 1} {
		s := Sample{Limit: limit}
		for _, v := range []float64{1, 10, 100, 1000} {
			s.Add(v)
		}
		b := s.Bins(3)
		if diff := cmp.Diff(&Bins{Min: 1, Max: 1000, Log: true, Counts: []int{1, 1, 2}}, b); diff != "" && limit == 0 {
			t.Errorf("Bins (-want +got):\n%s", diff)
		}
		total := 0
		for _, c := range b.Counts {
			total += c
		}
		if total != 4 {
			t.Errorf("bins hold %d values, want 4", total)
		}
	}
	var same Sample
	same.AddN(5, 3)
	if diff := cmp.Diff([]int{3, 0}, same.Bins(2).Counts); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkSampleDist(b *testing.B) {
	in := make([]float64, 1_000_000)
	x := uint64(1)
	for i := range in {
		x = x*6364136223846793005 + 1442695040888963407
		in[i] = float64(x>>11) / (1 << 53)
	}
	b.ReportAllocs()
	for b.Loop() {
		var s Sample
		for _, v := range in {
			s.Add(v)
		}
		s.Dist(1e9)
	}
}

func BenchmarkHistogramAdd(b *testing.B) {
	var h Histogram
	v := 1e-3
	for b.Loop() {
		h.Add(v)
		if v *= 1.01; v > 100 {
			v = 1e-3
		}
	}
}
