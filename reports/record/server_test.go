package record

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var inf = math.Inf(1)

func TestHistogramQuantile(t *testing.T) {
	for _, tc := range []struct {
		name string
		h    Histogram
		q    float64
		want float64 // negative: none
	}{
		{"half of one bucket", Histogram{Bounds: []float64{1, 2, inf}, Counts: []float64{0, 10, 10}}, 0.5, 1.5},
		{"in the first bucket", Histogram{Bounds: []float64{1, inf}, Counts: []float64{4, 4}}, 0.25, 0.25},
		{"at a bound", Histogram{Bounds: []float64{1, 2, inf}, Counts: []float64{5, 10, 10}}, 0.5, 1},
		{"the lowest", Histogram{Bounds: []float64{1, 2, inf}, Counts: []float64{0, 10, 10}}, 0, 1},
		{"the highest", Histogram{Bounds: []float64{1, 2, inf}, Counts: []float64{0, 10, 10}}, 1, 2},
		{"past an empty bucket", Histogram{Bounds: []float64{1, 2, 4, inf}, Counts: []float64{5, 5, 10, 10}}, 0.75, 3},
		{"a first bound of 0", Histogram{Bounds: []float64{0, 1, inf}, Counts: []float64{10, 10, 10}}, 0.5, 0},
		{"beyond the last bound", Histogram{Bounds: []float64{1, inf}, Counts: []float64{5, 10}}, 0.99, -1},
		{"empty", Histogram{Bounds: []float64{1, inf}, Counts: []float64{0, 0}}, 0.5, -1},
	} {
		got, ok := tc.h.Quantile(tc.q)
		if ok != (tc.want >= 0) || ok && math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", tc.name, got, ok, tc.want)
		}
	}
}

// What a histogram counts twice is the sum of both times; a quantile lies in
// its bucket and never falls with q.
func TestHistogramLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "buckets")
		draw := func(name string) *Histogram {
			h := &Histogram{Sum: float64(rapid.IntRange(0, 1000).Draw(t, name+" sum"))}
			total := 0.0
			for i := range n {
				total += float64(rapid.IntRange(0, 20).Draw(t, name))
				h.Bounds, h.Counts = append(h.Bounds, float64(i+1)), append(h.Counts, total)
			}
			h.Bounds[n-1] = inf
			return h
		}
		a, b := draw("a"), draw("b")
		both, ok := a.Add(b)
		if !ok || !both.Valid() {
			t.Fatalf("%v + %v = %v, %v", a, b, both, ok)
		}
		back, ok := both.Sub(a)
		if diff := cmp.Diff(b, back); !ok || diff != "" {
			t.Fatalf("(a + b) − a (-b +got):\n%s", diff)
		}
		if _, ok := a.Sub(both); ok && b.Count() > 0 {
			t.Fatal("a histogram that lost values is taken for a growing one")
		}
		last := math.Inf(-1)
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
			v, ok := both.Quantile(q)
			if ok && (v < last || v > float64(n)) {
				t.Fatalf("quantile %v of %v is %v after %v", q, both, v, last)
			}
			if ok {
				last = v
			}
		}
	})
}

func TestSampleRefuses(t *testing.T) {
	for _, text := range []string{
		`[]`, `{"at_s":"x"}`, `{"running":"many"}`, `{"ttft_s":{"bounds":[1],"counts":[1]}}`,
		`{"ttft_s":{"bounds":[2,1],"counts":[1,2,3]}}`, `{"ttft_s":{"bounds":[1],"counts":[2,1]}}`, `{"finished":[1]}`,
	} {
		var s ServerSample
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s is taken for a sample: %+v", text, s)
		}
	}
}
