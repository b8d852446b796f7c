package telemetry

import (
	"context"
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

	mu             sync.Mutex
	before, after  vitals
	heap, routines int // the highest seen
}

// vitals are running totals of this process and of the machine.
type vitals struct {
	at     time.Time
	cpu    time.Duration // user and system
	known  bool          // cpu could be read
	pauses *metrics.Float64Histogram
	waits  *metrics.Float64Histogram // of goroutines for a thread

	stolen, ticks uint64 // of all processors; ticks is 0 when unknown
}

// peakInterval is the time between looks at what may have a peak.
const peakInterval = time.Second

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

// watch looks for peaks until the end.
func (h *health) watch(ctx context.Context, ending <-chan struct{}) {
	ticker := time.NewTicker(peakInterval)
	defer ticker.Stop()
	for {
		h.look()
		select {
		case <-ticker.C:
		case <-ending:
			h.look()
			return
		case <-ctx.Done():
			return
		}
	}
}

func (h *health) look() {
	const heap, routines = "/memory/classes/heap/objects:bytes", "/sched/goroutines:goroutines"
	samples := []metrics.Sample{{Name: heap}, {Name: routines}}
	metrics.Read(samples)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, highest := range []*int{&h.heap, &h.routines} {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			*highest = max(*highest, int(min(samples[i].Value.Uint64(), math.MaxInt)))
		}
	}
}

// stop ends the window. It may be called again for a later end.
func (h *health) stop() {
	h.timer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.after = readVitals()
}

// result is how the process fared over the window.
func (h *health) result() record.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, after := h.before, h.after
	client := record.Client{CPUFraction: -1}
	client.GCPauseP99, _ = percentile99(before.pauses, after.pauses)
	if wait, ok := percentile99(before.waits, after.waits); ok {
		client.SchedLatencyP99 = record.At(wait)
	}
	if wall := after.at.Sub(before.at); before.known && after.known && wall > 0 {
		client.CPUFraction = float64(after.cpu-before.cpu) / (float64(wall) * float64(runtime.GOMAXPROCS(0)))
	}
	if after.ticks > before.ticks && before.ticks > 0 && after.stolen >= before.stolen {
		share := float64(after.stolen-before.stolen) / float64(after.ticks-before.ticks)
		client.CPUSteal = &share
	}
	if bytes, ok := peakRSS(); ok {
		client.PeakRSSBytes = record.Counted(bytes)
	}
	if h.heap > 0 {
		client.PeakHeapBytes = record.Counted(h.heap)
	}
	if h.routines > 0 {
		client.PeakGoroutines = record.Counted(h.routines)
	}
	return client
}

func readVitals() vitals {
	v := vitals{at: time.Now()}
	v.cpu, v.known = cpuTime()
	v.stolen, v.ticks = steal()
	samples := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/sched/latencies:seconds"}}
	metrics.Read(samples)
	for i, to := range []**metrics.Float64Histogram{&v.pauses, &v.waits} {
		if samples[i].Value.Kind() == metrics.KindFloat64Histogram {
			*to = samples[i].Value.Float64Histogram()
		}
	}
	return v
}

// percentile99 is the 99th percentile of what a histogram of the runtime counted
// between two readings, to the upper end of its bucket; ok is false without any.
func percentile99(before, after *metrics.Float64Histogram) (d time.Duration, ok bool) {
	if before == nil || after == nil {
		return 0, false
	}
	var total uint64
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	if total == 0 {
		return 0, false
	}
	rank := uint64(math.Ceil(0.99 * float64(total)))
	var seen uint64
	for i := range after.Counts {
		if seen += after.Counts[i] - before.Counts[i]; seen >= rank {
			upper := after.Buckets[i+1]
			if math.IsInf(upper, 1) {
				upper = after.Buckets[i]
			}
			return time.Duration(upper * float64(time.Second)), true
		}
	}
	return 0, false
}
