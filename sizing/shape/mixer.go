package shape

import "github.com/llmctl/llmctl/profiles"

// addMixer counts a linear mixer, as vLLM's and transformers' classes of the
// same name declare it.
func (p *Parameters) addMixer(h int64, s profiles.State) {
	heads, rows := int64(s.Heads), int64(s.Rows)
	inner := heads * rows
	channels := int64(s.Channels) + int64(s.Groups)*int64(s.GroupChannels)
	p.Small += channels * int64(s.Kernel)
	if s.ConvBias {
		p.Small += channels
	}
	switch s.Mixer {
	case profiles.Mamba2: // in: z, x, B, C and the time step
		p.Attention += h*(inner+channels+heads) + inner*h
		p.Small += 3 * heads // A, D and the time step's bias
		if s.Norms {
			p.Small += inner
		}
		if s.Bias {
			p.Small += inner + channels + heads + h
		}
	case profiles.GatedDeltaNet: // in: q, k, v, gate z, and b and a per head
		p.Attention += h*(channels+inner+2*heads) + inner*h
		p.Small += 2*heads + rows
	}
}
