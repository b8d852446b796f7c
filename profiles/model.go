package profiles

import (
	"slices"
	"strings"
)

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
	// CompressedAttention (DeepSeek-V4) keeps one shared vector of the last
	// Window tokens, and one per Compression tokens of all.
	CompressedAttention AttentionKind = "compressed"
	// CrossAttention attends to an image's tokens, and keeps nothing per token
	// of text (Llama 3.2 Vision).
	CrossAttention AttentionKind = "cross"
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
	QKNorm         bool    // RMSNorm on q and k, of one head's width
	QKNormWide     bool    // norm on q and k, of all heads' width
	Norms          int     // norms of the hidden width per layer: 2, or 4 with norms after the mixer and the MLP too
	NormBias       bool    // norms have a bias (LayerNorm)
	OuterNorms     int     // norms outside of layers: the last one, and one on the embeddings in some families
	NormEpsilon    float64 // RMSNorm epsilon
	RopeTheta      float64 // base of the rotary embedding
	RopeScaling    string  // kind of scaling of the rotary embedding, empty when none

	TrainedPositions int // window before RopeScaling extends it to MaxPositions; 0 when it does not

	RopeShare      float64 // share of a head's width that is rotated
	RopeRows       int     // positions in the tables of sines, of which windowed layers may have their own
	PositionRows   int     // learned position embeddings
	EmbeddingWidth int     // of the token embeddings, where it is not the hidden size
	PerLayerVocab  int     // rows of the embeddings that each layer has of its own (Gemma 3n)
	PerLayerWidth  int     // their width
	HeadBias       bool    // the output projection has a bias
	LayerSmall     int     // further parameters per layer that no format quantizes
	OuterSmall     int     // the same outside of layers
	OuterLinear    int     // further projections outside of layers
	Activation     string  // hidden_act, e.g. "silu"
	BOSToken       int     // -1 when the config names none
	EOSTokens      []int
	Vision         *Tower // of images, where the repository has one
	WholeImages    bool   // sees all tokens of an image at once, so that engines can not cut it into steps
	MTPLayers      int    // extra layers that predict further tokens; counted in no total

	DType        string       // dtype of the published weights: bf16, fp16, fp32
	Quantization Quantization // zero when the weights are not quantized
	Stored       *Stored      // what the safetensors files hold, where they are there
	Source       string       // where the facts come from
}

// HasExperts reports whether a layer has routed experts.
func (m *Model) HasExperts() bool {
	return slices.ContainsFunc(m.Layers, func(l Layer) bool { return l.MLP.Experts > 0 })
}

// HasStates reports whether a layer keeps a state of fixed size per sequence.
func (m *Model) HasStates() bool {
	return slices.ContainsFunc(m.Layers, func(l Layer) bool { return l.Attention.State != State{} })
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
	QueryRank   int  // q_lora_rank, for latent attention, or Step3's share_q_dim; 0 when q is not compressed
	SharedKV    bool // values are the keys: one projection makes both, both are cached
	IndexDim    int  // width of the sparse-attention index key per token; 0 without one
	IndexHeads  int
	Selected    int   // tokens that the index lets one token attend to; 0 without an index
	State       State // per sequence, for linear attention

	OutputGate   bool // the query projection (MLA: one of its own) also makes a gate on the output
	HeadGate     int  // gates per head made beside the query
	Sinks        bool // a learned logit per head
	InputWidth   int  // of what q, k and v are made from, where it is not the hidden size
	ReusedKV     bool // the layer attends to K and V of an earlier one and caches nothing
	KeepsKV      bool // with ReusedKV: the unused projections are in the checkpoint all the same
	IndexWeights bool // the sparse-attention index weighs its heads
	IndexReused  bool // the layer attends to what an earlier one's index selected
	Small        int  // further parameters that no format quantizes

	// BorrowsWeights marks a block whose weights are those of an earlier layer
	// (Zamba2): they are multiplied with again, and held once.
	BorrowsWeights bool

	// Of compressed attention.
	Compression  int // tokens that share one cached vector; 0 when the layer only has its window
	OutputRank   int // o_lora_rank, per group of OutputGroups
	OutputGroups int
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
	BiasFree           bool // experts have no bias even where the dense MLP has one
	Small              int  // further parameters that no format quantizes
}

// Encoding is how a quantized weight is stored. The zero Encoding is no
// quantization.
type Encoding struct {
	Method      string // "fp8", "int8", "int4", "awq", "gptq", "mxfp4", "mxfp8", "nvfp4", "nf4"; empty when none
	Bits        int
	WeightOnly  bool // of int8, which others also give activations: they stay in the model's dtype
	GroupSize   int  // weights that share one scale; 0 when per channel or per tensor
	ZeroPoints  bool // each group also has a zero point
	DoubleScale bool // nf4: the scales are quantized as well
}

// Quantization describes weights that are stored in fewer bits: in one encoding
// all over, or with parts of the model in others.
type Quantization struct {
	Encoding
	KV        string   // cache format that the checkpoint declares: "fp8", "nvfp4"; empty when none
	KVScheme  bool     // KV is declared by compressed-tensors (kv_cache_scheme)
	Kept      []string // module patterns that stay in the model's dtype, as the config lists them
	Parts     []Part   // modules in other encodings; the first that matches counts
	OnlyParts bool     // modules in none of the parts stay in the model's dtype
}

// Part is modules, by patterns as the config writes them, in one encoding.
type Part struct {
	Encoding
	Modules []string
}

// Tower is an encoder of images beside the language model, which engines load
// with it. Its weights are counted apart.
type Tower struct {
	Kind      string // model_type of vision_config, or the family of towers
	Encoder   int    // parameters
	Projector int    // parameters of what maps its output into the language model
}

// Generates reports whether the published weights make tokens: those of a bare
// model without its head embed, those of a classifier score. Architectures are
// named so by convention in transformers; ChatGLM's bare name is the exception. A
// file that names none is taken for a generator.
func (m *Model) Generates() bool {
	a := m.Architecture
	for _, end := range []string{"ForSequenceClassification", "ForTokenClassification", "RewardModel", "EmbeddingModel"} {
		if strings.HasSuffix(a, end) {
			return false
		}
	}
	return !strings.HasSuffix(a, "Model") || strings.HasSuffix(a, "LMHeadModel") || a == "ChatGLMModel"
}
