package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/stats"
)

// RepeatsSchema names the form of several runs of one bench.
const RepeatsSchema = "llmctl/repeats/v1"

// Repeats are several runs of the same load, and how far apart they are. Whether
// two sets of them differ is for a test over runs to say, not for this spread.
type Repeats struct {
	Schema  string     `json:"schema"`
	Metrics []Repeated `json:"metrics"`
	Runs    []*Report  `json:"runs"`
}

// Repeated is one metric over the runs that have it.
type Repeated struct {
	Metric string  `json:"metric"` // key, with the unit at its end
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// Spread is (max − min) ÷ median; absent when that is 0.
	Spread *float64 `json:"spread,omitempty"`
	// Low and High hold the median of all runs there could be with Confidence: the
	// narrowest interval with 0.95, which takes six runs; else all that was seen.
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
}

// repeatedRow is a metric that is looked at over several runs.
type repeatedRow struct {
	name, key string
	value     func(*Report) *float64
	text      func(float64) string
}

// repeatedRows are the metrics that are looked at over repeats.
var repeatedRows = []repeatedRow{
	{"ttft p50", "ttft_p50_s", func(r *Report) *float64 { return percentileOf(r.TTFT, p50) }, units.Seconds},
	{"ttft p99", "ttft_p99_s", func(r *Report) *float64 { return percentileOf(r.TTFT, p99) }, units.Seconds},
	{"tpot p50", "tpot_p50_s", func(r *Report) *float64 { return percentileOf(r.TPOT, p50) }, units.Seconds},
	{"tpot p99", "tpot_p99_s", func(r *Report) *float64 { return percentileOf(r.TPOT, p99) }, units.Seconds},
	{"icl p99", "icl_p99_s", func(r *Report) *float64 { return percentileOf(r.ICL, p99) }, units.Seconds},
	{"e2e p50", "e2e_p50_s", func(r *Report) *float64 { return percentileOf(r.E2E, p50) }, units.Seconds},
	{"e2e p99", "e2e_p99_s", func(r *Report) *float64 { return percentileOf(r.E2E, p99) }, units.Seconds},
	{"completed/s", "completed_rps", func(r *Report) *float64 { return r.Rates.CompletedRPS }, units.Number},
	{"output tokens/s", "output_tokens_per_s", func(r *Report) *float64 { return r.Rates.OutputTokensPerS }, units.Number},
	{"failed", "failed_share", func(r *Report) *float64 { return r.Requests.FailedShare }, percent},
	{"goodput/s", "goodput_rps", func(r *Report) *float64 {
		if r.SLO == nil {
			return nil
		}
		return r.SLO.GoodputRPS
	}, units.Number},
	{"attainment", "attainment", func(r *Report) *float64 {
		if r.SLO == nil {
			return nil
		}
		return r.SLO.Attainment
	}, percent},
}

// NewRepeats lays runs of the same load side by side.
func NewRepeats(runs []*Report) *Repeats {
	all := &Repeats{Schema: RepeatsSchema, Runs: runs, Metrics: []Repeated{}}
	for _, row := range repeatedRows {
		values := row.values(runs)
		if len(values) == 0 {
			continue
		}
		least, most := values[0], values[len(values)-1]
		median := stats.Percentile(values, 50)
		m := Repeated{Metric: row.key, N: len(values), Median: rounded(median), Min: least, Max: most, Spread: ratio(most-least, median)}
		m.Low, m.High, m.Confidence = stats.MedianInterval(values, variantConfidence)
		m.Confidence = rounded(m.Confidence)
		all.Metrics = append(all.Metrics, m)
	}
	return all
}

// values are what the runs say of a metric, in ascending order.
func (row repeatedRow) values(runs []*Report) (values []float64) {
	for _, r := range runs {
		if v := row.value(r); v != nil {
			values = append(values, *v)
		}
	}
	slices.Sort(values)
	return values
}

// WriteRepeats writes each run for a person, then the median and the spread of
// the main metrics.
func WriteRepeats(w io.Writer, all *Repeats, opts TextOptions) error {
	for i, r := range all.Runs {
		p := newPage(opts)
		p.line(p.paint(bold, fmt.Sprintf("── run %d of %d", i+1, len(all.Runs))))
		if _, err := w.Write(p.out.Bytes()); err != nil {
			return err
		}
		if err := WriteText(w, r, opts); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	p := newPage(opts)
	p.repeats(all)
	_, err := w.Write(p.out.Bytes())
	return err
}

// WriteSpread writes what runs of the same load have in common, and how far apart
// they are: of each metric the median and its interval.
func WriteSpread(w io.Writer, all *Repeats, opts TextOptions) error {
	if err := WriteAsked(w, all.Runs[0], opts); err != nil {
		return err
	}
	p := newPage(opts)
	p.repeats(all)
	_, err := w.Write(p.out.Bytes())
	return err
}

// repeats draws the table over all runs.
func (p *page) repeats(all *Repeats) {
	p.line(p.paint(bold, fmt.Sprintf("over %d runs", len(all.Runs))))
	t := Table{Header: []string{"", "median", "interval", "min", "max", "spread", "n"}, Right: []bool{false, true, true, true, true, true, true}}
	confidence := 0.0
	for _, row := range repeatedRows {
		i := slices.IndexFunc(all.Metrics, func(m Repeated) bool { return m.Metric == row.key })
		if i < 0 {
			continue
		}
		m := all.Metrics[i]
		spread := "–"
		confidence = m.Confidence
		if m.Spread != nil {
			spread = percent(*m.Spread)
		}
		t.Rows = append(t.Rows, []string{row.name, row.text(m.Median), row.text(m.Low) + " … " + row.text(m.High), row.text(m.Min), row.text(m.Max), spread, strconv.Itoa(m.N)})
	}
	t.WriteTo(&p.out) //nolint:errcheck // a buffer
	if confidence > 0 {
		p.line(p.paint(faint, fmt.Sprintf("the interval holds the median of all runs there could be in %s of cases", percent(confidence))))
	}
	for i, r := range all.Runs {
		if v := r.Verdict(); !v.Trustworthy() {
			p.field("", p.paint(red, fmt.Sprintf("✗ run %d is not trustworthy: ", i+1))+v.Text)
		}
	}
}
