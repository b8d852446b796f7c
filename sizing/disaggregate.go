package sizing

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing/cost"
)

// busiestTransfer is the share of time for which the link of a decode replica
// may receive caches: beyond it they queue.
const busiestTransfer = 0.5

// Pools are replicas that only prefill, and others that only decode, with the
// caches of the prompts sent from one to the other.
type Pools struct {
	RPS          float64 `json:"rps"` // of all
	Prefill      Pool    `json:"prefill"`
	Decode       Pool    `json:"decode"`
	Ratio        float64 `json:"ratio"` // prefill replicas per decode replica
	Accelerators int     `json:"accelerators"`
	USDPerHour   float64 `json:"usd_per_hour,omitempty"`

	TransferBytes float64 `json:"transfer_bytes"` // per request and accelerator, mean
	TransferS     float64 `json:"transfer_s"`     // mean
	BandwidthPerS float64 `json:"transfer_bandwidth_bytes_per_s"`

	TTFT Quantiles `json:"ttft_s"` // prefill and transfer
	TPOT Quantiles `json:"tpot_s"`
	E2E  Quantiles `json:"e2e_s"`

	Aggregated int `json:"aggregated_accelerators"` // of the plan without pools
}

// Pool is one of the two.
type Pool struct {
	Replicas     int     `json:"replicas"`
	Accelerators int     `json:"accelerators"`
	MaxRPS       float64 `json:"max_rps"` // of a replica
	Bound        string  `json:"bound"`
	RPS          float64 `json:"rps"`         // of a replica
	Utilization  float64 `json:"utilization"` // of MaxRPS
	Batch        float64 `json:"batch"`       // sequences at once, mean
}

// pools is what a plan with separate pools rests on.
type pools struct {
	prefill, decode             replica
	before, after               state // of a prefill and of a decode replica
	transferBytes, transferMean float64
	bandwidth                   float64
}

// resolvePools reads how caches are sent.
func (s *situation) resolvePools(r Request) error {
	switch b := r.TransferBandwidth; {
	case math.IsNaN(b) || b < 0 || b > 1e15:
		return fmt.Errorf("--transfer-bandwidth %v is outside 0 to 10^15 bytes per second", b)
	case !r.Disaggregate && b > 0:
		return fmt.Errorf("--transfer-bandwidth is for pools: add --disaggregate")
	case r.Disaggregate && r.Count > 0:
		return fmt.Errorf("--disaggregate sizes its pools for a load and does not divide --count %d", r.Count)
	case !r.Disaggregate:
		return nil
	}
	s.bandwidth = r.TransferBandwidth
	if s.bandwidth == 0 {
		s.bandwidth = s.device.Network()
		s.assume("transfer of caches", units.Number(s.bandwidth/1e9)+" GB/s per accelerator", "--transfer-bandwidth")
	}
	s.inputs.TransferBandwidth = s.bandwidth
	return nil
}

// split makes a prefill and a decode replica of one that does both. The ranks
// of a replica send their part of the cache at the same time.
func (r replica) split(bandwidth float64) pools {
	q := pools{prefill: r, bandwidth: bandwidth}
	for _, p := range r.mix.inputs {
		bytes := r.facts.KVBytes(p.tokens) / float64(r.facts.Pipeline)
		q.prefill.transfer = append(q.prefill.transfer, bytes/bandwidth)
		q.transferBytes += p.weight * bytes
	}
	q.transferMean = q.transferBytes / bandwidth
	return q
}

// serve makes the decode replica for requests that come from the prefill replica
// in a state. It holds a request's blocks while it receives the cache.
func (q *pools) serve(before state) {
	q.before = before
	q.decode = q.prefill
	q.decode.transfer = nil
	front := before.prompts
	front.backlog, front.behind, front.ownMean = excess{}, 0, q.transferMean
	q.decode.front = &front
	q.decode.receive = q.transferMean
}

// emptyStep is a step of a prefill replica less the work of its prompt: the fixed
// cost and the weights, experts included.
func (r replica) emptyStep() cost.Step {
	tokens := max(1, min(r.batched, r.mix.input-r.mix.cached))
	p := cost.Prefill{Tokens: tokens, Context: r.mix.cached, Final: true}
	chunk := cost.NewChunk(r.facts, r.device, r.constants, p)
	return chunk.Without(cost.StepTime(r.facts, r.device, r.constants, cost.Batch{Prefill: []cost.Prefill{p}}))
}

// disaggregate sizes the pools for the load of the aggregated plan.
func (s *situation) disaggregate(p *Plan, r replica, l load) {
	if s.bandwidth == 0 {
		return
	}
	in := s.inputs
	q := r.split(s.bandwidth)
	before := limits{ttft: s.limits.ttft, quantile: s.limits.quantile}
	prefillMax, prefillBound := before.maxRate(q.prefill)
	if prefillMax == 0 {
		s.warn("disaggregate", "a lone request already breaks the %s in a prefill pool, with %s for sending its cache", prefillBound, units.Seconds(q.transferMean))
		return
	}
	planned := prefillMax * in.TargetUtilization
	q.serve(q.prefill.at(planned))
	after := limits{tpot: s.limits.tpot, e2e: s.limits.e2e, quantile: s.limits.quantile}
	decodeMax, decodeBound := after.maxRate(q.decode)
	if decodeMax == 0 {
		s.warn("disaggregate", "a lone request already breaks the %s in a decode pool", decodeBound)
		return
	}
	total := l.total
	if !in.loaded() {
		total = max(planned, decodeMax*in.TargetUtilization)
	}
	pool := func(most float64, bound string) Pool {
		n := atLeastOne(total/(most*in.TargetUtilization)) + in.Spare
		rate := total / float64(n)
		return Pool{Replicas: n, Accelerators: n * in.accelerators(), MaxRPS: most, Bound: bound, RPS: rate, Utilization: rate / most}
	}
	out := &Pools{
		RPS: total, Prefill: pool(prefillMax, prefillBound), Decode: pool(decodeMax, decodeBound),
		TransferBytes: q.transferBytes, TransferS: q.transferMean, BandwidthPerS: s.bandwidth, Aggregated: p.Fleet.Accelerators,
	}
	q.serve(q.prefill.at(out.Prefill.RPS))
	q.after = q.decode.at(out.Decode.RPS)
	out.Prefill.Batch = q.before.rate * q.before.prompts.ownMean * float64(r.facts.Pipeline)
	out.Decode.Batch = q.after.batch * float64(r.facts.Pipeline)
	out.Ratio = float64(out.Prefill.Replicas) / float64(out.Decode.Replicas)
	out.Accelerators = out.Prefill.Accelerators + out.Decode.Accelerators
	out.USDPerHour = float64(out.Accelerators) * in.USDPerAcceleratorHour
	st := q.after
	whole := st.latency(q.decode)
	out.TTFT = Quantiles{st.ttft(), st.ttftQuantile(0.5), st.ttftQuantile(0.99)}
	out.TPOT = Quantiles{st.tpot(q.decode), st.tpotQuantile(q.decode, 0.5), st.tpotQuantile(q.decode, 0.99)}
	out.E2E = Quantiles{st.e2e(), whole.quantile(0.5), whole.quantile(0.99)}
	p.Pools, s.split = out, q
	switch {
	case !in.loaded():
		out.Aggregated = 0 // another load
	case out.Accelerators > out.Aggregated:
		s.warn("disaggregate", "separate pools take %d accelerators, one pool %d: they do not pay at this load; they do when prompts that arrive make the tokens of others late, and the load is many replicas",
			out.Accelerators, out.Aggregated)
	}
}
