package cost

import "strconv"

// Rounded keeps three digits, as much as held-out points can tell.
func (e Error) Rounded() Error {
	for _, n := range []*float64{&e.Relative, &e.Low, &e.High} {
		*n, _ = strconv.ParseFloat(strconv.FormatFloat(*n, 'g', 3, 64), 64)
	}
	return e
}
