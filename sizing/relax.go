package sizing

import (
	"fmt"
	"math"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// roomForLoad is the share of the rate that all other bounds allow for which a
// bound is raised that nobody asked for and that a lone request breaks: at less
// the replicas would stand nearly idle, since at the time of a lone request itself
// no two requests may meet.
const roomForLoad = 0.5

// RelaxedBound is a bound of a default objective that not even lone requests
// meet, and what is planned for instead.
type RelaxedBound struct {
	Name    string  `json:"name"`      // TTFT, TPOT or E2E
	Default float64 `json:"default_s"` // the bound that can not be met
	Lone    float64 `json:"lone_s"`    // what lone requests take at the attainment
	Planned float64 `json:"planned_s"` // the bound that takes its place
}

// String says what can not be met.
func (b RelaxedBound) String() string {
	return fmt.Sprintf("the default %s bound of %s can not be met even by lone requests, which take %s",
		b.Name, units.Seconds(b.Default), units.Seconds(b.Lone))
}

// relaxed raises those bounds of a default objective that lone requests break to
// what requests take at a moderate load. The plan is then for an objective that exists: had
// the bound been dropped, a stricter objective would have been cheaper than one
// that is just met.
func (s *situation) relaxed(r replica) (rate float64, bound string) {
	raised := s.limits.raise(r)
	if len(raised) == 0 {
		return s.limits.maxRate(r)
	}
	s.limits.take(raised)
	in := &s.inputs.SLO
	in.TTFT, in.TPOT, in.E2E, in.Relaxed = s.limits.ttft, s.limits.tpot, s.limits.e2e, raised
	for i := range s.assumptions {
		if s.assumptions[i].Flag == "--slo" && s.assumptions[i].Name == "SLO" {
			s.assumptions[i].Value = describeSLO(*in)
		}
	}
	s.warn("default-slo", "%s; --slo sets yours", describeRelaxed(raised, s.limits.quantile))
	return s.limits.maxRate(r)
}

// raise lists the bounds that lone requests break, with what takes their place.
func (l limits) raise(r replica) []RelaxedBound {
	var raised []RelaxedBound
	others := l
	for _, c := range l.lone(r) {
		if c.got > c.bound {
			b := RelaxedBound{Name: c.name, Default: c.bound, Lone: c.got}
			raised = append(raised, b)
			others.take([]RelaxedBound{b})
		}
	}
	if len(raised) == 0 {
		return nil
	}
	rate, _ := r.quickRate(others)
	st := r.at(max(idleRate, rate*roomForLoad))
	for i := range raised {
		b := &raised[i]
		var got float64
		switch b.Name {
		case "TTFT":
			got = st.ttftQuantile(l.quantile)
		case "TPOT":
			got = st.tpotQuantile(r, l.quantile)
		default:
			got = st.latency(r).quantile(l.quantile)
		}
		b.Planned = roundUp(max(got, b.Lone/tight))
	}
	return raised
}

// take replaces bounds.
func (l *limits) take(raised []RelaxedBound) {
	for _, b := range raised {
		switch b.Name {
		case "TTFT":
			l.ttft = b.Planned
		case "TPOT":
			l.tpot = b.Planned
		case "E2E":
			l.e2e = b.Planned
		}
	}
}

// roundUp keeps two significant digits, so that a bound can be said and typed.
func roundUp(seconds float64) float64 {
	digits := 1 - int(math.Floor(math.Log10(seconds)))
	if digits > 0 {
		unit := math.Pow10(digits)
		return math.Ceil(seconds*unit-1e-9) / unit
	}
	unit := math.Pow10(-digits)
	return math.Ceil(seconds/unit-1e-9) * unit
}

// describeRelaxed says which bounds were raised and to what.
func describeRelaxed(raised []RelaxedBound, quantile float64) string {
	var broken, instead []string
	for _, b := range raised {
		broken = append(broken, b.String())
		instead = append(instead, fmt.Sprintf("%s %s", b.Name, units.Seconds(b.Planned)))
	}
	return fmt.Sprintf("%s at p%g: planned for %s instead", strings.Join(broken, "; "), quantile*100, strings.Join(instead, " and "))
}
