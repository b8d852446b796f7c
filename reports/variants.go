package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/stats"
)

// VariantsSchema names the form of a scenario run in several variants.
const VariantsSchema = "llmctl/variants/v1"

// VariantRuns are the runs of one variant: of the same scenario, each with another
// seed.
type VariantRuns struct {
	Name string    `json:"name"` // the value of the setting, as the reader knows it
	Runs []*Report `json:"runs"`
}

// Variants are the variants of a scenario side by side. The first is the base that
// the others are compared with.
type Variants struct {
	Schema   string          `json:"schema"`
	Setting  string          `json:"setting"` // what differs
	Metrics  []VariantMetric `json:"metrics"`
	Variants []VariantRuns   `json:"variants"`
}

// VariantMetric is one metric over the runs of each variant.
type VariantMetric struct {
	Metric string         `json:"metric"` // key, with the unit at its end
	Values []VariantValue `json:"values"` // in the order of the variants
}

// VariantValue is one metric of one variant. Runs are compared, not requests: those
// of one run are not independent of each other.
type VariantValue struct {
	N int `json:"n"` // runs that have it
	// Median, and the interval that holds that of all seeds with Confidence: the
	// narrowest one with 0.95, which takes six runs; else all that was seen.
	Median     *float64 `json:"median,omitempty"`
	Low        *float64 `json:"low,omitempty"`
	High       *float64 `json:"high,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`

	Change      *float64 `json:"change,omitempty"`      // of the median, relative to the base's; absent in the base
	P           *float64 `json:"p,omitempty"`           // of Mann and Whitney against the runs of the base
	Significant *bool    `json:"significant,omitempty"` // p < 0.05; absent where too few runs can not show it
}

const (
	variantConfidence  = 0.95
	variantSignificant = 0.05
)

// variantRows are the metrics that variants are compared by.
var variantRows = slices.Concat(repeatedRows, []repeatedRow{
	{"icl max", "icl_max_s", func(r *Report) *float64 { return percentileOf(r.ICL, func(d *stats.Dist) float64 { return d.Max }) }, units.Seconds},
	{"prefix hit rate", "prefix_hit_rate", func(r *Report) *float64 {
		if r.PrefixCache == nil {
			return nil
		}
		return &r.PrefixCache.HitRate
	}, percent},
	{"queue mean", "queue_mean", func(r *Report) *float64 { return gaugeMean(r, func(s *Server) *Gauge { return s.Queue }) }, units.Number},
	{"running mean", "running_mean", func(r *Report) *float64 { return gaugeMean(r, func(s *Server) *Gauge { return s.Running }) }, units.Number},
	{"KV usage mean", "kv_usage_mean", func(r *Report) *float64 { return gaugeMean(r, func(s *Server) *Gauge { return s.KVUsage }) }, percent},
	{"preemptions", "preemptions", func(r *Report) *float64 {
		if r.Server == nil {
			return nil
		}
		return r.Server.Preemptions
	}, units.Number},
	{"unread tokens", "unread_tokens", func(r *Report) *float64 {
		if r.Tokens.Unread == nil {
			return nil
		}
		return ratio(float64(*r.Tokens.Unread), 1)
	}, units.Number},
	{"$ per hour", "usd_per_hour", func(r *Report) *float64 {
		if r.Cost == nil {
			return nil
		}
		return &r.Cost.USDPerHour
	}, dollars},
	{"$ per 1M output", "usd_per_1m_output_tokens", func(r *Report) *float64 {
		if r.Cost == nil {
			return nil
		}
		return r.Cost.USDPer1MOutput
	}, dollars},
})

func gaugeMean(r *Report, of func(*Server) *Gauge) *float64 {
	if r.Server == nil || of(r.Server) == nil {
		return nil
	}
	return &of(r.Server).Mean
}

// NewVariants lays the variants of a scenario side by side; setting names what
// differs. A metric that no run has is left out.
func NewVariants(setting string, variants []VariantRuns) *Variants {
	all := &Variants{Schema: VariantsSchema, Setting: setting, Variants: variants, Metrics: []VariantMetric{}}
	for _, row := range variantRows {
		m := VariantMetric{Metric: row.key}
		known := 0
		var base []float64
		for i, v := range variants {
			values := row.values(v.Runs)
			if i == 0 {
				base = values
			}
			known += len(values)
			m.Values = append(m.Values, variantValue(values, base, i == 0))
		}
		if known > 0 {
			all.Metrics = append(all.Metrics, m)
		}
	}
	return all
}

// variantValue sums up the values of a variant, and compares them with the base's.
func variantValue(values, base []float64, isBase bool) VariantValue {
	out := VariantValue{N: len(values)}
	if len(values) == 0 {
		return out
	}
	median := rounded(stats.Percentile(values, 50))
	low, high, confidence := stats.MedianInterval(values, variantConfidence)
	out.Median, out.Low, out.High, out.Confidence = &median, &low, &high, ratio(confidence, 1)
	if isBase || len(base) == 0 {
		return out
	}
	was := stats.Percentile(base, 50)
	out.Change = ratio(median-was, was)
	p := stats.MannWhitney(values, base)
	out.P = ratio(p, 1)
	if canShow(len(values), len(base)) {
		significant := p < variantSignificant
		out.Significant = &significant
	}
	return out
}

// Doubt is why no run of any variant can be trusted, in the words of the first;
// empty when one can.
func (all *Variants) Doubt() string {
	why := ""
	for _, v := range all.Variants {
		for _, r := range v.Runs {
			verdict := r.Verdict()
			if verdict.Trustworthy() {
				return ""
			}
			why = cmp.Or(why, fmt.Sprintf("no run can be trusted; of %s %s: %s", all.Setting, v.Name, verdict.Text))
		}
	}
	return why
}

// Broken says of each variant which objectives and assertions that the user gave did
// not hold in all of its runs.
func (all *Variants) Broken() (out []string) {
	for _, v := range all.Variants {
		if len(v.Runs) == 0 {
			continue // interrupted before
		}
		missed, why := 0, ""
		for _, r := range v.Runs {
			if s := r.SLO; s != nil && !s.Default && s.OK != nil && !*s.OK {
				missed++
				why = s.missed()
			}
		}
		if missed > 0 {
			out = append(out, fmt.Sprintf("%s %s: SLO missed in %d of %s, in the last of them %s", all.Setting, v.Name, missed, count(len(v.Runs), "run"), why))
		}
		for i, a := range v.Runs[0].Asserts {
			not, measured := 0, ""
			for _, r := range v.Runs {
				if got := r.Asserts[i]; !got.OK {
					not++
					measured = cmp.Or(got.measured(), got.Reason)
				}
			}
			if not > 0 {
				out = append(out, fmt.Sprintf("%s %s: %s did not hold in %d of %s, %s in the last of them", all.Setting, v.Name, a.Text, not, count(len(v.Runs), "run"), measured))
			}
		}
	}
	return out
}

// canShow reports whether so many runs of each can be significantly apart at all:
// with all of one above all of the other.
func canShow(n, m int) bool {
	all := make([]float64, n+m)
	for i := range all {
		all[i] = float64(i)
	}
	return stats.MannWhitney(all[:n], all[n:]) < variantSignificant
}
