package sizing

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// PlanMemory computes the memory of a request alone: the pool of the worker that
// has least, its blocks and tokens, and the concurrency of the longest requests
// as engines log it. Its errors are Compute's; a pool that is not positive means
// that the model does not fit, by so many bytes.
func PlanMemory(r Request) (Memory, error) {
	s := &situation{}
	for _, step := range []func(Request) error{s.resolveHardware, s.resolveParallel, s.resolveFormats, s.resolveLimits} {
		if err := step(r); err != nil {
			return Memory{}, err
		}
	}
	l, err := newLayout(s.model, s.kv, s.inputs.TensorParallel, s.inputs.PipelineParallel, s.inputs.BlockSize)
	if err != nil {
		return Memory{}, err
	}
	m := s.plannedMemory()
	s.fitLength(&m, l)
	m.fill(s, l)
	return m, nil
}

// plannedMemory is the budget of the accelerator that has least left, by the
// engine's rule.
func (s *situation) plannedMemory() Memory {
	in := s.inputs
	m := Memory{
		TotalBytes:   s.device.MemoryBytes,
		WeightsBytes: shape.Weights(s.model, s.format).PerRank(in.TensorParallel, in.PipelineParallel),
	}
	if s.kvGiven > 0 {
		m.KVCacheBytes, m.Given = s.kvGiven, true
		return m
	}
	total := float64(m.TotalBytes)
	switch s.engine.Pool {
	case profiles.PoolReserve:
		r := s.engine.Reserve
		m.ReserveBytes = r.BaseBytes + r.PerBatchedTokenBytes*int64(in.MaxNumBatchedTokens) +
			r.PerRankBytes*int64(in.TensorParallel*in.PipelineParallel) + r.GraphBytes
		m.KVCacheBytes = int64(total*in.GPUMemoryUtilization) - m.ReserveBytes - m.WeightsBytes
		m.ErrorBytes = r.ErrorBytes
		return m
	case profiles.PoolFree:
		s.overheads(&m)
		free := m.TotalBytes - m.WeightsBytes - m.ActivationBytes - m.NonTorchBytes
		m.KVCacheBytes = int64(float64(free) * in.GPUMemoryUtilization)
	default:
		s.overheads(&m)
		m.KVCacheBytes = int64(total*in.GPUMemoryUtilization) - m.WeightsBytes - m.ActivationBytes - m.NonTorchBytes
		if s.engine.CUDAGraph.InBudget {
			m.KVCacheBytes -= m.CUDAGraphBytes
		}
	}
	return m
}

// overheads fills in what engines allocate beside weights and cache. The
// activation peak does not shrink with tensor parallelism where the sampler's
// logits make it, since those are gathered on every rank.
func (s *situation) overheads(m *Memory) {
	in, e := s.inputs, s.engine
	sampler := float64(e.Activation.BaseBytes) + e.Activation.PerSequenceVocabBytes*float64(in.MaxNumSeqs)*float64(s.model.VocabSize)
	peak := max(sampler, s.mlpPeak())
	if s.mixtureOfExperts() {
		peak += float64(e.Activation.MoEBytes)
	}
	m.ActivationBytes = int64(peak)
	switch {
	case in.TensorParallel > 1:
		m.NonTorchBytes = e.NonTorch.TensorBytes
	case in.PipelineParallel > 1:
		m.NonTorchBytes = e.NonTorch.PipelineBytes
	default:
		m.NonTorchBytes = e.NonTorch.SingleBytes
	}
	m.CUDAGraphBytes = e.CUDAGraph.Bytes
	errors := float64(e.Activation.ErrorBytes)
	if e.CUDAGraph.InBudget {
		errors = math.Hypot(errors, float64(e.CUDAGraph.ErrorBytes))
	}
	m.ErrorBytes = int64(errors)
}

// mlpPeak is the intermediate values of the widest dense MLP over one step's
// tokens: gate, up and their product, and three of the hidden width, in 16 bit.
func (s *situation) mlpPeak() float64 {
	widest := 0
	for _, layer := range s.model.Layers {
		widest = max(widest, layer.MLP.Intermediate)
	}
	perToken := 3*float64(widest)/float64(s.inputs.TensorParallel) + 3*float64(s.model.HiddenSize)
	return float64(s.inputs.MaxNumBatchedTokens) * perToken * 2
}

func (s *situation) mixtureOfExperts() bool {
	for _, layer := range s.model.Layers {
		if layer.MLP.Experts > 0 {
			return true
		}
	}
	return false
}

// fill computes blocks, tokens and concurrency of the pool.
func (m *Memory) fill(s *situation, l layout) {
	in := s.inputs
	m.KVCacheBlocks = l.blocks(m.KVCacheBytes)
	m.KVCacheTokens = l.tokens(s.engine.KVTokens, m.KVCacheBlocks, in.MaxModelLen, in.MaxNumBatchedTokens)
	m.MaxConcurrency = l.maxConcurrency(m.KVCacheBlocks, in.MaxModelLen, in.MaxNumBatchedTokens)
}
