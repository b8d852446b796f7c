package loadgen

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// health watches the load generator itself over the window.
type health struct {
	timer *time.Timer

	mu     sync.Mutex
	before vitals
}

// vitals are running totals of this process.
type vitals struct {
	at     time.Time
	cpu    time.Duration // user and system
	known  bool          // cpu could be read
	pauses *metrics.Float64Histogram
}

// startHealth begins to watch when the warm-up is over.
func startHealth(warmup time.Duration) *health {
	h := &health{before: readVitals()}
	h.timer = time.AfterFunc(warmup, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.before = readVitals()
	})
	return h
}

// stop returns how the process fared since the start of the window. It may be
// called again for a later end.
func (h *health) stop() record.Client {
	h.timer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	after := readVitals()
	client := record.Client{CPUFraction: -1, GCPauseP99: pauseP99(h.before.pauses, after.pauses)}
	if wall := after.at.Sub(h.before.at); after.known && wall > 0 {
		client.CPUFraction = float64(after.cpu-h.before.cpu) / (float64(wall) * float64(runtime.GOMAXPROCS(0)))
	}
	return client
}

const pausesMetric = "/sched/pauses/total/gc:seconds"

func readVitals() vitals {
	v := vitals{at: time.Now()}
	v.cpu, v.known = cpuTime()
	sample := []metrics.Sample{{Name: pausesMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() == metrics.KindFloat64Histogram {
		v.pauses = sample[0].Value.Float64Histogram()
	}
	return v
}

// pauseP99 is the 99th percentile of the pauses between two readings, to the
// upper end of the runtime's bucket; 0 when there were none.
func pauseP99(before, after *metrics.Float64Histogram) time.Duration {
	if before == nil || after == nil {
		return 0
	}
	var total uint64
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	if total == 0 {
		return 0
	}
	rank := uint64(math.Ceil(0.99 * float64(total)))
	var seen uint64
	for i := range after.Counts {
		if seen += after.Counts[i] - before.Counts[i]; seen >= rank {
			upper := after.Buckets[i+1]
			if math.IsInf(upper, 1) {
				upper = after.Buckets[i]
			}
			return time.Duration(upper * float64(time.Second))
		}
	}
	return 0
}
