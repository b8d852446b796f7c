package stats

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Values that come together are the same sample as values that come one by one,
// to the last bit, whenever somebody looks meanwhile.
func TestTogetherIsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var together, apart Sample
		for range rapid.IntRange(1, 40).Draw(t, "adds") {
			v := rapid.Float64Range(0, 2).Draw(t, "value")
			if rapid.Bool().Draw(t, "round") {
				v = float64(int(v * 4))
			}
			n := rapid.SampledFrom([]int{1, 1, 2, 7}).Draw(t, "n")
			together.AddN(v, n)
			for range n {
				apart.Add(v)
			}
			if rapid.IntRange(0, 9).Draw(t, "look") == 0 {
				_ = together.Percentile(50)
				_ = apart.Mean()
			}
		}
		if diff := cmp.Diff(apart.Dist(0), together.Dist(0)); diff != "" {
			t.Fatalf("one by one (-), together (+):\n%s", diff)
		}
		if diff := cmp.Diff(apart.Bins(8), together.Bins(8)); diff != "" {
			t.Fatalf("one by one (-), together (+):\n%s", diff)
		}
		for p := range 101 {
			if a, b := apart.Percentile(float64(p)), together.Percentile(float64(p)); a != b {
				t.Fatalf("p%d is %v one by one, %v together", p, a, b)
			}
		}
	})
}

// The limit is on what is kept: a value that comes a million times is kept once,
// together or one by one.
func TestLimitCountsWhatIsKept(t *testing.T) {
	s := Sample{Limit: 10}
	for i := range 10 {
		s.AddN(float64(i), 1000)
	}
	if s.Approximate() || s.N() != 10_000 || s.Percentile(50) != 4.5 {
		t.Errorf("10 values: approximate %v, n %d, median %v", s.Approximate(), s.N(), s.Percentile(50))
	}
	for range 100 {
		s.Add(3)
	}
	if s.Approximate() || s.N() != 10_100 || s.Percentile(50) != 4 {
		t.Errorf("10 values, one of them often: approximate %v, n %d, median %v", s.Approximate(), s.N(), s.Percentile(50))
	}
	s.AddN(10, 1000)
	if !s.Approximate() || s.N() != 11_100 {
		t.Errorf("11 values: approximate %v, n %d", s.Approximate(), s.N())
	}
}

// Whether a limited sample keeps its values depends on how many differ, and not on
// how they come, nor on when somebody looks.
func TestLimitIsOnDifferentValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		together, apart := Sample{Limit: limit}, Sample{Limit: limit}
		different := map[float64]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "adds") {
			v := float64(rapid.IntRange(1, 16).Draw(t, "value"))
			n := rapid.SampledFrom([]int{1, 2, 7}).Draw(t, "n")
			different[v] = true
			together.AddN(v, n)
			for range n {
				apart.Add(v)
			}
			if rapid.IntRange(0, 9).Draw(t, "look") == 0 {
				_ = together.Percentile(50)
			}
		}
		want := len(different) > limit
		if a, b := apart.Approximate(), together.Approximate(); a != want || b != want {
			t.Fatalf("%d values at a limit of %d: approximate %t one by one, %t together", len(different), limit, a, b)
		}
		if diff := cmp.Diff(apart.Bins(8), together.Bins(8)); diff != "" {
			t.Fatalf("one by one (-), together (+):\n%s", diff)
		}
	})
}
