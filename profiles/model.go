package profiles

// AttentionKind says what one layer remembers of the tokens before it, which
// decides the shape of its cache.
type AttentionKind string

const (
	// FullAttention keeps K and V of every token (multi-head, grouped-query
	// and multi-query attention differ only in Model.KVHeads).
	FullAttention AttentionKind = "full"
	// SlidingAttention keeps K and V of the last Window tokens.
	SlidingAttention AttentionKind = "sliding"
	// ChunkedAttention keeps K and V of the current chunk of Window tokens.
	ChunkedAttention AttentionKind = "chunked"
	// LatentAttention (MLA) keeps one compressed vector of LatentRank plus
	// RopeHeadDim values per token, shared by all heads.
	LatentAttention AttentionKind = "latent"
	// LinearAttention (Mamba, gated delta net) keeps a state of fixed size
	// per sequence and nothing per token.
	LinearAttention AttentionKind = "linear"
	// NoAttention marks a layer without a token mixer.
	NoAttention AttentionKind = "none"
)

// Model is what a Hugging Face config.json tells about a language model's text
// part. All counts are dimensionless; bytes are derived in package sizing and
// never stored. The engine reads the same type to build its transformer.
type Model struct {
	Name         string   // profile key, e.g. "llama-3.1-8b"
	IDs          []string // Hugging Face repositories with this shape
	Architecture string   // architectures[0], e.g. "LlamaForCausalLM"
	Type         string   // model_type, e.g. "llama"

	HiddenSize   int
	VocabSize    int
	MaxPositions int // context window the model was trained for, in tokens
	Heads        int // query heads
	Layers       []Layer

	TiedEmbeddings bool
	AttentionBias  bool // bias on q, k and v projections
	OutputBias     bool // bias on the attention output projection
	MLPBias        bool
	QKNorm         bool    // RMSNorm on q and k per head
	Norms          int     // norms of the hidden width per layer: 2, or 4 with norms after the mixer and the MLP too
	NormEpsilon    float64 // RMSNorm epsilon
	RopeTheta      float64 // base of the rotary embedding
	RopeScaling    string  // kind of scaling of the rotary embedding, empty when none
	Activation     string  // hidden_act, e.g. "silu"
	BOSToken       int     // -1 when the config names none
	EOSTokens      []int
	Vision         bool // the repository also holds a vision tower, whose weights are not described here

	DType        string       // dtype of the published weights: bf16, fp16, fp32
	Quantization Quantization // zero when the weights are not quantized
	Source       string       // where the facts come from
}

// Layer is one block of the decoder.
type Layer struct {
	Attention Attention
	MLP       MLP
}

// Attention is the token mixer of one layer. Fields that do not apply to its
// Kind are zero.
type Attention struct {
	Kind        AttentionKind
	Heads       int  // query heads
	KVHeads     int  // heads of K and V; equal to Heads without grouped queries
	HeadDim     int  // width of one query and key head
	ValueDim    int  // width of one value head
	Window      int  // tokens, for sliding and chunked attention
	LatentRank  int  // kv_lora_rank, for latent attention
	RopeHeadDim int  // qk_rope_head_dim, for latent attention
	QueryRank   int  // q_lora_rank, for latent attention; 0 when q is not compressed
	SharedKV    bool // values are the keys: one projection makes both, both are cached
	IndexDim    int  // width of the sparse-attention index key per token; 0 without one
	IndexHeads  int
	State       State // per sequence, for linear attention

	OutputGate bool // the query projection also makes a gate of the same width
}

// MLP is the feed-forward part of one layer: dense when Experts is 0.
type MLP struct {
	Intermediate       int // width of the dense MLP, 0 when the layer has none
	Gated              bool
	Experts            int // routed experts
	ExpertsPerToken    int
	ExpertIntermediate int
	SharedExperts      int
	SharedIntermediate int  // total width of the shared experts
	SharedGate         bool // a learned gate scales the shared experts' output
	ExpertHidden       int  // width in which the routed experts work, reached by two projections; 0 for the hidden size
	RouterBias         bool // a learned correction per expert
}

// Quantization describes weights that are stored in fewer bits.
type Quantization struct {
	Method    string // "fp8", "int8", "int4", "awq", "gptq", "mxfp4", "nvfp4"; empty when none
	Bits      int
	GroupSize int      // weights that share one scale; 0 when per channel or per tensor
	Kept      []string // module patterns that stay in the model's dtype, as the config lists them
}
