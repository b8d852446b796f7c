package shape

import (
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestLayerStateBytes works out the shapes of vLLM's MambaStateShapeCalculator
// by hand.
func TestLayerStateBytes(t *testing.T) {
	delta := profiles.State{
		Mixer: profiles.GatedDeltaNet, Kernel: 4, Channels: 2*16*128 + 48*128,
		Heads: 48, Rows: 128, Columns: 128, DType: "fp32",
	}
	mamba := profiles.State{
		Mixer: profiles.Mamba2, Kernel: 4, Channels: 64 * 64, Groups: 8, GroupChannels: 2 * 128,
		Heads: 64, Rows: 64, Columns: 128, DType: "fp32",
	}
	oneGroup := mamba
	oneGroup.Groups, oneGroup.DType = 1, ""
	for _, tc := range []struct {
		name   string
		state  profiles.State
		tensor int
		bytes  int64
	}{
		{"nothing", profiles.State{}, 1, 0},
		{"delta rule", delta, 1, 3*10_240*2 + 48*128*128*4},
		{"delta rule on four", delta, 4, 3*2_560*2 + 12*128*128*4},
		{"Mamba-2", mamba, 1, 3*6_144*2 + 64*64*128*4},
		{"Mamba-2 on eight: a group each", mamba, 8, 3*768*2 + 8*64*128*4},
		{"Mamba-2 on sixteen: groups are copied", mamba, 16, 3*(256+256)*2 + 4*64*128*4},
		{"one group on two: it is copied", oneGroup, 2, 3*(2_048+256)*2 + 32*64*128*2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := LayerStateBytes(profiles.Attention{Kind: profiles.LinearAttention, State: tc.state}, BF16, tc.tensor); got != tc.bytes {
				t.Errorf("%d bytes, want %d", got, tc.bytes)
			}
		})
	}
}

func TestStateBytesOfModels(t *testing.T) {
	for model, want := range map[string]int64{"qwen3.5-27b": 153_944_064, "nemotron-3-nano-30b-a3b": 49_082_368, "llama-3.1-8b": 0} {
		if got := StateBytes(load(t, model), BF16, 1); got != want {
			t.Errorf("%s keeps %d bytes per sequence, want %d", model, got, want)
		}
	}
}
