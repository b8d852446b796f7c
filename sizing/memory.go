package sizing

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// PlanMemory computes the memory of a request alone: the pool of the worker that
// has least, its blocks and tokens, and the concurrency of the longest requests
// as engines log it. Its errors are Compute's; a pool that is not positive means
// that the model does not fit, by so many bytes.
func PlanMemory(r Request) (Memory, error) {
	s := &situation{}
	for _, step := range []func(Request) error{s.resolveHardware, s.resolveParallel, s.resolveFormats, s.resolvePrefixCaching, s.resolveWeights, s.resolveLimits} {
		if err := step(r); err != nil {
			return Memory{}, err
		}
	}
	l, err := s.newLayout()
	if err != nil {
		return Memory{}, err
	}
	m := s.plannedMemory(l)
	s.fitLength(&m, l)
	m.fill(s, l)
	return m, nil
}

// plannedMemory is the budget of the accelerator that decides: that of the
// pipeline stage whose pool holds the fewest blocks.
func (s *situation) plannedMemory(l layout) Memory {
	first := s.stageMemory(0, l)
	least := first
	for stage := 1; stage < s.inputs.PipelineParallel; stage++ {
		m := s.stageMemory(stage, l)
		fewer := m.KVCacheBlocks < least.KVCacheBlocks
		if fewer || m.KVCacheBlocks == least.KVCacheBlocks && m.KVCacheBytes < least.KVCacheBytes {
			least = m
		}
	}
	if least.Stage > 0 {
		least.FirstStageBytes = first.KVCacheBytes
	}
	return least
}

// stageMemory is the budget of one accelerator of a stage, by the engine's rule.
func (s *situation) stageMemory(stage int, l layout) Memory {
	in := s.inputs
	m := Memory{
		Stage:        stage,
		TotalBytes:   s.device.MemoryBytes,
		WeightsBytes: s.stages[stage].PerRank(in.TensorParallel, 1),
	}
	if s.kvGiven > 0 {
		m.KVCacheBytes, m.Given = s.kvGiven, true
	} else {
		s.budget(&m)
	}
	m.KVCacheBlocks = l.blocksOn(stage, m.KVCacheBytes)
	return m
}

// budget finds the pool of a stage.
func (s *situation) budget(m *Memory) {
	in, e := s.inputs, s.engine
	total := float64(m.TotalBytes)
	m.NonTorchBytes = e.NonTorch.OutsideBytes(s.device, in.TensorParallel, in.PipelineParallel, in.DataParallel)
	if e.Pool == profiles.PoolReserve {
		m.ErrorBytes = e.Reserve.ErrorBytes
		if !s.shareGiven {
			m.ReserveBytes = s.reserve()
		}
		m.KVCacheBytes = int64(float64(m.TotalBytes-m.NonTorchBytes)*(in.GPUMemoryUtilization-float64(m.ReserveBytes)/total)) - m.WeightsBytes
		return
	}
	m.ActivationBytes = int64(s.activation(m.Stage).peak(float64(e.Activation.BaseBytes)))
	m.CUDAGraphBytes = s.graphs(m.Stage)
	m.GraphsOutside = !s.graphsCounted() && m.CUDAGraphBytes > 0
	m.ErrorBytes = e.Activation.ErrorBytes
	taken := m.WeightsBytes + m.ActivationBytes + m.NonTorchBytes
	if e.Pool == profiles.PoolFree {
		m.KVCacheBytes = int64(float64(m.TotalBytes-taken) * in.GPUMemoryUtilization)
		return
	}
	if s.graphsCounted() {
		m.ErrorBytes = int64(math.Hypot(float64(m.ErrorBytes), float64(e.CUDAGraph.Error(s.model, m.CUDAGraphBytes))))
		taken += m.CUDAGraphBytes
	}
	m.KVCacheBytes = int64(total*in.GPUMemoryUtilization) - taken
}

// graphs is the memory of the CUDA graphs of a stage.
func (s *situation) graphs(stage int) int64 {
	in := s.inputs
	return s.engine.CUDAGraph.Estimate(s.model, len(s.stageLayers(stage)), in.MaxNumSeqs, in.TensorParallel)
}

// graphsCounted reports whether the engine takes the graphs of this model from
// its budget.
func (s *situation) graphsCounted() bool {
	g := s.engine.CUDAGraph
	return g.InBudget && !g.Uncounted.Match(s.model, s.format.Quantization.Method != "")
}

// reserve is what an engine keeps free where nobody gives a share of the memory.
func (s *situation) reserve() int64 {
	in, r := s.inputs, s.engine.Reserve
	bytes := r.BaseBytes + r.PerBatchedTokenBytes*int64(in.MaxNumBatchedTokens) +
		r.PerRankBytes*int64(in.TensorParallel*in.PipelineParallel) + r.PerGraphSeqBytes*int64(s.engine.Limits(s.device).GraphSeqs)
	if s.device.MemoryBytes > r.FloorMemoryBytes {
		bytes = max(bytes, r.FloorBytes)
	}
	return bytes
}

// fill computes tokens and concurrency of a replica. With data parallelism each
// of its ranks has a pool of its own.
func (m *Memory) fill(s *situation, l layout) {
	in := s.inputs
	ranks := int64(in.DataParallel)
	m.KVCacheTokens = l.tokens(s.engine.KVTokens, m.KVCacheBlocks, in.MaxModelLen, in.MaxNumBatchedTokens) * ranks
	m.MaxConcurrency = l.maxConcurrency(m.KVCacheBlocks, in.MaxModelLen, in.MaxNumBatchedTokens) * float64(ranks)
}

// overrideMemory takes the memory of the accelerator as given, for instance
// from `nvidia-smi` on the machine that will serve.
func (s *situation) overrideMemory(bytes int64) error {
	switch {
	case bytes == 0:
		return nil
	case bytes < 1<<20 || bytes > 1<<50:
		return fmt.Errorf("--accelerator-memory %d is outside 2^20 to 2^50 bytes", bytes)
	}
	device := *s.device
	device.MemoryBytes, device.MemorySource = bytes, "given"
	s.device = &device
	return nil
}
