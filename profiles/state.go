package profiles

// MixerKind names a token mixer that keeps a state of fixed size.
type MixerKind string

// The mixers that engines serve.
const (
	Mamba1        MixerKind = "mamba"     // selective state space (arXiv 2312.00752)
	Mamba2        MixerKind = "mamba2"    // state space duality (arXiv 2405.21060)
	GatedDeltaNet MixerKind = "gdn"       // gated delta rule (arXiv 2412.06464), Qwen3-Next and Qwen3.5
	KimiDelta     MixerKind = "kda"       // Kimi Delta Attention (arXiv 2510.26692)
	Lightning     MixerKind = "lightning" // lightning attention (arXiv 2501.08313), MiniMax-01
	ShortConv     MixerKind = "conv"      // gated short convolution, LFM2
)

// State is what a layer keeps per sequence whatever its length: the last inputs
// of a causal convolution, and one matrix per recurrent head. It may stand
// beside attention in the same layer (Falcon-H1, Zamba2). The zero State keeps
// nothing.
//
// Shapes are those of vLLM's MambaStateShapeCalculator
// (model_executor/layers/mamba/mamba_utils.py), so that bytes per rank follow:
// channels and heads are divided among ranks, groups are copied where there are
// fewer of them than ranks.
type State struct {
	Mixer         MixerKind
	Kernel        int // width of the convolution, which keeps one input less; 0 when there is none
	Channels      int // channels of the convolution, without those of groups
	Groups        int // Mamba-2 groups that share their B and C
	GroupChannels int // channels of the convolution per group
	Heads         int // recurrent heads
	Rows, Columns int // of one head's matrix

	// DType of the heads' matrices (bf16, fp16, fp32) where the config or the
	// engine fixes one; empty for the type of activations. The convolution keeps
	// activations.
	DType string

	TimeRank int  // Mamba-1: width of the compressed time step
	ConvBias bool // the convolution has a bias
	Bias     bool // the projections have one
	Norms    bool // Mamba-1: norms on time step, B and C (Jamba); Mamba-2: a gated norm of the inner width
	FullGate bool // Kimi Delta: the output gate is one matrix, not two of low rank
}
