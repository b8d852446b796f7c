package stats

import "math"

// Percentile returns the p-th percentile (0 ≤ p ≤ 100) of samples that are
// sorted in ascending order, in their own unit, or NaN when there are none.
//
// It is type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages",
// The American Statistician 50(4), 1996: linear interpolation between the two
// order statistics around rank (n−1)·p/100. NumPy, pandas and R default to it,
// so a reader who loads the records there finds the same number.
func Percentile(sorted []float64, p float64) float64 {
	return interpolate(len(sorted), p, func(i int) float64 { return sorted[i] })
}

// interpolate is the type 7 rule over any ordered sample of size n, given its
// i-th smallest value.
func interpolate(n int, p float64, order func(int) float64) float64 {
	if n == 0 || math.IsNaN(p) {
		return math.NaN()
	}
	rank := float64(n-1) * min(max(p, 0), 100) / 100
	below := int(rank)
	low := order(below)
	fraction := rank - float64(below)
	if fraction == 0 || below+1 >= n {
		return low
	}
	high := order(below + 1)
	// This form never leaves [low, high], unlike low·(1−f) + high·f, and gives
	// exactly low when both are equal.
	return min(low+float64(fraction*(high-low)), high)
}

// Thin reports whether n samples are too few to speak of the p-th percentile:
// fewer than five of them are expected beyond it. The number still means what
// it says, but the next run will say something else.
func Thin(n int, p float64) bool {
	// The small excess keeps 1 − 0.99 from turning 5 into 4.999….
	return float64(n)*(100-p)/100 < 5-1e-9
}
