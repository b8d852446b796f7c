package precise

import (
	"testing"
	"time"
)

// A wait that repeats Sleep ends, and not before its time.
func TestSleep(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 300 * time.Microsecond} {
		end := time.Now().Add(d)
		for left := time.Until(end); left > 0; left = time.Until(end) {
			Sleep(left)
		}
		if early := time.Until(end); early > 0 {
			t.Errorf("a sleep of %s ended %s too early", d, early)
		}
	}
}
