package profiles

// PoolRule says how an engine finds the memory for its KV cache.
type PoolRule string

const (
	// PoolBudget is memory × utilization − weights − activation − non-torch.
	PoolBudget PoolRule = "budget"
	// PoolReserve is memory − reserve − weights.
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

// Engine is a serving engine of one version and its defaults. All bytes are per
// accelerator.
type Engine struct {
	Name        string        `yaml:"name"`
	Version     string        `yaml:"version"`
	Title       string        `yaml:"title"`
	Pool        PoolRule      `yaml:"pool"`
	Utilization float64       `yaml:"utilization"` // default share of memory
	BlockSize   int           `yaml:"block_size"`  // tokens
	Large       EngineLimits  `yaml:"large"`       // on accelerators from Large.MemoryBytes
	Small       EngineLimits  `yaml:"small"`       // on all others
	Activation  Activation    `yaml:"activation,omitempty"`
	NonTorch    NonTorch      `yaml:"non_torch,omitempty"`
	Reserve     EngineReserve `yaml:"reserve,omitempty"`
	CUDAGraph   CUDAGraph     `yaml:"cuda_graph,omitempty"`
	StartUp     int64         `yaml:"start_up_bytes,omitempty"` // must be free outside of the budget
	KVTokens    TokenRule     `yaml:"kv_tokens"`
	CastsFP32   bool          `yaml:"casts_fp32,omitempty"` // float32 weights are loaded in 16 bit
	Source      string        `yaml:"source"`
}

// EngineLimits are the default limits of a batch on a class of accelerators.
type EngineLimits struct {
	MemoryBytes      int64    `yaml:"memory_bytes,omitempty"` // smallest memory of the class
	MaxSeqs          int      `yaml:"max_num_seqs"`
	MaxBatchedTokens int      `yaml:"max_num_batched_tokens"`
	Except           []string `yaml:"except,omitempty,flow"` // accelerators, by the start of their key, that are not in the class
}

// Activation is the peak of intermediate values during the profiling run:
// BaseBytes + PerSequenceVocabBytes × max sequences × vocabulary, plus MoEBytes
// for mixtures of experts.
type Activation struct {
	BaseBytes             int64   `yaml:"base_bytes,omitempty"`
	PerSequenceVocabBytes float64 `yaml:"per_sequence_vocab_bytes,omitempty"`
	MoEBytes              int64   `yaml:"moe_bytes,omitempty"`
	ErrorBytes            int64   `yaml:"error_bytes,omitempty"` // typical distance from logs
}

// NonTorch is memory outside of the framework's allocator: the CUDA context and
// the communication library's buffers.
type NonTorch struct {
	SingleBytes   int64 `yaml:"single_bytes,omitempty"`
	TensorBytes   int64 `yaml:"tensor_bytes,omitempty"`   // with tensor parallelism
	PipelineBytes int64 `yaml:"pipeline_bytes,omitempty"` // with pipeline parallelism alone
}

// EngineReserve is memory set aside for everything but weights and cache.
type EngineReserve struct {
	BaseBytes            int64 `yaml:"base_bytes,omitempty"`
	PerBatchedTokenBytes int64 `yaml:"per_batched_token_bytes,omitempty"`
	PerRankBytes         int64 `yaml:"per_rank_bytes,omitempty"` // × tensor × pipeline
	GraphBytes           int64 `yaml:"graph_bytes,omitempty"`
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

// Limits returns the default limits of a batch on an accelerator.
func (e Engine) Limits(a *Accelerator) EngineLimits {
	if a.MemoryBytes < e.Large.MemoryBytes {
		return e.Small
	}
	for _, start := range e.Large.Except {
		if len(a.Name) >= len(start) && a.Name[:len(start)] == start {
			return e.Small
		}
	}
	return e.Large
}
