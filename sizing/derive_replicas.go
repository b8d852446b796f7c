package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
)

// replicas explains how many replicas there are.
func (d *derivations) replicas(p *Plan, r replica) {
	f, in := p.Fleet, p.Inputs
	needed := float64(f.Replicas - in.Spare)
	planned := fmt.Sprintf("%s/s × %s", figure(p.Performance.MaxRPS), setting(in.TargetUtilization))
	name := "replicas"
	if in.Spare > 0 {
		name = "replicas that carry the load"
	}
	switch {
	case in.Count > 0:
		name = "replicas"
		d.add(name, "⌊accelerators ÷ (tensor × pipeline × data parallel)⌋",
			fmt.Sprintf("⌊%d ÷ (%d × %d × %d)⌋", in.Count, in.TensorParallel, in.PipelineParallel, in.DataParallel), float64(f.Replicas), name, "--count")
	case in.RPS > 0:
		d.add(name, "⌈rate ÷ (largest rate × target utilization)⌉", fmt.Sprintf("⌈%s/s ÷ (%s)⌉", figure(in.RPS), planned), needed, "replicas", "--rps")
	case in.Concurrency > 0:
		d.add(name, "⌈requests in flight ÷ (largest rate × target utilization × E2E at that rate)⌉",
			fmt.Sprintf("⌈%s ÷ (%s × %s)⌉", units.Count(int64(in.Concurrency)), planned, secondsFigure(r.at(p.Performance.MaxRPS*in.TargetUtilization).e2e())),
			needed, "replicas", "--concurrency and Little's law")
	default:
		d.note(name, "one", "no load was said", needed, "replicas", "--rps or --concurrency")
	}
	d.replicaRange(p)
	if in.Spare > 0 && in.Count == 0 {
		d.add("replicas", "those that carry the load + spare", fmt.Sprintf("%d + %d", f.Needed, in.Spare), float64(f.Replicas), "replicas", "--spare")
	}
	utilization := func(name string, replicas int, value float64, source string) {
		d.add(name, "rate ÷ (replicas × largest rate)",
			fmt.Sprintf("%s/s ÷ (%d × %s/s)", figure(f.RPS), replicas, figure(p.Performance.MaxRPS)), value, "", source)
	}
	utilization("utilization", f.Replicas, f.Utilization, "all replicas share the load")
	if in.Spare > 0 {
		utilization("utilization with failures", f.Needed, f.UtilizationWithFailures, "the spare replicas have failed")
	}
}

// closedLoop explains the times of a fixed number of clients.
func (d *derivations) closedLoop(p *Plan, r replica, st state) {
	q, t := st.prompts, p.Performance
	clients := float64(p.Inputs.Concurrency) / float64(p.Fleet.Replicas*r.facts.Pipeline)
	capacity := r.capacity / float64(r.facts.Pipeline)
	rate, share, step := figure(st.rate), figure(st.share), secondsFigure(st.step)
	inside := fmt.Sprintf("min(%s, %s)", figure(clients), figure(capacity))
	d.note("rate", "clients ÷ E2E", "bisection: the times depend on the rate", st.rate*float64(r.facts.Pipeline), "requests/s", "--concurrency, Little's law")
	d.note("prefill work per request", "launches + √((memory + cache)² + (compute + operations)²) − √(memory² + compute²) + collectives",
		fmt.Sprintf("beside the decode step; mean over the prompts' lengths, of which %s tokens on average are not cached", figure(r.mix.input-r.mix.cached)), st.workMean, "s", "same constants")
	d.add("share of prefill", "rate × prefill work", fmt.Sprintf("%s/s × %s", rate, secondsFigure(st.workMean)), st.share, "", "Little's law")
	d.add("step, mean", "decode step × (1 − share of prefill ÷ requests in the engine) ÷ (1 − share of prefill)",
		fmt.Sprintf("%s × (1 − %s ÷ max(1, %s)) ÷ (1 − %s)", secondsFigure(st.decode.Seconds), share, inside, share), st.step, "s",
		"each step of a decode carries the prompts of those who took the place of others in it")
	d.add("TPOT, mean", "step", step, t.TPOT.Mean, "s", "a long step delays the next arrivals too")
	d.add("batch", "rate × (output tokens − 1) × step",
		fmt.Sprintf("%s/s × (%s − 1) × %s", figure(t.RPS), figure(r.mix.output), step), t.Batch, "sequences", "Little's law")
	d.note("own prefill", "prefill work + ⌈uncached tokens ÷ (token budget − batch)⌉ × decode step", "mean over the prompts' lengths", q.ownMean, "s", "chunked prefill")
	d.outside(q)
	first := q.ownMean + q.behind + q.outside
	d.note("first token of those that run", "own prefill, in steps that are shared with prompts of the others",
		fmt.Sprintf("of which %s come per step", figure(st.rate*st.step)), first, "s", "same constants")
	d.add("prompts beside", "first token of those that run − own prefill − time outside of the engine", fmt.Sprintf("%s − %s − %s", secondsFigure(first), secondsFigure(q.ownMean), secondsFigure(q.outside)), q.behind, "s",
		"those that arrived at the same time")
	wait := q.wait.mean - q.behind
	d.note("wait for a place", "clients ÷ rate − (output tokens − 1) × step − own prefill − prompts beside − time outside of the engine",
		fmt.Sprintf("%s clients, of which %s run at once; a difference of large numbers", figure(clients), inside), wait, "s", "KV cache, max_num_seqs and token budget")
	d.add("TTFT, mean", "own prefill + prompts beside + wait for a place + time outside of the engine",
		fmt.Sprintf("%s + %s + %s + %s", secondsFigure(q.ownMean), secondsFigure(q.behind), secondsFigure(wait), secondsFigure(q.outside)), t.TTFT.Mean, "s", "sum of the above")
	d.add("E2E, mean", "TTFT + batch ÷ rate", fmt.Sprintf("%s + %s ÷ %s/s", secondsFigure(t.TTFT.Mean), figure(st.batch), rate), t.E2E.Mean, "s", "Little's law")
}
