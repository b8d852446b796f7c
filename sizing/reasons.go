package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
)

// memoryReasons says why the model or its requests do not fit, and by how much;
// empty when they do.
func (s *situation) memoryReasons(m Memory, l layout, x mix) []string {
	in := s.inputs
	if m.KVCacheBytes <= 0 {
		return []string{fmt.Sprintf("the weights take %s of the %s that one %s gives the engine, and with activations and overhead %s are missing",
			units.Bytes(m.WeightsBytes), units.Bytes(int64(float64(m.TotalBytes)*in.GPUMemoryUtilization)), s.device.Name, units.Bytes(-m.KVCacheBytes))}
	}
	need := l.perRequest(in.MaxModelLen, in.MaxNumBatchedTokens)
	if need > m.KVCacheBlocks || m.KVCacheBlocks == 0 {
		missing := (need - m.KVCacheBlocks) * l.largestBlock()
		fits := l.longest(m.KVCacheBlocks, in.MaxModelLen, in.MaxNumBatchedTokens)
		return []string{fmt.Sprintf("one request of max_model_len %d needs %s of KV cache on each accelerator, the pool has %s: %s are missing; the longest that fits is %d tokens",
			in.MaxModelLen, units.Bytes(need*l.largestBlock()), units.Bytes(m.KVCacheBytes), units.Bytes(missing), fits)}
	}
	if long := x.longest + x.longOut; !s.lenGiven && float64(in.MaxModelLen) < min(long, float64(s.model.MaxPositions)) {
		return []string{fmt.Sprintf("the pool of %s holds requests of %d tokens, but the workload's longest percent has %s and more",
			units.Bytes(m.KVCacheBytes), in.MaxModelLen, units.Number(long))}
	}
	if m.MixSequences < 1 {
		return []string{fmt.Sprintf("the pool of %s does not hold one average request of the workload", units.Bytes(m.KVCacheBytes))}
	}
	return nil
}

// sloReason says which bound a lone request already breaks, and what its time
// is made of.
func (s *situation) sloReason(r replica, bound string) string {
	idle, q := r.at(idleRate), s.limits.quantile
	times := ""
	for _, c := range []struct {
		name       string
		bound, got float64
	}{
		{"TTFT", s.limits.ttft, 0}, {"TPOT", s.limits.tpot, 0}, {"E2E", s.limits.e2e, 0},
	} {
		if c.bound == 0 || !idle.stable {
			continue
		}
		switch c.name {
		case "TTFT":
			c.got = idle.ttftQuantile(q)
		case "TPOT":
			c.got = idle.tpotQuantile(r, q)
		default:
			c.got = idle.latency(r).quantile(q)
		}
		if c.got > c.bound {
			times += fmt.Sprintf("; %s p%g is %s against %s", c.name, q*100, units.Seconds(c.got), units.Seconds(c.bound))
		}
	}
	return fmt.Sprintf("a lone request already breaks the %s%s; most of a decode step is %s, its roofline limit is %s",
		bound, times, idle.decode.Bound(), units.Seconds(idle.decode.Limit))
}

// nearest looks for the smallest changes that make the model fit: more tensor
// parallelism, 8-bit weights, an 8-bit cache, another accelerator. fp8 is named
// only where the accelerator computes in it.
func (s *situation) nearest(r Request) []string {
	var found []string
	try := func(what string, change func(*Request)) bool {
		changed := r
		change(&changed)
		t, err := resolve(changed)
		if err != nil {
			return false
		}
		l, err := t.newLayout()
		if err != nil {
			return false
		}
		m := t.plannedMemory(l)
		t.fitLength(&m, l)
		m.fill(t, l)
		x := t.warmMix(m, l)
		m.MixSequences = mixSequences(m, l, x)
		if len(t.memoryReasons(m, l, x)) > 0 {
			return false
		}
		found = append(found, what)
		return true
	}
	fits := 0
	for _, tp := range []int{2, 4, 8, 16} {
		if tp > s.inputs.TensorParallel && try(fmt.Sprintf("it fits with --tp %d", tp), func(r *Request) { r.Scenario.Parallel.Tensor = tp }) {
			fits = tp
			break
		}
	}
	narrow := "int8"
	if s.device.FP8FlopsPerS > 0 {
		narrow = "fp8"
	}
	for tp := s.inputs.TensorParallel; s.format.Quantization.Method == "" && tp <= 8 && (fits == 0 || tp < fits); tp *= 2 {
		if try(fmt.Sprintf("it fits with --weight-dtype %s and --tp %d", narrow, tp), func(r *Request) {
			r.WeightDType, r.Scenario.Parallel.Tensor = narrow, tp
		}) {
			break
		}
	}
	if s.kv.Bytes() == 2 && s.device.FP8FlopsPerS > 0 {
		try("it fits with --kv-dtype fp8", func(r *Request) { r.KVDType = "fp8" })
	}
	for _, key := range []string{"h100-sxm-80gb", "h200-sxm-141gb", "b200-180gb", "b300-270gb"} {
		if key != s.device.Name && try("it fits with --accelerator "+key, func(r *Request) { r.Scenario.Accelerator = key }) {
			break
		}
	}
	return found
}
