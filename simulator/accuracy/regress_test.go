package accuracy

import "testing"

// What misses its bar as it is known to is no regression; what is further off is.
func TestRegressions(t *testing.T) {
	at := func(group, column string, off float64) Compared {
		return Compared{Figures: []Figure{{Group: group, Column: column, Measured: 1, Simulated: 1 + off, Tested: true}}}
	}
	for _, c := range []struct {
		name, group, column string
		off                 float64
		want                int
	}{
		{"within the bar", "closed loops, NIM", "ttft_ms_mean", 0.10, 0},
		{"a little beyond it", "closed loops, NIM", "ttft_ms_mean", 0.17, 0},
		{"far beyond it", "closed loops, NIM", "ttft_ms_mean", 0.19, 1},
		{"known to miss it", "open loops, traces", "ttft_ms_mean", 0.35, 0},
		{"further than known", "open loops, traces", "ttft_ms_mean", 0.40, 1},
		{"no bar", "closed loops, NIM", "output_tok_s", 0.90, 0},
		{"forty times the throughput", saturatedGroup, "output_tok_s", 40, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := at(c.group, c.column, c.off).Regressions(); len(got) != c.want {
				t.Errorf("%d regressions, want %d: %v", len(got), c.want, got)
			}
		})
	}
}
