package sizing

import (
	"fmt"
	"math"
)

// steps explains the mean step, which carries the prompts that arrive meanwhile.
func (d *derivations) steps(r replica, st state) {
	d.note("prefill work per request", "launches + √((memory + cache)² + (compute + operations)²) − √(memory² + compute²) + collectives",
		fmt.Sprintf("beside the decode step; mean over the prompts' lengths, of which %s tokens on average are not cached", figure(r.mix.input-r.mix.cached)),
		st.workMean, "s", "same constants")
	d.add("share of prefill", "rate × prefill work", fmt.Sprintf("%s/s × %s", figure(st.rate), secondsFigure(st.workMean)), st.share, "", "work of the prompts in a second")
	d.add("step, mean", "decode step ÷ (1 − share of prefill)",
		fmt.Sprintf("%s ÷ (1 − %s)", secondsFigure(st.decode.Seconds), figure(st.share)), st.step, "s",
		"every step also carries the prompts that arrived during the one before")
}

// firstToken explains the queue for prefill and what the first token waits for.
func (d *derivations) firstToken(p *Plan, r replica, st state) {
	q := st.prompts
	step, share, rate := secondsFigure(st.decode.Seconds), figure(st.share), figure(st.rate)
	d.add("time that a prompt takes up", "prefill work + decode step × uncached tokens ÷ (token budget − batch)",
		fmt.Sprintf("%s + %s × %s ÷ max(1, %s − %s)", secondsFigure(st.workMean), step, figure(r.mix.input-r.mix.cached), figure(r.batched), figure(st.batch)),
		q.service, "s", "a prompt takes its share of the token budget of a step")
	d.add("queue utilization", "rate × time that a prompt takes up", fmt.Sprintf("%s/s × %s", rate, secondsFigure(q.service)), q.busy, "", "M/G/1 queue")
	d.add("prompts ahead", "rate × E[S²] ÷ (2 × (1 − utilization)), S the time that a prompt takes up",
		fmt.Sprintf("%s/s × %s ms² ÷ (2 × (1 − %s))", rate, figure(q.square*1e6), figure(q.busy)), q.ahead, "s",
		"Pollaczek–Khinchine; E[S²] is a mean over the prompts' lengths")
	d.note("chance that the engine is at work", "1 − e^−batch × (1 − utilization)", "nothing decodes with the chance e^−batch", q.working, "", "Poisson batch")
	d.note("decodes counted with the prompts ahead", "prompts ahead − rate × E[prefill work²] ÷ (2 × (1 − share of prefill))",
		"a difference of means over the prompts' lengths", q.counted, "s", "the share of decodes in S")
	d.add("steps before its own", "chance × (decode step ÷ 2 + max(0, share of prefill × step − decodes counted))",
		fmt.Sprintf("%s × (%s ÷ 2 + max(0, %s × %s − %s))", figure(q.working), step, share, secondsFigure(st.step), secondsFigure(q.counted)), q.boundary, "s",
		"gated queue: decodes of the running step, and of those that carry the prompts ahead")
	d.note("prompts behind", "share of prefill × (chance × rest of the running step + own steps but the last), at most the room in the last",
		"mean over the prompts' lengths", q.behind, "s", "prompts that come later and are in its last step, which ends for all at once")
	d.note("own prefill", "prefill work + ⌈uncached tokens ÷ (token budget − batch)⌉ × decode step", "mean over the prompts' lengths", q.ownMean, "s", "chunked prefill")
	d.outside(q)
	d.add("TTFT, mean", "own prefill + prompts ahead + steps before its own + prompts behind + time outside of the engine",
		fmt.Sprintf("%s + %s + %s + %s + %s", secondsFigure(q.ownMean), secondsFigure(q.ahead), secondsFigure(q.boundary), secondsFigure(q.behind), secondsFigure(q.outside)),
		p.Performance.TTFT.Mean, "s", "sum of the above")
	d.add("deviation of the wait", "√(ahead² + rate × E[S³] ÷ (3 × (1 − utilization)) + step² ÷ 12 + rate × E[chunk²] × step ÷ (1 − share of prefill))",
		fmt.Sprintf("√(%s ms² + %s/s × %s ms² × 1 s ÷ (3 × (1 − %s)) + %s ms² ÷ 12 + %s/s × %s ms² × %s ÷ (1 − %s))",
			figure(q.ahead*q.ahead*1e6), rate, figure(q.cube*1e6), figure(q.busy), figure(st.step*st.step*1e6),
			rate, figure(q.chunks*1e6), secondsFigure(st.step), share),
		math.Sqrt(q.wait.variance), "s", "Takács; E[S³] and E[chunk²], the work of a prompt in one step squared, are means over the prompts' lengths")
	d.note("TTFT, p99", "own prefill + steps before its own + time outside of the engine + prompts ahead and behind, a gamma distribution of this mean and deviation, at 99%",
		"inverted over the prompts' lengths", p.Performance.TTFT.P99, "s", "Wilson and Hilferty's normal approximation")
}

// outside explains what a request takes beside its steps.
func (d *derivations) outside(q promptQueue) {
	d.note("time outside of the engine", "web server, tokenizer and the way to the client", "a fitted constant", q.outside, "s",
		"same constants; it differs much between installations")
}

// tokens explains the time per token and the batch, which depend on each other.
func (d *derivations) tokens(p *Plan, r replica, st state) {
	q := st.prompts
	share := figure(st.share)
	_, perToken := r.mix.settled(st.share)
	d.add("prompts left behind", "share of prefill × (TTFT − time outside of the engine) − prompts behind",
		fmt.Sprintf("%s × (%s − %s) − %s", share, secondsFigure(q.first.mean), secondsFigure(q.outside), secondsFigure(q.behind)), q.backlog.mean, "s",
		"work that arrived during the time to first token and is still to be done")
	d.add("delay after the first token", "(prompts left behind − share of prefill × step) ÷ (1 − share of prefill)",
		fmt.Sprintf("(%s − %s × %s) ÷ (1 − %s)", secondsFigure(q.backlog.mean), share, secondsFigure(st.step), share), st.delay, "s",
		"beyond what a mean step brings, with the prompts that arrive meanwhile")
	d.add("TPOT, mean", "step + delay × E[(1 − share^m) ÷ m], m the tokens after the first",
		fmt.Sprintf("%s + %s × %s", secondsFigure(st.step), secondsFigure(st.delay), figure(perToken)), p.Performance.TPOT.Mean, "s",
		"mean over the outputs' lengths; short outputs feel the delay most")
	d.add("batch", "rate × ((output tokens − 1) × step + delay × E[1 − share^m])",
		fmt.Sprintf("%s/s × ((%s − 1) × %s + %s × %s)", figure(p.Performance.RPS), figure(r.mix.output), secondsFigure(st.step), secondsFigure(st.delay), figure(st.settled)),
		p.Performance.Batch, "sequences", "Little's law")
	d.note("TPOT, p99", "step + arriving prompts, prompts left behind and the batch met, at 99%",
		"inverted over the outputs' lengths", p.Performance.TPOT.P99, "s", "a gamma distribution per length, from mean and deviation")
	d.add("E2E, mean", "TTFT + batch ÷ rate", fmt.Sprintf("%s + %s ÷ %s/s", secondsFigure(p.Performance.TTFT.Mean), figure(st.batch), figure(st.rate)),
		p.Performance.E2E.Mean, "s", "Little's law")
}

// largest explains the largest rate.
func (d *derivations) largest(p *Plan) {
	d.note("largest rate per replica", "largest rate at which every clause holds at the attainment",
		"bisection; stopped by: "+p.Performance.Bound, p.Performance.MaxRPS, "requests/s", "SLO")
}
