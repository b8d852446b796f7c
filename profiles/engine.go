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
	PoolTokens   int            `yaml:"pool_tokens,omitempty"` // a pool of this size when none is said, whatever the memory
	Utilization  float64        `yaml:"utilization"`           // default share of memory
	BlockSize    int            `yaml:"block_size"`            // tokens
	Classes      []EngineLimits `yaml:"limits"`                // by memory, ascending
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
	// CachedStateBlocks is the same with prefix caching; 0 where the engine caches
	// no prefixes of models with states.
	CachedStateBlocks int           `yaml:"state_blocks_cached,omitempty"`
	NullBlocks        int           `yaml:"null_blocks,omitempty"` // of a pool that no request can use
	PrefixCaching     PrefixCaching `yaml:"prefix_caching,omitempty"`
	WholeImages       WholeImages   `yaml:"whole_images,omitempty"`
	Pools             EnginePools   `yaml:"pools,omitempty"`
	CastsFP32         bool          `yaml:"casts_fp32,omitempty"` // float32 weights are loaded in 16 bit
	// DeclaredKV are the cache formats of checkpoints that the engine follows when
	// none is said: as "fp8" or "nvfp4" by ModelOptimizer, and as "scheme" what
	// compressed-tensors declares.
	DeclaredKV []string `yaml:"declared_kv,omitempty,flow"`
	// QuantizedKV: quantized checkpoints are made for the engine and declare an fp8
	// cache, so that weights in fp8 or nvfp4 of a model whose own file is not
	// quantized bring one.
	QuantizedKV bool   `yaml:"quantized_kv,omitempty"`
	Source      string `yaml:"source"`

	// Rules is the version whose rules hold, where the engine is newer than all
	// that are known.
	Rules string `yaml:"-"`

	// Origins is the source of each part that an earlier version brought, by the
	// part's name in YAML.
	Origins map[string]string `yaml:"origins,omitempty"`
}

// PrefixCaching says for which models an engine caches prefixes when nothing is
// said: those that only attend, and those with layers that keep a state.
type PrefixCaching struct {
	Attention bool `yaml:"attention,omitempty"`
	States    bool `yaml:"states,omitempty"`
}

// WholeImages is about models that see all of an image or video at once
// (Model.WholeImages): an item must fit into the tokens of one step.
type WholeImages struct {
	Tokens int  `yaml:"tokens,omitempty"` // of the largest item
	Raises bool `yaml:"raises,omitempty"` // a smaller default grows to it; otherwise the engine refuses to start
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
	LinklessBytes int64   `yaml:"linkless_bytes,omitempty"` // instead of TensorBytes on PCIe alone, where there is no shared buffer; 0 when it is the same
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

// CUDAGraph is the memory of captured graphs, inside or outside of the budget:
// Bytes, and for each graph some per layer and some for experts, and once the
// largest graph's values of the hidden width.
type CUDAGraph struct {
	Bytes         int64      `yaml:"bytes,omitempty"`
	PerLayerBytes int64      `yaml:"per_layer_bytes,omitempty"` // × graphs × layers
	ExpertsBytes  int64      `yaml:"experts_bytes,omitempty"`   // × graphs, with experts
	PerWidthBytes int64      `yaml:"per_width_bytes,omitempty"` // × hidden size ÷ tensor parallelism
	ErrorBytes    int64      `yaml:"error_bytes,omitempty"`     // typical distance from logs
	ExpertsError  float64    `yaml:"experts_error,omitempty"`   // the same with experts, as a share of the estimate
	InBudget      bool       `yaml:"in_budget,omitempty"`       //
	Uncounted     GraphRules `yaml:"uncounted,omitempty"`       // models whose graphs are beside the budget all the same
}

// GraphRules name models: those of the architectures, and Dense all without
// experts and states. Unquantized leaves out those with quantized weights and
// those with experts.
type GraphRules struct {
	Architectures []string `yaml:"architectures,omitempty,flow"`
	Dense         bool     `yaml:"dense,omitempty"`
	Unquantized   bool     `yaml:"unquantized,omitempty"`
}

// Match reports whether a model, with its weights in quantized form or not, is
// one of them.
func (g GraphRules) Match(m *Model, quantized bool) bool {
	experts := m.HasExperts()
	if g.Unquantized && (quantized || experts) {
		return false
	}
	return slices.Contains(g.Architectures, m.Architecture) || g.Dense && !experts && !m.HasStates()
}

// CapturedSizes is the number of batch sizes up to most for which vLLM captures
// a graph: 1, 2, 4, every 8 up to 256 and every 16 from there (vLLM
// config/vllm.py, _set_cudagraph_sizes).
func CapturedSizes(most int) int {
	sizes := 0
	for _, n := range []int{1, 2, 4} {
		if n <= most {
			sizes++
		}
	}
	return sizes + min(most, 255)/8 + max(0, min(most, maxCaptured)-240)/16
}

// maxCaptured is the largest batch that vLLM captures a graph for by default.
const maxCaptured = 512

// Graphs is how many graphs are captured for batches of at most seqs requests:
// one of the pieces between attentions for each size up to twice as many tokens,
// and one of the whole step for each size up to seqs.
func (g CUDAGraph) Graphs(seqs int) int {
	most := min(2*seqs, maxCaptured)
	return CapturedSizes(most) + CapturedSizes(min(seqs, most))
}

// Estimate is the memory of the graphs of a model's stage of so many layers.
func (g CUDAGraph) Estimate(m *Model, layers, seqs, tensor int) int64 {
	graphs := int64(g.Graphs(seqs))
	bytes := g.Bytes + graphs*g.PerLayerBytes*int64(layers) + g.PerWidthBytes*int64(m.HiddenSize)/int64(tensor)
	if m.HasExperts() {
		bytes += graphs * g.ExpertsBytes
	}
	return bytes
}

// Error is how far an estimate typically is from logs.
func (g CUDAGraph) Error(m *Model, estimate int64) int64 {
	if m.HasExperts() {
		return max(g.ErrorBytes, int64(g.ExpertsError*float64(estimate)))
	}
	return g.ErrorBytes
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
		bytes = n.TensorBytes
		if strings.HasPrefix(a.Link, "PCIe") && n.LinklessBytes > 0 {
			bytes = n.LinklessBytes
		}
		bytes += n.PerRankBytes * int64(tensor*data)
		if tensor > 1 && strings.HasPrefix(a.Link, "NVLink") && a.FP8FlopsPerS > 0 {
			bytes += n.FusedBytes
		}
	case pipeline > 1:
		bytes = n.PipelineBytes
	}
	return bytes + int64(n.Share*float64(a.MemoryBytes))
}
