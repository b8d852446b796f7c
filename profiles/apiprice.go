package profiles

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// APIPrice is what a hosted API takes for a million tokens, in dollars. The zero
// value means that nothing is said.
type APIPrice struct {
	In     float64 // prompt tokens that the API has not cached
	Cached float64 // prompt tokens that it has
	Out    float64
}

// ParseAPIPrice reads dollars per million tokens:
//
//	price     = parameter { "," parameter }
//	parameter = ( "in=" | "out=" | "cached=" ) dollars
//
// in and out are needed; cached tokens cost as much as others when they have no
// price of their own.
func ParseAPIPrice(s string) (APIPrice, error) {
	said := map[string]float64{}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			return APIPrice{}, fmt.Errorf("parsing API price %.80q: expected in=…,out=… in dollars per 1M tokens, got %.40q", s, pair)
		}
		known := []string{"in", "out", "cached"}
		if name != "in" && name != "out" && name != "cached" {
			return APIPrice{}, unknown("API price", name, known, "expected "+strings.Join(known, ", "))
		}
		if _, twice := said[name]; twice {
			return APIPrice{}, fmt.Errorf("parsing API price %.80q: %s is said twice", s, name)
		}
		v, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(value), "$"), 64)
		if err != nil {
			return APIPrice{}, fmt.Errorf("parsing API price %.80q: %s=%.40q is no number of dollars", s, name, value)
		}
		said[name] = v
	}
	for _, name := range []string{"in", "out"} {
		if _, ok := said[name]; !ok {
			return APIPrice{}, fmt.Errorf("parsing API price %.80q: %s= is missing, in dollars per 1M tokens", s, name)
		}
	}
	p := APIPrice{In: said["in"], Cached: said["in"], Out: said["out"]}
	if cached, ok := said["cached"]; ok {
		p.Cached = cached
	}
	if p == (APIPrice{}) {
		return p, fmt.Errorf("API price %.80q is 0, which nothing can be compared with", s)
	}
	return p, p.Validate()
}

// Validate reports the first price that makes no sense; what is not said is fine.
func (p APIPrice) Validate() error {
	if p == (APIPrice{}) {
		return nil
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"in", p.In}, {"cached", p.Cached}, {"out", p.Out}} {
		if math.IsNaN(f.value) || f.value < 0 || f.value > 1e6 {
			return fmt.Errorf("API price %s=%v is outside 0 to 1,000,000 $ per 1M tokens", f.name, f.value)
		}
	}
	return nil
}

// String is the price as ParseAPIPrice reads it.
func (p APIPrice) String() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	return "in=" + number(p.In) + ",cached=" + number(p.Cached) + ",out=" + number(p.Out)
}

// Said reports whether there is a price.
func (p APIPrice) Said() bool { return p != APIPrice{} }
