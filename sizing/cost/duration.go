package cost

import "time"

// Never is a time far beyond any run, about a hundred years: what would last as long
// does not happen. Two of it can be added without an overflow.
const Never = 100 * 365 * 24 * time.Hour

// Duration is a time of the model in whole nanoseconds. The product is rounded by
// itself, so that no machine fuses it with the sum. What is longer than Never, or no
// number, is Never: machines differ in what they make of a number out of range.
func Duration(seconds float64) time.Duration {
	ticks := float64(seconds*1e9) + 0.5
	if !(ticks < float64(Never)) {
		return Never
	}
	return time.Duration(max(0, ticks))
}
