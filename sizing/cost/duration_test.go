package cost

import (
	"math"
	"testing"
	"time"
)

func TestDurationSaturates(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{
		0: 0, 1.5: 1500 * time.Millisecond, -3: 0, 3e9: 3_000_000_000 * time.Second,
		1e10: Never, 1e300: Never, math.Inf(1): Never, math.NaN(): Never,
	} {
		if got := Duration(seconds); got != want {
			t.Errorf("%g s are %v, want %v", seconds, got, want)
		}
	}
	if Never+Never < Never {
		t.Error("two of Never do not fit in a time")
	}
}
