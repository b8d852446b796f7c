package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
	"github.com/llmctl/llmctl/sizing"
)

// OptimumSchema names the form of a search for the cheapest cluster by simulation.
const OptimumSchema = "llmctl/optimum/v1"

// Optimum is the cheapest cluster that met the objective in simulation, and the
// cheaper ones that did not.
type Optimum struct {
	Schema      string             `json:"schema"`
	Asked       string             `json:"asked,omitempty"`
	Defaults    []record.Default   `json:"defaults,omitempty"`
	Scenario    json.RawMessage    `json:"scenario,omitempty"`
	Environment record.Environment `json:"environment"`
	Feasible    bool               `json:"feasible"`
	Cheapest    *Trial             `json:"cheapest,omitempty"`
	Planned     *Trial             `json:"cheapest_planned,omitempty"` // what the plan alone would buy, as far as it was simulated
	Trials      []Trial            `json:"trials"`                     // cheapest first
	Interrupted bool               `json:"interrupted,omitempty"`
	Ended       string             `json:"ended,omitempty"` // why the search ended before all that is cheaper was tried
	Warnings    []record.Warning   `json:"warnings"`
}

// Trial is one cluster: what the plan says of it, and what simulations do. Medians
// are over the seeds.
type Trial struct {
	sizing.Configuration
	Replicas     int     `json:"replicas"`
	Accelerators int     `json:"accelerators"`
	USDPerHour   float64 `json:"usd_per_hour"`

	PlannedReplicas int     `json:"planned_replicas"` // that the plan takes for the load
	PlannedMaxRPS   float64 `json:"planned_max_rps"`  // of one replica
	PlannedTTFT     float64 `json:"planned_ttft_p99_s"`
	PlannedTPOT     float64 `json:"planned_tpot_p99_s"`

	Seeds         int      `json:"seeds"`
	TTFT          *float64 `json:"ttft_p99_s,omitempty"`
	TPOT          *float64 `json:"tpot_p99_s,omitempty"`
	Attainment    *float64 `json:"attainment,omitempty"`
	AttainmentLow *float64 `json:"attainment_low,omitempty"`  // interval of the median, as wide as the seeds allow up to 95 %
	AttainmentUp  *float64 `json:"attainment_high,omitempty"` //
	Target        float64  `json:"target_share"`
	Meets         bool     `json:"meets"` // the whole interval does

	// Completed is requests completed ÷ offered per second over the window.
	Completed float64 `json:"completed_share"`
}

// NewTrial sums up the simulations of a cluster, one per seed.
func NewTrial(o sizing.Option, replicas int, runs []*Report) Trial {
	per := max(1, o.Replicas)
	t := Trial{
		Configuration: o.Configuration, Replicas: replicas, Accelerators: o.Accelerators / per * replicas,
		USDPerHour:      rounded(o.USDPerHour / float64(per) * float64(replicas)),
		PlannedReplicas: o.Replicas, PlannedMaxRPS: rounded(o.MaxRPS), PlannedTTFT: rounded(o.TTFT), PlannedTPOT: rounded(o.TPOT),
		Seeds: len(runs), Target: DefaultAttainment,
	}
	var ttft, tpot, attained, completed []float64
	for _, r := range runs {
		p := NewCurvePoint(1, "", r)
		t.Target = p.TargetShare
		if p.Attainment != nil {
			attained = append(attained, *p.Attainment)
		}
		if p.TTFT != nil {
			ttft = append(ttft, p.TTFT.P99)
		}
		if p.TPOT != nil {
			tpot = append(tpot, p.TPOT.P99)
		}
		if p.CompletedRPS != nil && p.OfferedRPS != nil && *p.OfferedRPS > 0 {
			completed = append(completed, *p.CompletedRPS / *p.OfferedRPS)
		}
	}
	t.TTFT, t.TPOT, t.Attainment = median(ttft), median(tpot), median(attained)
	if share := median(completed); share != nil {
		t.Completed = *share
	}
	if len(attained) > 0 {
		low, high, _ := stats.MedianInterval(attained, variantConfidence)
		t.AttainmentLow, t.AttainmentUp = &low, &high
		t.Meets = low >= t.Target
	}
	return t
}

// median sorts values and returns the middle, nil of none.
func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	m := rounded(stats.Percentile(values, 50))
	return &m
}

// Settle sorts the trials by price and finds the answer among them, and beside it the
// number of replicas of a configuration that plans alone would buy.
func (o *Optimum) Settle(planned sizing.Configuration, replicas int) {
	slices.SortStableFunc(o.Trials, func(a, b Trial) int {
		switch {
		case a.USDPerHour < b.USDPerHour:
			return -1
		case a.USDPerHour > b.USDPerHour:
			return 1
		}
		return 0
	})
	for i := range o.Trials {
		t := &o.Trials[i]
		if t.Meets && o.Cheapest == nil {
			o.Cheapest, o.Feasible = t, true
		}
		if t.Configuration == planned && t.Replicas == replicas {
			o.Planned = t
		}
	}
}

// Flags are what asks simulate for a cluster.
func (t Trial) Flags() string {
	text := fmt.Sprintf("--accelerator %s --tp %d", t.Accelerator, max(1, t.TensorParallel))
	for _, f := range []struct {
		name  string
		value int
	}{
		{"--pp", t.PipelineParallel}, {"--dp", t.DataParallel}, {"--ep", t.ExpertParallel},
		{"--max-num-seqs", t.MaxNumSeqs}, {"--max-num-batched-tokens", t.MaxNumBatchedTokens},
	} {
		if f.value > 1 {
			text += fmt.Sprintf(" %s %d", f.name, f.value)
		}
	}
	return text + fmt.Sprintf(" --replicas %d", t.Replicas)
}

// WriteOptimum writes the answer for a person: the clusters in order of price, each
// with the plan's claim beside the simulation.
func WriteOptimum(w io.Writer, o *Optimum, opts TextOptions) error {
	p := newPage(opts)
	p.field("asked", o.Asked)
	p.defaults(o.Defaults)
	if o.Interrupted {
		p.field("", p.paint(yellow, "! INTERRUPTED")+"  the clusters are those simulated until then")
	}
	if o.Ended != "" {
		p.field("", p.paint(yellow, "! ENDED")+"  "+o.Ended)
	}
	p.line("")
	t := OptimumTable(o)
	t.Header = []string{"cluster", "$/h", "plan", "ttft", "plan", "tpot", "plan", "attained"} // as narrow as the screen
	t.WriteTo(&p.out)                                                                         //nolint:errcheck // a buffer
	if len(o.Trials) > 0 {
		p.line("p99 of ttft and tpot, each beside that of the plan")
	}
	p.line("")
	switch {
	case o.Cheapest != nil:
		p.field("cheapest", fmt.Sprintf("%s, $%.2f per hour", o.Cheapest.Flags(), o.Cheapest.USDPerHour)+o.soFar())
		if n := o.Cheapest.PlannedReplicas; n != o.Cheapest.Replicas {
			p.field("", fmt.Sprintf("the plan takes %d of these replicas", n))
		}
	case o.soFar() != "":
		p.field("cheapest", "unknown: none of the clusters tried so far met the objective")
	case len(o.Trials) == 0:
		p.field("cheapest", "none: no plan serves the load within the objective")
	default:
		p.field("cheapest", "none of these clusters met the objective in simulation")
	}
	for _, warning := range o.Warnings {
		p.field("warning", warning.Text)
	}
	_, err := w.Write(p.out.Bytes())
	return err
}

// soFar qualifies the answer of a search that did not come to its end.
func (o *Optimum) soFar() string {
	if o.Interrupted || o.Ended != "" {
		return " so far: cheaper ones may be left"
	}
	return ""
}

// OptimumTable is the clusters in order of price.
func OptimumTable(o *Optimum) Table {
	t := Table{
		Header: []string{"cluster", "$/h", "planned", "ttft p99", "plan", "tpot p99", "plan", "attained"},
		Right:  []bool{false, true, true, true, true, true, true, true},
	}
	optional := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return units.Seconds(*v)
	}
	for _, c := range o.Trials {
		name := fmt.Sprintf("%d × %s", c.Replicas, c.Accelerator)
		if c.Accelerators > c.Replicas {
			name = fmt.Sprintf("%d × %d %s", c.Replicas, c.Accelerators/c.Replicas, c.Accelerator)
		}
		attained, mark := "–", "✗"
		if c.Attainment != nil {
			attained = percent(*c.Attainment)
			if c.Seeds > 1 {
				attained = strings.TrimSuffix(percent(*c.AttainmentLow), " %") + "–" + percent(*c.AttainmentUp)
			}
		}
		if c.Meets {
			mark = "✓"
		}
		t.Rows = append(t.Rows, []string{name, fmt.Sprintf("%.2f", c.USDPerHour), fmt.Sprintf("× %d", c.PlannedReplicas),
			optional(c.TTFT), units.Seconds(c.PlannedTTFT), optional(c.TPOT), units.Seconds(c.PlannedTPOT), mark + " " + attained})
	}
	return t
}

// WriteOptimumMarkdown writes the clusters for a document.
func WriteOptimumMarkdown(w io.Writer, o *Optimum) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", inCell.Replace(o.Asked))
	OptimumTable(o).writeMarkdown(&b)
	if o.Cheapest != nil {
		fmt.Fprintf(&b, "\nCheapest: `%s`, $%.2f per hour%s.\n", o.Cheapest.Flags(), o.Cheapest.USDPerHour, o.soFar())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
