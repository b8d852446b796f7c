package stats

import "testing"

func TestTrend(t *testing.T) {
	for _, tc := range []struct {
		name      string
		values    []float64
		rise      float64
		notRising int
	}{
		{"a line", []float64{1, 3, 5, 7}, 6, 0},
		{"falls", []float64{3, 2, 1}, -2, 3},
		{"flat", []float64{2, 2, 2}, 0, 3},
		{"one outlier on a line", []float64{0, 1, 2, 50, 4, 5}, 5, 2},
		{"one value", []float64{7}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if rise, n := Trend(tc.values); rise != tc.rise || n != tc.notRising {
				t.Errorf("rise %v with %d pairs that do not, want %v with %d", rise, n, tc.rise, tc.notRising)
			}
		})
	}
}
