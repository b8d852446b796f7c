package cost

import "strconv"

// Rounded keeps three digits of the errors, as much as held-out points can tell.
func (e Entry) Rounded() Entry {
	for _, v := range []*Error{&e.Error, &e.SeenError} {
		for _, n := range []*float64{&v.Relative, &v.Low, &v.High} {
			*n, _ = strconv.ParseFloat(strconv.FormatFloat(*n, 'g', 3, 64), 64)
		}
	}
	return e
}
