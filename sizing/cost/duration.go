package cost

import "time"

// Duration is a time of the model in whole nanoseconds. The product is rounded by
// itself, so that no machine fuses it with the sum.
func Duration(seconds float64) time.Duration {
	return time.Duration(float64(seconds*1e9) + 0.5)
}
