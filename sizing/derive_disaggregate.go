package sizing

import (
	"fmt"
)

// pools explains separate pools for prefill and decode.
func (d *derivations) pools(s *situation, p *Plan) {
	out, in := p.Pools, p.Inputs
	if out == nil {
		return
	}
	q := s.split
	before, after := q.before.prompts, q.after
	d.note("cache sent per request", "sum over layers of bytes per token × min(prompt tokens, window), on one accelerator", "mean over the prompts' lengths",
		out.TransferBytes, "B", "config.json, --kv-dtype")
	d.add("time to send it", "cache ÷ bandwidth", fmt.Sprintf("%s ÷ %s", bytesFigure(out.TransferBytes), bandwidthFigure(out.BandwidthPerS)), out.TransferS, "s",
		"--transfer-bandwidth; all ranks send at the same time")
	d.note("step of a prefill replica without its prompts", "a × layers + e × weights ÷ bandwidth", "fixed cost and weights", q.before.decode.Seconds, "s", "same constants")
	d.add("prefill pool: queue utilization", "rate × time that a prompt takes up",
		fmt.Sprintf("%s/s × %s", figure(q.before.rate), secondsFigure(before.service)), before.busy, "", "M/G/1 queue, without decodes")
	d.add("prefill pool: prompts ahead", "rate × E[S²] ÷ (2 × (1 − utilization))",
		fmt.Sprintf("%s/s × %s ms² ÷ (2 × (1 − %s))", figure(q.before.rate), figure(before.square*1e6), figure(before.busy)), before.ahead, "s", "Pollaczek–Khinchine")
	slots := after.prompts.slots
	d.note("decode pool: share that waits for a place", "as in one pool", "at the load of a decode replica", slots.waits, "", "queue M/G/c")
	d.note("decode pool: wait of those that wait", "as in one pool", "at the load of a decode replica", slots.mean, "s", "queue M/G/c")
	d.add("prefill pool: TTFT, mean", "own prefill + prompts ahead + steps before its own + prompts behind + time outside of the engine + time to send the cache + share × wait for a place to decode",
		fmt.Sprintf("%s + %s + %s + %s + %s + %s + %s × %s", secondsFigure(before.ownMean), secondsFigure(before.ahead), secondsFigure(before.boundary), secondsFigure(before.behind), secondsFigure(before.outside),
			secondsFigure(out.TransferS),
			figure(slots.waits), secondsFigure(slots.mean)),
		out.TTFT.Mean, "s", "as in one pool, at the load of a prefill replica")
	d.add("decode pool: batch", "rate × (output tokens − 1) × decode step",
		fmt.Sprintf("%s/s × (%s − 1) × %s", figure(out.Decode.RPS), figure(q.decode.mix.output), secondsFigure(after.step)),
		out.Decode.Batch, "sequences", "Little's law; no prompt makes a step longer")
	d.add("decode pool: TPOT, mean", "decode step", secondsFigure(after.decode.Seconds), out.TPOT.Mean, "s", "cost model at this batch")
	for _, c := range []struct {
		name string
		pool Pool
	}{{"prefill", out.Prefill}, {"decode", out.Decode}} {
		d.add(c.name+" replicas", "⌈rate ÷ (largest rate × target utilization)⌉ + spare",
			fmt.Sprintf("⌈%s/s ÷ (%s/s × %s)⌉ + %d", figure(out.RPS), figure(c.pool.MaxRPS), setting(in.TargetUtilization), in.Spare), float64(c.pool.Replicas), "replicas",
			"largest rate of a replica by bisection; stopped by: "+c.pool.Bound)
	}
	d.add("accelerators of both pools", "(prefill replicas + decode replicas) × accelerators of a replica",
		fmt.Sprintf("(%d + %d) × %d", out.Prefill.Replicas, out.Decode.Replicas, in.accelerators()), float64(out.Accelerators), "accelerators", "--tp, --pp")
}
