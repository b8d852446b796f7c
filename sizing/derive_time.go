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
	d.add("rate of other prompts", "rate × (1 − 1 ÷ requests at once)",
		fmt.Sprintf("%s/s × max(0, 1 − 1 ÷ %s)", figure(st.rate), figure(r.capacity/float64(r.facts.Pipeline))), st.meets, "requests/s", "a request keeps its own place from others")
	d.add("share of prefill", "rate of other prompts × prefill work", fmt.Sprintf("%s/s × %s", figure(st.meets), secondsFigure(st.workMean)), st.share, "", "work of the prompts in a second")
	d.add("step, mean", "decode step ÷ (1 − share of prefill)",
		fmt.Sprintf("%s ÷ (1 − %s)", secondsFigure(st.decode.Seconds), figure(st.share)), st.step, "s",
		"every step also carries the prompts that arrived during the one before")
}

// firstToken explains the queue for prefill and what the first token waits for.
func (d *derivations) firstToken(p *Plan, r replica, st state) {
	q := st.prompts
	step, share, rate := secondsFigure(st.decode.Seconds), figure(st.share), figure(st.meets)
	d.add("time that a prompt takes up", "prefill work + decode step × uncached tokens ÷ (token budget − batch)",
		fmt.Sprintf("%s + %s × %s ÷ max(1, %s − %s)", secondsFigure(st.workMean), step, figure(r.mix.input-r.mix.cached), figure(r.batched), figure(st.batch)),
		q.service, "s", "a prompt takes its share of the token budget of a step")
	d.add("queue utilization", "rate of other prompts × time that a prompt takes up", fmt.Sprintf("%s/s × %s", rate, secondsFigure(q.service)), q.busy, "", "M/G/1 queue")
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
	d.slots(st)
	d.outside(q)
	d.add("TTFT, mean", "own prefill + (1 − share that waits for a place) × prompts ahead + steps before its own + prompts behind + share × wait for a place + time outside of the engine",
		fmt.Sprintf("%s + (1 − %s) × %s + %s + %s + %s × %s + %s", secondsFigure(q.ownMean), figure(q.slots.waits), secondsFigure(q.ahead),
			secondsFigure(q.boundary), secondsFigure(q.behind), figure(q.slots.waits), secondsFigure(q.slots.mean), secondsFigure(q.outside)),
		p.Performance.TTFT.Mean, "s", "sum of the above")
	d.add("deviation of the wait", "√(ahead² + rate × E[S³] ÷ (3 × (1 − utilization)) + step² × share × (2 − share) ÷ 12 + 1.5 × rate × E[chunk²] × step ÷ (1 − share of prefill))",
		fmt.Sprintf("√(%s ms² + %s/s × %s ms² × 1 s ÷ (3 × (1 − %s)) + %s ms² × %s × (2 − %s) ÷ 12 + 1.5 × %s/s × %s ms² × %s ÷ (1 − %s))",
			figure(q.ahead*q.ahead*1e6), rate, figure(q.cube*1e6), figure(q.busy), figure(st.step*st.step*1e6), share, share,
			rate, figure(q.chunks*1e6), secondsFigure(st.step), share),
		math.Sqrt(q.wait.variance), "s", "Takács; E[S³] and E[chunk²], the work of a prompt in one step squared, are means over the prompts' lengths")
	d.note("TTFT, p99", "time outside of the engine + own prefill + any part of the running step + prompts ahead and behind, a gamma distribution of this deviation; or + the wait for a place, exponential; at 99%",
		"inverted over the prompts' lengths", p.Performance.TTFT.P99, "s", "Wilson and Hilferty's normal approximation")
}

// slots explains the wait for a place.
func (d *derivations) slots(st state) {
	q := st.prompts.slots
	if q.waits == 0 {
		d.note("share that waits for a place", "P(sequences ≥ places)", "less than 1 in 10,000: places are plenty", 0, "", "queue M/G/c")
		return
	}
	d.note("rate with all places taken", "closed loop of as many clients as there are places", fmt.Sprintf("%s places", figure(q.places)), q.most, "requests/s", "KV cache, max_num_seqs")
	d.add("load of the places", "rate ÷ rate with all places taken", fmt.Sprintf("%s/s ÷ %s/s", figure(st.rate), figure(q.most)), q.load, "", "at 1 requests pile up for ever")
	d.note("share that waits for a place", "P(N = places) ÷ (1 − load) ÷ (P(N < places) + P(N = places) ÷ (1 − load)), N the sequences without a limit",
		fmt.Sprintf("N has the mean %s and the deviation %s", figure(st.held.mean), figure(math.Sqrt(st.held.variance))), q.waits, "", "Erlang C, with this N")
	d.add("wait of those that wait for a place", "(1 + variation² of stays) ÷ 2 ÷ (rate with all places taken × (1 − load))",
		fmt.Sprintf("(1 + %s) ÷ 2 ÷ (%s/s × (1 − %s))", figure(q.varying), figure(q.most), figure(q.load)), q.mean, "s", "M/G/c, Lee and Longton")
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
	d.add("prompts left behind", "share of prefill × (TTFT of those that find a place − time outside of the engine) − prompts behind",
		fmt.Sprintf("%s × (%s − %s) − %s", share, secondsFigure(q.foundMean()), secondsFigure(q.outside), secondsFigure(q.behind)), q.backlog.mean, "s",
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
