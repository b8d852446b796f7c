package sizing

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// state explains the fixed state of linear attention.
func (d *derivations) state(s *situation, p *Plan) {
	if p.Model.StateBytesPerSequence == 0 {
		return
	}
	var terms []string
	for _, k := range stateKinds(s.model, s.format.Base, 1) {
		terms = append(terms, fmt.Sprintf("%d × %s B", k.layers, units.Count(k.bytes)))
	}
	d.add("state per sequence", "layers of linear attention × bytes of their state", strings.Join(terms, " + "), float64(p.Model.StateBytesPerSequence), "B",
		"config.json: the linear layers' heads and widths")
}

// quantiles names the percentiles that no line above has explained: they come
// from distributions. In a closed loop that is all of them.
func (d *derivations) quantiles(p *Plan, closed bool) {
	q := p.Performance
	for _, t := range []struct {
		name, how, source string
		times             Quantiles
		tail              bool
	}{
		{"TTFT", "the time where the distribution of own prefill plus wait reaches it", "mixture over the prompts' lengths, gamma distribution of the wait", q.TTFT, closed},
		{"TPOT", "the time where the distribution of steps and prompts of others reaches it", "mixture over the outputs' lengths, a gamma distribution each", q.TPOT, closed},
		{"E2E", "the time where the distribution of TTFT + TPOT × (output tokens − 1) reaches it", "lengths, first token and luck taken as independent", q.E2E, true},
	} {
		d.note(t.name+", p50", t.how, "found by bisection", t.times.P50, "s", t.source)
		if t.tail {
			d.note(t.name+", p99", t.how, "found by bisection", t.times.P99, "s", t.source)
		}
	}
}

// throughput explains rates in tokens, and how near the step is to its limit.
func (d *derivations) throughput(p *Plan, r replica) {
	q := p.Performance
	rate := figure(q.RPS) + "/s"
	d.add("prefill rate", "rate × (input tokens − cached tokens)",
		fmt.Sprintf("%s × (%s − %s)", rate, figure(r.mix.input), figure(r.mix.cached)), q.PrefillTokensPS, "tokens/s", "per replica")
	d.add("output rate", "rate × output tokens", fmt.Sprintf("%s × %s", rate, figure(r.mix.output)), q.OutputTokensPS, "tokens/s", "per replica")
	d.add("share of the roofline", "roofline limit ÷ decode step",
		fmt.Sprintf("%s ÷ %s", secondsFigure(q.StepLimit), secondsFigure(q.StepLimit/q.RooflineFraction)), q.RooflineFraction, "",
		"the limit is no forecast; this is how much of it is reached")
	d.errors(q)
}

// errors explains how far to trust the times.
func (d *derivations) errors(q *Performance) {
	for _, e := range []struct {
		of     string
		spread Spread
	}{{"the step model", q.Error.Spread}, {"TTFT", q.Error.TTFT}} {
		suffix := ""
		if e.of == "TTFT" {
			suffix = " of TTFT"
		}
		held := e.spread.HeldOut()
		d.note("error of "+e.of, "median of |predicted ÷ measured − 1|", "measured on "+held, e.spread.Relative, "", q.Error.Source)
		d.note("low end of 80%"+suffix, "10th percentile of measured ÷ predicted", "measured on "+held, e.spread.Low, "", q.Error.Source)
		d.note("high end of 80%"+suffix, "90th percentile of measured ÷ predicted", "measured on "+held, e.spread.High, "", q.Error.Source)
	}
	first, all := secondsFigure(q.TTFT.Mean), secondsFigure(q.E2E.Mean)
	for _, e := range []struct {
		end        string
		ttft, step float64
		value      float64
	}{{"low", q.Error.TTFT.Low, q.Error.Low, q.Error.E2E.Low}, {"high", q.Error.TTFT.High, q.Error.High, q.Error.E2E.High}} {
		d.add(e.end+" end of 80% of E2E", "(TTFT × "+e.end+" end of TTFT + (E2E − TTFT) × "+e.end+" end) ÷ E2E",
			fmt.Sprintf("(%s × %s + (%s − %s) × %s) ÷ %s", first, setting(e.ttft), all, first, setting(e.step), all), e.value, "",
			"both parts off in the same direction, the wider of what may be")
	}
}

// load explains how the fleet is loaded.
func (d *derivations) load(p *Plan) {
	f, in, q := p.Fleet, p.Inputs, p.Performance
	switch {
	case in.RPS > 0:
		d.note("rate of the fleet", "as asked", "a setting", f.RPS, "requests/s", "--rps")
	case in.Concurrency > 0:
		d.note("rate of the fleet", "replicas × the rate at which each has its share in flight, at most its planned rate", "found by bisection", f.RPS, "requests/s", "Little's law")
	case in.Count > 0:
		d.add("rate of the fleet", "replicas × largest rate × target utilization",
			fmt.Sprintf("%d × %s/s × %s", f.Replicas, figure(q.MaxRPS), setting(in.TargetUtilization)), f.RPS, "requests/s", "--count, --target-utilization")
	default:
		d.add("rate of the fleet", "largest rate × target utilization",
			fmt.Sprintf("%s/s × %s", figure(q.MaxRPS), setting(in.TargetUtilization)), f.RPS, "requests/s", "--target-utilization")
	}
	d.add("rate per replica", "rate of the fleet ÷ replicas", fmt.Sprintf("%s/s ÷ %d", figure(f.RPS), f.Replicas), q.RPS, "requests/s", "an even split")
	d.add("accelerators", "replicas × TP × PP"+strings.ReplaceAll(dataFormula(in), "data-parallel ranks", "DP"),
		fmt.Sprintf("%d × %d × %d", f.Replicas, in.TensorParallel, in.PipelineParallel)+dataRanks(in), float64(f.Accelerators), "accelerators", "--tp, --pp")
}
