package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// How the gateway's garbage is collected, unless GOGC says otherwise. Most of its
// memory is what thousands of open streams hold, which Go's default of 100 % would
// double: 30 % adds less than a third. Of a small heap that would be several collections a
// second under load, so that it may grow to smallHeap first.
const (
	leastGrowth = 30
	smallHeap   = 64 << 20
)

// tuneCollector sets by how much the heap may grow, now and after each collection
// until it is stopped.
func tuneCollector(floor uint64) (stop func()) {
	t := &tuner{floor: floor, before: debug.SetGCPercent(leastGrowth)}
	t.tune()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.stopped = true
		debug.SetGCPercent(t.before)
	}
}

type tuner struct {
	floor  uint64
	before int

	mu      sync.Mutex
	stopped bool
}

func (t *tuner) tune() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	// These are what the percentage is of.
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	live := uint64(0)
	for _, s := range samples {
		live += s.Value.Uint64()
	}
	debug.SetGCPercent(growth(live, t.floor))
	// An object that nothing refers to is gone with the next collection.
	runtime.AddCleanup(new(*byte), (*tuner).tune, t)
}

// growth is by how many percent so many live bytes may grow: to the floor, or by
// leastGrowth.
func growth(live, floor uint64) int {
	live = max(live, floor/100, 1)
	if live >= floor {
		return leastGrowth
	}
	return max(leastGrowth, int((floor-live)*100/live))
}
