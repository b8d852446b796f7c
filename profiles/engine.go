package profiles

import (
	"cmp"
	"slices"
	"strings"
)

// PoolRule says how an engine finds the memory for its KV cache.
type PoolRule string

const (
	// PoolBudget is memory × utilization − weights − activation − non-torch.
	PoolBudget PoolRule = "budget"
	// PoolReserve is (memory − non-torch) × share − weights, where the share is
	// (memory − reserve) ÷ memory unless it is given.
	PoolReserve PoolRule = "reserve"
	// PoolFree is (memory − weights − activation − non-torch) × utilization.
	PoolFree PoolRule = "free"
)

// TokenRule says what the engine logs as the size of its KV cache in tokens.
type TokenRule string

const (
	// TokensByBlocks is blocks ÷ groups × block size.
	TokensByBlocks TokenRule = "blocks"
	// TokensByConcurrency is max concurrency × max_model_len.
	TokensByConcurrency TokenRule = "concurrency"
)

// WindowRule says what an engine keeps of a layer with a window in a model that
// also has layers without one.
type WindowRule string

const (
	// WindowsDrop frees the blocks that leave the window.
	WindowsDrop WindowRule = "drop"
	// WindowsKeep caches such layers like those that remember everything.
	WindowsKeep WindowRule = "keep"
)

// Engine is a serving engine of one version and its defaults. All bytes are per
// accelerator.
type Engine struct {
	Name         string         `yaml:"name"`
	Version      string         `yaml:"version"`
	Title        string         `yaml:"title"`
	Pool         PoolRule       `yaml:"pool"`
	Utilization  float64        `yaml:"utilization"` // default share of memory
	BlockSize    int            `yaml:"block_size"`  // tokens
	Classes      []EngineLimits `yaml:"limits"`      // by memory, ascending
	WholePrompts int            `yaml:"whole_prompts_up_to,omitempty"`
	Activation   Activation     `yaml:"activation,omitempty"`
	NonTorch     NonTorch       `yaml:"non_torch,omitempty"`
	Reserve      EngineReserve  `yaml:"reserve,omitempty"`
	CUDAGraph    CUDAGraph      `yaml:"cuda_graph,omitempty"`
	StartUp      int64          `yaml:"start_up_bytes,omitempty"` // must be free outside of the budget
	KVTokens     TokenRule      `yaml:"kv_tokens"`
	Windows      WindowRule     `yaml:"windows"`
	LatentHeads  bool           `yaml:"latent_heads,omitempty"` // latent attention is cached as heads of 256, K and V
	StateBlocks  int            `yaml:"state_blocks"`           // blocks of a layer group that keeps a state, per request
	Pools        EnginePools    `yaml:"pools,omitempty"`
	CastsFP32    bool           `yaml:"casts_fp32,omitempty"` // float32 weights are loaded in 16 bit
	// QuantizedKV: checkpoints for the engine that are in fp8 or nvfp4 ask for an fp8
	// cache, and it follows them when the cache's format is not said.
	QuantizedKV bool   `yaml:"quantized_kv,omitempty"`
	Source      string `yaml:"source"`

	// Origins is the source of each part that an earlier version brought, by the
	// part's name in YAML.
	Origins map[string]string `yaml:"origins,omitempty"`
}

// EnginePools are how an engine divides its memory among pools of their own, when
// it does not share one pool of pages: of tokens in layers that remember
// everything, of tokens in windows (WindowRatio for each token of the first), and
// of states (StateRatio × the bytes of the other two). All 0 is one shared pool.
type EnginePools struct {
	WindowRatio float64 `yaml:"window_ratio,omitempty"`
	StateRatio  float64 `yaml:"state_ratio,omitempty"`
}

// EngineLimits are the default limits of a batch on a class of accelerators.
type EngineLimits struct {
	MemoryBytes      int64    `yaml:"memory_bytes,omitempty"` // smallest memory of the class
	MaxSeqs          int      `yaml:"max_num_seqs"`
	MaxBatchedTokens int      `yaml:"max_num_batched_tokens"`
	GraphSeqs        int      `yaml:"graph_seqs,omitempty"`  // largest batch that a CUDA graph is captured for
	Except           []string `yaml:"except,omitempty,flow"` // accelerators, by the start of their key, that are not in the class
}

// Activation is the peak of intermediate values during the profiling run: the
// base, and the larger of the sampler's buffers (PerSequenceVocabBytes × max
// sequences × vocabulary) and the widest MLP over a step's tokens. Where
// ExpertWorkspace is set, the buffers between the two matrices of the experts
// outlive the layers and are added.
type Activation struct {
	BaseBytes             int64   `yaml:"base_bytes,omitempty"`
	PerSequenceVocabBytes float64 `yaml:"per_sequence_vocab_bytes,omitempty"`
	ExpertWorkspace       bool    `yaml:"expert_workspace,omitempty"`
	ErrorBytes            int64   `yaml:"error_bytes,omitempty"` // typical distance from logs
}

// NonTorch is memory outside of the framework's allocator: the device's context
// and the communication library's buffers. FusedBytes comes on top of
// TensorBytes where the engine joins the sum over ranks with the norm behind it,
// which wants NVLink on Hopper or later.
type NonTorch struct {
	SingleBytes   int64   `yaml:"single_bytes,omitempty"`
	TensorBytes   int64   `yaml:"tensor_bytes,omitempty"`   // with tensor or data parallelism
	PerRankBytes  int64   `yaml:"per_rank_bytes,omitempty"` // for each of the ranks that collectives join
	FusedBytes    int64   `yaml:"fused_bytes,omitempty"`
	PipelineBytes int64   `yaml:"pipeline_bytes,omitempty"` // with pipeline parallelism alone
	Share         float64 `yaml:"share,omitempty"`          // of the memory
}

// EngineReserve is what an engine keeps free for everything but weights and
// cache when nobody gives a share of the memory.
type EngineReserve struct {
	BaseBytes            int64 `yaml:"base_bytes,omitempty"`
	PerBatchedTokenBytes int64 `yaml:"per_batched_token_bytes,omitempty"`
	PerRankBytes         int64 `yaml:"per_rank_bytes,omitempty"` // × tensor × pipeline
	PerGraphSeqBytes     int64 `yaml:"per_graph_seq_bytes,omitempty"`
	FloorBytes           int64 `yaml:"floor_bytes,omitempty"`        // at least so much …
	FloorMemoryBytes     int64 `yaml:"floor_memory_bytes,omitempty"` // … on accelerators with more memory than this
	ErrorBytes           int64 `yaml:"error_bytes,omitempty"`
}

// CUDAGraph is the memory of captured graphs, inside or outside of the budget.
type CUDAGraph struct {
	Bytes      int64 `yaml:"bytes,omitempty"`
	ErrorBytes int64 `yaml:"error_bytes,omitempty"`
	InBudget   bool  `yaml:"in_budget,omitempty"`
}

// String is the reference that LoadEngine takes, "vllm@0.19".
func (e Engine) String() string { return e.Name + "@" + e.Version }

// Origin is where the values of parts come from, each source once.
func (e Engine) Origin(parts ...string) string {
	var sources []string
	for _, part := range parts {
		source := cmp.Or(e.Origins[part], e.Source)
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	return strings.Join(sources, "; ")
}

// Limits returns the default limits of a batch on an accelerator: those of the
// largest class that it reaches.
func (e Engine) Limits(a *Accelerator) EngineLimits {
	best := e.Classes[0]
	for _, class := range e.Classes[1:] {
		if a.MemoryBytes >= class.MemoryBytes && !class.excepts(a.Name) {
			best = class
		}
	}
	return best
}

func (l EngineLimits) excepts(name string) bool {
	return slices.ContainsFunc(l.Except, func(start string) bool { return strings.HasPrefix(name, start) })
}

// BatchedTokens is the default token budget of a step. An engine without chunked
// prefill takes whole prompts into a step, so that the longest one sets it
// (WholePrompts; vLLM's first engine chunked longer contexts alone).
func (e Engine) BatchedTokens(a *Accelerator, maxModelLen int) int {
	budget := e.Limits(a).MaxBatchedTokens
	if maxModelLen <= e.WholePrompts {
		return max(budget, maxModelLen)
	}
	return budget
}

// OutsideBytes is the memory outside of the framework's allocator on one of
// tensor × pipeline × data ranks.
func (n NonTorch) OutsideBytes(a *Accelerator, tensor, pipeline, data int) int64 {
	bytes := n.SingleBytes
	switch {
	case tensor > 1 || data > 1:
		bytes = n.TensorBytes + n.PerRankBytes*int64(tensor*data)
		if tensor > 1 && strings.HasPrefix(a.Link, "NVLink") && a.FP8FlopsPerS > 0 {
			bytes += n.FusedBytes
		}
	case pipeline > 1:
		bytes = n.PipelineBytes
	}
	return bytes + int64(n.Share*float64(a.MemoryBytes))
}
