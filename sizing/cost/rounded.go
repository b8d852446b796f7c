package cost

import "strconv"

// Rounded keeps three digits, as much as held-out points can tell.
func (e Error) Rounded() Error {
	for _, s := range []*Spread{&e.Spread, &e.First} {
		for _, n := range []*float64{&s.Relative, &s.Low, &s.High} {
			*n, _ = strconv.ParseFloat(strconv.FormatFloat(*n, 'g', 3, 64), 64)
		}
	}
	return e
}
