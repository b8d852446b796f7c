package infer

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// Result is a scenario and what it rests on.
type Result struct {
	Scenario profiles.Scenario
	Basis    []Basis
}

// Basis says what one part of a scenario rests on, or that it is not known.
type Basis struct {
	Part string // key of the workload, such as input or arrival
	Text string // one line
}

func (r *Result) say(part, format string, args ...any) {
	r.Basis = append(r.Basis, Basis{part, fmt.Sprintf(format, args...)})
}

// check is the last thing done with a scenario.
func (r *Result) check() (*Result, error) {
	r.Scenario.Workload.Name = "inferred"
	if err := r.Scenario.Workload.Validate(); err != nil {
		return nil, fmt.Errorf("inferring a workload: %w", err)
	}
	return r, nil
}

// round keeps four digits: what a log tells is not known to more.
func round(v float64) float64 {
	text := strconv.FormatFloat(v, 'g', 4, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return v
	}
	return rounded
}

func number(n int) string { return units.Count(int64(n)) }

// percent writes a share; less than a hundredth of a percent is not told apart.
func percent(share float64) string {
	if share > 0 && share < 1e-4 {
		return "less than 0.01%"
	}
	return strconv.FormatFloat(100*share, 'g', 3, 64) + "%"
}

// shares turns counts into shares that add up to one, as far as four digits go.
// There are none when there is nothing to choose.
func shares(counts map[string]int) map[string]float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	out := map[string]float64{}
	for name, n := range counts {
		if share := round(float64(n) / float64(total)); share > 0 {
			out[name] = share
		}
	}
	return out
}
