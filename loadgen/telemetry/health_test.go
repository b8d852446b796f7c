package telemetry

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercentile99(t *testing.T) {
	histogram := func(counts ...uint64) *metrics.Float64Histogram {
		return &metrics.Float64Histogram{Counts: counts, Buckets: []float64{0, 0.001, 0.002, 0.004}}
	}
	tests := []struct {
		name          string
		before, after *metrics.Float64Histogram
		want          time.Duration // negative: none
	}{
		{"none", histogram(5, 0, 0), histogram(5, 0, 0), -1},
		{"only new ones count", histogram(0, 0, 9), histogram(100, 0, 9), time.Millisecond},
		{"one in a hundred", histogram(0, 0, 0), histogram(99, 1, 0), time.Millisecond},
		{"two in a hundred", histogram(0, 0, 0), histogram(98, 0, 2), 4 * time.Millisecond},
		{"unknown", nil, nil, -1},
	}
	for _, tt := range tests {
		got, ok := percentile99(tt.before, tt.after)
		if ok != (tt.want >= 0) || ok && got != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, ok, tt.want)
		}
	}
}

func TestParseStat(t *testing.T) {
	for _, tt := range []struct {
		name, page    string
		stolen, ticks uint64
	}{
		{"linux", "cpu  100 0 50 800 20 5 5 20 7 0\ncpu0 1 2 3\n", 20, 1000},
		{"without guests", "cpu 1 1 1 1 1 1 1 3", 3, 10},
		{"an old kernel", "cpu 1 1 1 1 1 1 1\n", 0, 0},
		{"one processor only", "cpu0 1 1 1 1 1 1 1 1\n", 0, 0},
		{"negative", "cpu 1 1 1 -1 1 1 1 1\n", 0, 0},
		{"empty", "", 0, 0},
	} {
		if stolen, ticks := parseStat([]byte(tt.page)); stolen != tt.stolen || ticks != tt.ticks {
			t.Errorf("%s: %d of %d, want %d of %d", tt.name, stolen, ticks, tt.stolen, tt.ticks)
		}
	}
}

// What this process says of itself is possible, and what was set aside for it
// shows.
func TestHealth(t *testing.T) {
	h := startHealth(time.Hour)
	ballast := make([]byte, 8<<20)
	h.look()
	h.stop()
	c := h.result()
	heap, _ := c.PeakHeapBytes.Value()
	routines, _ := c.PeakGoroutines.Value()
	runtime.KeepAlive(ballast)
	if heap < len(ballast) || routines < 1 || c.CPUSteal != nil && (*c.CPUSteal < 0 || *c.CPUSteal > 1) {
		t.Errorf("heap %d, goroutines %d, %+v", heap, routines, c)
	}
	if rss, ok := c.PeakRSSBytes.Value(); ok && rss < heap/2 {
		t.Errorf("resident %d bytes with a heap of %d", rss, heap)
	}
}
