package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/stats"
)

// NamedReport is one variant of an experiment.
type NamedReport struct {
	Name   string
	Report *Report
}

// Experiment is the same workload run in two variants, side by side.
type Experiment struct {
	Name     string             `json:"name"`
	Variants []Variant          `json:"variants"`
	Ratios   map[string]float64 `json:"ratios"` // second variant ÷ first, by the key of the row
}

// Variant is what an experiment keeps of one run.
type Variant struct {
	Name        string       `json:"name"`
	Requests    Requests     `json:"requests"`
	Rates       Rates        `json:"rates"`
	TTFT        *stats.Dist  `json:"ttft_s,omitempty"`
	TPOT        *stats.Dist  `json:"tpot_s,omitempty"`
	E2E         *stats.Dist  `json:"e2e_s,omitempty"`
	PrefixCache *PrefixCache `json:"prefix_cache,omitempty"`
	SLO         *SLO         `json:"slo,omitempty"`
	Verdict     string       `json:"verdict"`
	Trusted     bool         `json:"trusted"`
}

// NewExperiment lays two runs side by side; a is the base of the ratios.
func NewExperiment(name string, a, b NamedReport) *Experiment {
	e := &Experiment{Name: name, Ratios: map[string]float64{}}
	for _, n := range []NamedReport{a, b} {
		r, v := n.Report, n.Report.Verdict()
		e.Variants = append(e.Variants, Variant{Name: n.Name, Requests: r.Requests, Rates: r.Rates, TTFT: r.TTFT, TPOT: r.TPOT, E2E: r.E2E,
			PrefixCache: r.PrefixCache, SLO: r.SLO, Verdict: v.Reason.String(), Trusted: v.Trustworthy()})
	}
	for _, row := range experimentRows {
		x, y := row.value(e.Variants[0]), row.value(e.Variants[1])
		if x != nil && y != nil && *x != 0 {
			e.Ratios[row.key] = rounded(*y / *x)
		}
	}
	return e
}

// experimentRows are the rows of the comparison.
var experimentRows = []struct {
	name, key string
	value     func(Variant) *float64
	text      func(float64) string
}{
	{"ttft p50", "ttft_p50", func(v Variant) *float64 { return percentileOf(v.TTFT, p50) }, units.Seconds},
	{"ttft p99", "ttft_p99", func(v Variant) *float64 { return percentileOf(v.TTFT, p99) }, units.Seconds},
	{"tpot p50", "tpot_p50", func(v Variant) *float64 { return percentileOf(v.TPOT, p50) }, units.Seconds},
	{"e2e p50", "e2e_p50", func(v Variant) *float64 { return percentileOf(v.E2E, p50) }, units.Seconds},
	{"completed/s", "completed_rps", func(v Variant) *float64 { return v.Rates.CompletedRPS }, units.Number},
	{"output tokens/s", "output_tokens_per_s", func(v Variant) *float64 { return v.Rates.OutputTokensPerS }, units.Number},
	{"prefix hit rate", "prefix_hit_rate", func(v Variant) *float64 {
		if v.PrefixCache == nil {
			return nil
		}
		return &v.PrefixCache.HitRate
	}, percent},
	{"ok requests", "ok", func(v Variant) *float64 { n := float64(v.Requests.OK); return &n }, units.Number},
}

func p50(d *stats.Dist) float64 { return d.P50 }
func p99(d *stats.Dist) float64 { return d.P99 }

// WriteComparison writes two runs side by side, with the ratio of the second to
// the first.
func WriteComparison(w io.Writer, name string, a, b NamedReport, opts TextOptions) error {
	p := newPage(opts)
	p.experiment(NewExperiment(name, a, b))
	_, err := w.Write(p.out.Bytes())
	return err
}

func (p *page) experiment(e *Experiment) {
	p.line(p.paint(bold, strings.TrimSpace("experiment "+e.Name)))
	t := Table{Header: []string{""}, Right: []bool{false, true, true, true}}
	for _, v := range e.Variants {
		t.Header = append(t.Header, v.Name)
	}
	t.Header = append(t.Header, "ratio")
	for _, row := range experimentRows {
		cells := []string{row.name}
		for _, v := range e.Variants {
			if x := row.value(v); x != nil {
				cells = append(cells, row.text(*x))
			} else {
				cells = append(cells, "–")
			}
		}
		if ratio, ok := e.Ratios[row.key]; ok {
			cells = append(cells, fmt.Sprintf("%.2f×", ratio))
		}
		t.Rows = append(t.Rows, cells)
	}
	t.WriteTo(&p.out) //nolint:errcheck // a buffer
	for _, v := range e.Variants {
		if !v.Trusted {
			p.field("", p.paint(red, "✗ "+v.Name+" is not trustworthy: ")+v.Verdict)
		}
	}
}
