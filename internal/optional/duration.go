package optional

import "time"

// Duration is a length of time, or absent. The zero Duration is absent;
// Measured(0) is a measured zero.
type Duration int64

// Measured returns d as a known Duration. What a clock's step made negative is 0.
func Measured(d time.Duration) Duration { return Duration(max(d, 0)) + 1 }

// Known reports whether the duration was measured.
func (d Duration) Known() bool { return d != 0 }

// Value returns the duration; ok is false when it is absent.
func (d Duration) Value() (v time.Duration, ok bool) {
	if d == 0 {
		return 0, false
	}
	return time.Duration(d - 1), true
}
