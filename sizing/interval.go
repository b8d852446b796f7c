package sizing

import "github.com/llmctl/llmctl/sizing/cost"

// ModelError is how far off the step model was on measured runs that took no
// part in its fit: the median distance relative to the measured time, and the
// interval that held 80 % of them, as factors on a time of the plan.
type ModelError struct {
	Relative float64 `json:"relative"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Source   string  `json:"source"`
}

func modelError(c cost.Constants) ModelError {
	return ModelError{c.Error.Relative, c.Error.Low, c.Error.High, c.Source}
}
