package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing/cost"
)

// step explains a step without prefill at the planned load.
func (d *derivations) step(s *situation, r replica, st state) {
	c, step := r.constants, st.decode
	memory := bytesFigure(step.Bytes) + " ÷ " + bandwidthFigure(s.device.BandwidthBytesPerS)
	operations := fmt.Sprintf("%s ÷ %s + %s ÷ %s", operationsFigure(step.Operations-step.Attention), rateFigure(cost.Rate(s.device, r.facts.WeightBit)),
		operationsFigure(step.Attention), rateFigure(cost.Rate(s.device, 16)))
	d.add("decode step", "a × layers + e × bytes ÷ bandwidth + m × (products ÷ rate + attention ÷ 16-bit rate) + collectives",
		fmt.Sprintf("%s × %d + %s × %s + %s × (%s) + %s", secondsFigure(c.PerLayerS), r.facts.Layers, setting(c.MemoryFactor), memory,
			setting(c.ComputeFactor), operations, secondsFigure(step.Collective)),
		step.Seconds, "s", fmt.Sprintf("constants: %s; typical error %.0f%%", c.Source, c.Error*100))
	d.add("roofline limit of the decode step", "max(bytes ÷ bandwidth, products ÷ rate + attention ÷ 16-bit rate)",
		fmt.Sprintf("max(%s, %s)", memory, operations), step.Limit, "s", s.device.Source)
}

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

// fleet explains replicas.
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
	}
}
