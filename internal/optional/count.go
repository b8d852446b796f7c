// Package optional is numbers that may be absent.
package optional

// Count is a number of things, or absent. The zero Count is absent; Counted(0)
// is a measured zero.
type Count int64

// Counted returns n as a known Count. n must not be negative.
func Counted(n int) Count { return Count(n) + 1 }

// Known reports whether the count was measured.
func (c Count) Known() bool { return c != 0 }

// Value returns the count; ok is false when it is absent.
func (c Count) Value() (n int, ok bool) {
	if c == 0 {
		return 0, false
	}
	return int(c - 1), true
}
