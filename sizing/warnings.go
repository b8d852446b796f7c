package sizing

import (
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// addWarnings says what a reader should know before believing the plan.
func (s *situation) addWarnings(p *Plan) {
	m, in := p.Memory, s.inputs
	s.weightWarnings()
	if s.device.MemorySource == "catalogue" {
		s.warn("nominal-memory", "the memory of %s is the catalogue's; engines see 0.5 to 2%% less", s.device.Name)
	}
	if m.KVCacheBytes > 0 && float64(m.ErrorBytes) > 0.1*float64(m.KVCacheBytes) {
		s.warn("near-the-edge", "the KV pool is %s to %s: overheads are known to about %s only",
			units.Bytes(max(0, m.KVCacheBytes-m.ErrorBytes)), units.Bytes(m.KVCacheBytes+m.ErrorBytes), units.Bytes(m.ErrorBytes))
	}
	s.startupRoom(m)
	if p.Performance == nil {
		return
	}
	if in.TensorParallel > 1 {
		switch {
		case s.device.LinkBytesPerS == 0:
			s.warn("unknown-link", "no link speed is known for %s: the time of tensor parallelism's exchanges is not counted", s.device.Name)
		case !strings.HasPrefix(s.device.Link, "NVLink"):
			s.warn("slow-link", "tensor parallelism over %s: exchanges inside every layer want an NVLink-class link", s.device.Link)
		}
	}
	if in.PipelineParallel > 1 {
		s.warn("pipeline", "pipeline parallelism adds capacity, but does not shorten the time of a token")
	}
	if float64(in.MaxNumSeqs) > m.MixSequences {
		s.warn("preemption", "max_num_seqs %d is more than the %s average requests that the KV cache holds: under overload the engine preempts; more replicas help, faster accelerators do not",
			in.MaxNumSeqs, units.Number(m.MixSequences))
	}
}

// startupRoom checks the memory outside of the budget: the device context,
// CUDA graphs where they do not count, and the sampler's warm-up, which needs
// one float32 logit per sequence and vocabulary entry.
func (s *situation) startupRoom(m Memory) {
	if m.Given || s.engine.StartUp == 0 {
		return
	}
	outside := float64(m.TotalBytes) * (1 - s.inputs.GPUMemoryUtilization)
	need := float64(s.engine.StartUp) + 4*float64(s.inputs.MaxNumSeqs)*float64(s.model.VocabSize)
	if graph := s.engine.CUDAGraph; !graph.InBudget {
		need += float64(graph.Bytes + graph.ErrorBytes)
	}
	if outside < need {
		s.warn("start-up-room", "outside of the budget are %s, but the device context, CUDA graphs and the sampler's warm-up may want %s: the engine may fail to start; lower --gpu-memory-utilization or --max-num-seqs",
			units.Bytes(int64(outside)), units.Bytes(int64(need)))
	}
}
