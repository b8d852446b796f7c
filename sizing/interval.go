package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/sizing/cost"
)

// ModelError is how far off the step model was on measured runs that took no
// part in its fit: that of the time per token, which is that of steps, and those
// of the times that it is a part of.
type ModelError struct {
	Spread
	Source string   `json:"source"`
	TTFT   Spread   `json:"ttft"`
	E2E    Interval `json:"e2e"`
}

// Spread is the median distance relative to the measured time, and the interval
// that held 80 % of the measured ones. Basis is what those runs shared with none
// that was fitted: "own" (the load; the model was measured), "model", "family" (of
// accelerators), "engine", or "engine and family".
type Spread struct {
	Relative float64 `json:"relative"`
	Interval
	Basis cost.Basis `json:"basis"`
}

// Interval is factors on a time of the plan.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// modelError takes the two parts of E2E to be off in the same direction, which
// is the wider of what may be.
func modelError(c cost.Constants, ttft, e2e float64) ModelError {
	e := ModelError{Spread: newSpread(c.Error.Spread), Source: c.Source, TTFT: newSpread(c.Error.First)}
	first := 1.0
	if e2e > 0 {
		first = min(1, ttft/e2e)
	}
	e.E2E = Interval{first*e.TTFT.Low + (1-first)*e.Low, first*e.TTFT.High + (1-first)*e.High}
	return e
}

func newSpread(s cost.Spread) Spread {
	return Spread{s.Relative, Interval{s.Low, s.High}, s.Basis}
}

// HeldOut words a basis: runs of what the error was found on.
func (s Spread) HeldOut() string {
	switch s.Basis {
	case cost.HeldLoad:
		return "this model's runs at loads that took no part in the fit"
	case cost.HeldFamily:
		return "runs of models and accelerator families that took no part in the fit"
	case cost.HeldEngine:
		return "runs of models and engines that took no part in the fit"
	case cost.HeldBoth:
		return "runs of models, engines and accelerator families that took no part in the fit"
	}
	return "runs of models that took no part in the fit"
}

// Unmeasured names what no run was measured of, "" when there were some.
func (s Spread) Unmeasured(in Inputs) string {
	engine, family := in.Engine, in.Accelerator+" or its family"
	switch s.Basis {
	case cost.HeldFamily:
		return family
	case cost.HeldEngine:
		return engine
	case cost.HeldBoth:
		return fmt.Sprintf("%s, nor of %s", engine, family)
	}
	return ""
}

// warnOfMeasurements says what the constants of the step model were not measured
// of.
func (s *situation) warnOfMeasurements(p *Plan) {
	if what := p.Performance.Error.Unmeasured(s.inputs); what != "" {
		s.warn("not-measured", "too few runs of %s were measured to fit the step model: times are carried over from others, with a wider interval; measure a few loads and give them with llmctl calibrate and --calibration", what)
	}
}
