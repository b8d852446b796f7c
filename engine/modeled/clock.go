package modeled

import "time"

// Clock is the time in which steps last.
type Clock interface {
	Now() time.Duration           // monotonic, since some start
	SleepUntil(end time.Duration) // returns at end or shortly after it
}

// Wall is the real time.
func Wall() Clock { return wall{time.Now()} }

type wall struct{ start time.Time }

func (w wall) Now() time.Duration { return time.Since(w.start) }

// coarse is how much of a sleep is left to sleepExactly: the runtime's timers
// fire up to about a millisecond late.
const coarse = 2 * time.Millisecond

func (w wall) SleepUntil(end time.Duration) {
	if left := end - w.Now() - coarse; left > 0 {
		time.Sleep(left)
	}
	for left := end - w.Now(); left > 0; left = end - w.Now() {
		sleepExactly(left)
	}
}
