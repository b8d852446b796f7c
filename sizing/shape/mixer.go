package shape

import "github.com/llmctl/llmctl/profiles"

// linearModules appends a linear mixer as transformers' class of the same name
// declares it: matrices, and in one small module the convolution, the decay and
// the norms, which no format quantizes.
func linearModules(list []module, h int64, s profiles.State) []module {
	heads, rows, columns := int64(s.Heads), int64(s.Rows), int64(s.Columns)
	inner := heads * rows
	channels := int64(s.Channels) + int64(s.Groups)*int64(s.GroupChannels)
	other := channels * int64(s.Kernel)
	if s.ConvBias {
		other += channels
	}
	add := func(name string, parameters int64) {
		list = append(list, module{name: name, parameters: parameters})
	}
	switch s.Mixer {
	case "":
		return list
	case profiles.Mamba1: // rows are 1: a head is a channel
		rank := int64(s.TimeRank)
		add("linear_attn.in_proj", h*2*inner)
		add("linear_attn.x_proj", inner*(rank+2*columns))
		add("linear_attn.dt_proj", rank*inner)
		add("linear_attn.out_proj", inner*h)
		other += inner*columns + 2*inner // A, D and the time step's bias
		if s.Norms {
			other += rank + 2*columns
		}
		if s.Bias {
			other += 2*inner + h
		}
	case profiles.Mamba2: // in: gate z, x, B, C and the time step
		add("linear_attn.in_proj", h*(inner+channels+heads))
		add("linear_attn.out_proj", inner*h)
		other += 3 * heads // A, D and the time step's bias
		if s.Norms {
			other += inner
		}
		if s.Bias {
			other += inner + channels + heads + h
		}
	case profiles.GatedDeltaNet:
		add("linear_attn.in_proj_qkv", h*channels)
		add("linear_attn.in_proj_z", h*inner)
		add("linear_attn.in_proj_b", h*heads)
		add("linear_attn.in_proj_a", h*heads)
		add("linear_attn.out_proj", inner*h)
		other += 2*heads + rows
	case profiles.KimiDelta: // decay through a low rank, the gate too unless it is full
		add("linear_attn.qkv_proj", h*channels)
		add("linear_attn.f_proj", rows*(h+inner))
		add("linear_attn.b_proj", h*heads)
		if s.FullGate {
			add("linear_attn.g_proj", h*inner)
		} else {
			add("linear_attn.g_proj", rows*(h+inner))
		}
		add("linear_attn.o_proj", inner*h)
		other += heads + inner + rows // A, the time step's bias, the norm
	case profiles.Lightning:
		add("linear_attn.qkv_proj", h*3*inner)
		add("linear_attn.output_gate", h*inner)
		add("linear_attn.out_proj", inner*h)
		other += inner
	case profiles.ShortConv:
		add("linear_attn.in_proj", h*3*h)
		add("linear_attn.out_proj", h*h)
		if s.Bias {
			other += 4 * h
		}
	}
	return append(list, small(other))
}
