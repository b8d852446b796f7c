package sizing

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// busiestStep makes a load that changes in steps one to plan for: its largest
// rate. Steps that are the hours of one day become the load over the day, unless
// another one is said. The text says what was done and is empty where nothing was.
func (r Request) busiestStep() (planned Request, text string) {
	a := &r.Scenario.Workload.Arrival
	if a.Process != profiles.Steps || a.Curve == nil || r.Scenario.Workload.Validate() != nil {
		return r, ""
	}
	var hours []float64
	busiest, day := 0.0, len(a.Curve.Steps) == 24
	for _, step := range a.Curve.Steps {
		busiest = max(busiest, step.RatePerS)
		hours = append(hours, step.RatePerS)
		day = day && step.For == time.Hour
	}
	*a = profiles.Arrival{Process: profiles.Poisson, RatePerS: busiest}
	if day && !r.LoadProfile.Said() && busiest <= largestHour {
		r.LoadProfile = profiles.LoadProfile{Name: "given", Hours: hours, Rates: true}
	}
	return r, fmt.Sprintf("%g/s, the busiest of %d steps", busiest, len(hours))
}

// largestHour is the largest rate that a load profile may have.
const largestHour = 1e6
