package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
)

// tokens explains the time per token and the batch, which depend on each other.
func (d *derivations) tokens(p *Plan, r replica, st state) {
	d.note("prefill work per request", "e × cache bytes ÷ bandwidth + m × operations ÷ rate + collectives",
		fmt.Sprintf("mean over the prompts' lengths, of which %s tokens on average are not cached", figure(r.mix.input-r.mix.cached)), st.workMean, "s", "same constants")
	d.add("TPOT, mean", "decode step ÷ (1 − rate × prefill work)",
		fmt.Sprintf("%s ÷ (1 − %s/s × %s)", secondsFigure(st.decode.Seconds), figure(st.rate), secondsFigure(st.workMean)), st.step, "s",
		"every step also carries the prompts that arrive meanwhile")
	d.add("batch", "rate × output tokens × TPOT",
		fmt.Sprintf("%s/s × %s × %s", figure(p.Performance.RPS), figure(r.mix.output), secondsFigure(st.step)), p.Performance.Batch, "sequences", "Little's law")
}

// firstToken explains the queue for prefill and what the first token waits for.
func (d *derivations) firstToken(p *Plan, r replica, st state) {
	step, work := secondsFigure(st.decode.Seconds), secondsFigure(st.workMean)
	d.add("time that a prompt takes up", "prefill work + decode step × uncached tokens ÷ (token budget − batch)",
		fmt.Sprintf("%s + %s × %s ÷ max(1, %s − %s)", work, step, figure(r.mix.input-r.mix.cached), figure(r.batched), figure(st.batch)),
		st.service, "s", "a prompt takes its share of the token budget of a step")
	d.add("queue utilization", "rate × time that a prompt takes up", fmt.Sprintf("%s/s × %s", figure(st.rate), secondsFigure(st.service)), st.busy, "", "M/G/1 queue")
	d.add("wait of the prompts that wait", "E[S²] ÷ (2 × E[S] × (1 − utilization)), S the time that a prompt takes up",
		fmt.Sprintf("%s ms² ÷ (2 × %s × (1 − %s))", figure(st.square*1e6), secondsFigure(st.service), figure(st.busy)), st.waitMean, "s",
		"Pollaczek–Khinchine; E[S²] is a mean over the prompts' lengths")
	steps := (st.ownMean() - st.decode.Seconds/2 - st.workMean) / st.decode.Seconds
	d.add("TTFT, mean", "rest of the running step + own prefill + own steps × decode step + queue utilization × wait",
		fmt.Sprintf("%s ÷ 2 + %s + %s × %s + %s × %s", step, work, figure(steps), step, figure(st.busy), secondsFigure(st.waitMean)),
		p.Performance.TTFT.Mean, "s", "own steps: ⌈uncached tokens ÷ (token budget − batch)⌉, mean over the prompts")
	d.add("E2E, mean", "TTFT + TPOT × (output tokens − 1)",
		fmt.Sprintf("%s + %s × (%s − 1)", secondsFigure(p.Performance.TTFT.Mean), secondsFigure(st.step), figure(r.mix.output)), p.Performance.E2E.Mean, "s",
		"the first token comes with the prefill")
	d.note("largest rate per replica", "largest rate at which every clause holds at the attainment",
		"bisection; stopped by: "+p.Performance.Bound, p.Performance.MaxRPS, "requests/s", "SLO")
}

// fleet explains replicas and money.
func (d *derivations) fleet(p *Plan, r replica) {
	f, in := p.Fleet, p.Inputs
	planned := p.Performance.MaxRPS * in.TargetUtilization
	if in.RPS > 0 {
		d.add("replicas", "⌈rate ÷ (largest rate × target utilization)⌉",
			fmt.Sprintf("⌈%s/s ÷ (%s/s × %s)⌉", figure(in.RPS), figure(p.Performance.MaxRPS), setting(in.TargetUtilization)), float64(f.Replicas), "replicas", "--rps")
	} else if in.Concurrency > 0 {
		d.add("replicas", "⌈requests in flight ÷ (largest rate × target utilization × E2E at that rate)⌉",
			fmt.Sprintf("⌈%s ÷ (%s/s × %s × %s)⌉", units.Count(int64(in.Concurrency)), figure(p.Performance.MaxRPS), setting(in.TargetUtilization), secondsFigure(r.at(planned).e2e(r))),
			float64(f.Replicas), "replicas", "--concurrency and Little's law")
	} else {
		d.note("replicas", "one", "no load was said", 1, "replicas", "--rps or --concurrency")
	}
	d.load(p)
	if f.USDPerHour == 0 {
		return
	}
	d.add("cost per hour", "replicas × accelerators × price",
		fmt.Sprintf("%d × %d × %s", f.Replicas, f.Accelerators/f.Replicas, dollars(in.USDPerAcceleratorHour)), f.USDPerHour, "$/h", in.PriceSource)
	for _, c := range []struct {
		name   string
		tokens float64 // per request
		cost   float64
	}{
		{"input tokens", in.InputTokens, f.USDPer1MIn}, {"output tokens", in.OutputTokens, f.USDPer1MOut},
		{"tokens, in and out", in.InputTokens + in.OutputTokens, f.USDPer1M},
	} {
		d.add("cost per 1M "+c.name, "whole cost per hour ÷ (rate × tokens of this kind × 3600 s) × 1,000,000",
			fmt.Sprintf("%s ÷ (%s/s × %s × 3600 s) × 1,000,000", dollars(f.USDPerHour), figure(f.RPS), figure(c.tokens)), c.cost, "$",
			"at the planned load; the whole bill divided by one kind of tokens, so that the three can not be added")
	}
}
