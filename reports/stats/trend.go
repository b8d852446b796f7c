package stats

import "slices"

// Trend is by how much values that were taken at even times grew from the first to
// the last, by Sen's slope ("Estimates of the Regression Coefficient Based on
// Kendall's Tau", Journal of the American Statistical Association 63, 1968): the
// median of the slopes between all pairs; and how many of the pairs do not rise,
// for the test of Mann (1945) and Kendall (1975). Below two values both are 0.
func Trend(values []float64) (rise float64, notRising int) {
	var slopes []float64
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			slopes = append(slopes, (values[j]-values[i])/float64(j-i))
			if values[j] <= values[i] {
				notRising++
			}
		}
	}
	if len(slopes) == 0 {
		return 0, 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2] * float64(len(values)-1), notRising
}
