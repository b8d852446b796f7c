package servermetrics

import (
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/llmctl/llmctl/reports/record"
)

// page is the families of a Prometheus page, by plain name.
type page struct {
	families map[string]*dto.MetricFamily
	model    string // series of other models do not count; empty when none is chosen
}

func newPage(families map[string]*dto.MetricFamily, model string) *page {
	p := &page{families: make(map[string]*dto.MetricFamily, len(families))}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		key := plain(name)
		if _, taken := p.families[key]; taken && !strings.HasSuffix(name, "_total") {
			continue // of several metrics that are alike, always the same one counts
		}
		p.families[key] = families[name]
	}
	if model != "" && p.knows(model) {
		p.model = model
	}
	return p
}

// modelLabel is the label by which vLLM, SGLang and TensorRT-LLM name the model.
const modelLabel = "model_name"

// knows reports whether a series of the table is labelled with the model.
func (p *page) knows(model string) bool {
	labelled := func(name string) bool {
		base, _, _, _ := splitName(name)
		return slices.ContainsFunc(p.families[plain(base)].GetMetric(), func(m *dto.Metric) bool { return label(m, modelLabel) == model })
	}
	for _, names := range []map[string][]string{numberNames, timingNames} {
		for _, list := range names {
			if slices.ContainsFunc(list, labelled) {
				return true
			}
		}
	}
	return false
}

// splitName takes name{label=value} apart; chosen is false without a label.
func splitName(name string) (base, key, value string, chosen bool) {
	base, choice, chosen := strings.Cut(strings.TrimSuffix(name, "}"), "{")
	key, value, _ = strings.Cut(choice, "=")
	return base, key, value, chosen
}

// series are those of a metric that count: of the model, with the label asked
// for, one for all ranks that say the same.
func (p *page) series(name string) []*dto.Metric {
	base, key, want, chosen := splitName(name)
	var out []*dto.Metric
	groups := map[string]int{} // index in out
	for _, m := range p.families[plain(base)].GetMetric() {
		if chosen && label(m, key) != want {
			continue
		}
		if of := label(m, modelLabel); p.model != "" && of != "" && of != p.model {
			continue
		}
		group, ranked := groupOf(m)
		if at, seen := groups[group]; ranked && seen {
			if larger(m, out[at]) {
				out[at] = m
			}
			continue
		}
		groups[group] = len(out)
		out = append(out, m)
	}
	return out
}

// ranks are labels of the members of one model-parallel group, which work on
// the same requests: with --enable-metrics-for-all-schedulers, SGLang exports a
// series of each.
var ranks = []string{"tp_rank", "pp_rank", "moe_ep_rank"}

// groupOf names all labels of a series except its rank.
func groupOf(m *dto.Metric) (group string, ranked bool) {
	var b strings.Builder
	for _, l := range m.GetLabel() {
		if slices.Contains(ranks, l.GetName()) {
			ranked = true
			continue
		}
		b.WriteString(l.GetName() + "\x00" + l.GetValue() + "\x00")
	}
	return b.String(), ranked
}

func larger(a, b *dto.Metric) bool {
	if a.Histogram != nil && b.Histogram != nil {
		return a.Histogram.GetSampleCount() > b.Histogram.GetSampleCount()
	}
	x, okx := value(a)
	y, oky := value(b)
	return okx && (!oky || x > y)
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// number is the sum of the series of the first name that the page has, of
// shares their mean; NaN when it has none.
func (p *page) number(names []string, share bool) float64 {
	for _, name := range names {
		total, n := 0.0, 0
		for _, m := range p.series(name) {
			if v, ok := value(m); ok {
				total += v
				n++
			}
		}
		switch {
		case n == 0:
		case share:
			return total / float64(n)
		default:
			return total
		}
	}
	return math.NaN()
}

// value is the number that a series says, for a histogram or a summary the sum
// of what it has seen (TGI counts tokens that way). What is no number is not
// said.
func value(m *dto.Metric) (v float64, ok bool) {
	switch {
	case m.Gauge != nil:
		v = m.Gauge.GetValue()
	case m.Counter != nil:
		v = m.Counter.GetValue()
	case m.Untyped != nil:
		v = m.Untyped.GetValue()
	case m.Histogram != nil:
		v = m.Histogram.GetSampleSum()
	case m.Summary != nil:
		v = m.Summary.GetSampleSum()
	default:
		return 0, false
	}
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

// histogram adds up the series of the first name that the page has; nil when it
// has none, or when their buckets differ.
func (p *page) histogram(names []string) *record.Histogram {
	for _, name := range names {
		var total *record.Histogram
		for _, m := range p.series(name) {
			h, ok := toHistogram(m.GetHistogram())
			if ok && total != nil {
				h, ok = total.Add(h)
			}
			if !ok {
				return nil
			}
			total = h
		}
		if total != nil {
			return total
		}
	}
	return nil
}

// toHistogram reads the buckets of a series; ok is false when they make no
// sense.
func toHistogram(m *dto.Histogram) (h *record.Histogram, ok bool) {
	if m == nil || len(m.GetBucket()) == 0 {
		return nil, false
	}
	h = &record.Histogram{Sum: m.GetSampleSum()}
	for _, b := range m.GetBucket() {
		h.Bounds = append(h.Bounds, b.GetUpperBound())
		h.Counts = append(h.Counts, float64(b.GetCumulativeCount()))
	}
	if !math.IsInf(h.Bounds[len(h.Bounds)-1], 1) { // a page may leave the last bucket to _count
		h.Bounds = append(h.Bounds, math.Inf(1))
		h.Counts = append(h.Counts, float64(m.GetSampleCount()))
	}
	return h, h.Valid()
}
