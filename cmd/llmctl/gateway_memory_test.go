package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestHeapsGrowToTheFloorOrByLittle(t *testing.T) {
	for name, tc := range map[string]struct {
		live, floor uint64
		want        int
	}{
		"nothing is live":      {0, 64 << 20, 9900},
		"an eighth":            {8 << 20, 64 << 20, 700},
		"half":                 {32 << 20, 64 << 20, 100},
		"nearly all":           {60 << 20, 64 << 20, leastGrowth},
		"as much as the floor": {64 << 20, 64 << 20, leastGrowth},
		"far more":             {1 << 40, 64 << 20, leastGrowth},
		"no floor, no heap":    {0, 0, leastGrowth},
	} {
		if got := growth(tc.live, tc.floor); got != tc.want {
			t.Errorf("%s: %d %%, expected %d", name, got, tc.want)
		}
	}
}

var garbage []byte

// collections counts those that so much garbage takes.
func collections(bytes int) uint32 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range bytes >> 16 {
		garbage = make([]byte, 1<<16)
	}
	runtime.ReadMemStats(&after)
	return after.NumGC - before.NumGC
}

func TestSmallHeapsAreCollectedSeldom(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(leastGrowth))
	runtime.GC()
	often := collections(1 << 30)
	stop := tuneCollector(512 << 20)
	defer stop()
	runtime.GC()
	if seldom := collections(1 << 30); seldom*3 > often {
		t.Errorf("a gigabyte took %d collections, and %d with a floor", often, seldom)
	}
}
