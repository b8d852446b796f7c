package record

import (
	"time"

	"github.com/llmctl/llmctl/internal/optional"
)

// Moment is a time since the start of the run, in nanoseconds, or absent. The
// zero Moment is absent, so that a measurement that was never taken can not be
// mistaken for 0.
type Moment int64

// At returns the Moment d after the start of the run.
func At(d time.Duration) Moment {
	if d >= 0 {
		return Moment(d) + 1
	}
	return Moment(d)
}

// Known reports whether the moment was measured.
func (m Moment) Known() bool { return m != 0 }

// Since the start of the run; ok is false when the moment is absent.
func (m Moment) Since() (d time.Duration, ok bool) {
	switch {
	case m == 0:
		return 0, false
	case m > 0:
		return time.Duration(m - 1), true
	default:
		return time.Duration(m), true
	}
}

// Sub returns m − earlier; ok is false when either is absent.
func (m Moment) Sub(earlier Moment) (d time.Duration, ok bool) {
	a, oka := m.Since()
	b, okb := earlier.Since()
	return a - b, oka && okb
}

// Count is a number of things, or absent. The zero Count is absent; Counted(0)
// is a measured zero.
type Count = optional.Count

// Counted returns n as a known Count. n must not be negative.
func Counted(n int) Count { return optional.Counted(n) }
