package modeled

import (
	"time"

	"github.com/llmctl/llmctl/internal/precise"
)

// Clock is the time in which steps last.
type Clock interface {
	Now() time.Duration           // monotonic, since some start
	SleepUntil(end time.Duration) // returns at end or shortly after it
}

// Wall is the real time.
func Wall() Clock { return wall{time.Now()} }

type wall struct{ start time.Time }

func (w wall) Now() time.Duration { return time.Since(w.start) }

func (w wall) SleepUntil(end time.Duration) {
	if left := end - w.Now() - precise.Coarse; left > 0 {
		time.Sleep(left)
	}
	for left := end - w.Now(); left > 0; left = end - w.Now() {
		precise.Sleep(left)
	}
}

// Scaled is a clock that goes faster than another by a factor above 0: of 10, ten
// seconds pass in each of the other's.
func Scaled(c Clock, factor float64) Clock { return scaled{c, factor} }

type scaled struct {
	Clock
	factor float64
}

func (s scaled) Now() time.Duration { return time.Duration(float64(s.Clock.Now()) * s.factor) }

// SleepUntil rounds up, so that it never returns early.
func (s scaled) SleepUntil(end time.Duration) {
	s.Clock.SleepUntil(time.Duration(float64(end)/s.factor) + 1)
}
