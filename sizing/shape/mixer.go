package shape

import "github.com/llmctl/llmctl/profiles"

// mixer is a linear mixer's widths, and its modules as they are listed.
type mixer struct {
	profiles.State
	hidden               int64
	heads, rows, columns int64
	inner                int64 // heads × rows
	channels             int64 // that the convolution runs over
	list                 []module
}

// linearModules appends a linear mixer as transformers' class of the same name
// declares it: matrices, and in one small module the convolution, the decay and
// the norms, which no format quantizes.
func linearModules(list []module, h int64, s profiles.State) []module {
	m := mixer{
		State: s, hidden: h, list: list,
		heads: int64(s.Heads), rows: int64(s.Rows), columns: int64(s.Columns), inner: int64(s.Heads) * int64(s.Rows),
		channels: int64(s.Channels) + int64(s.Groups)*int64(s.GroupChannels),
	}
	other := int64(0)
	switch s.Mixer {
	case "":
		return list
	case profiles.Mamba1:
		other = m.mamba1()
	case profiles.Mamba2:
		other = m.mamba2()
	case profiles.GatedDeltaNet:
		other = m.gatedDeltaNet()
	case profiles.KimiDelta:
		other = m.kimiDelta()
	case profiles.Lightning:
		other = m.lightning()
	case profiles.ShortConv:
		other = m.shortConv()
	}
	other += m.channels * int64(s.Kernel)
	if s.ConvBias {
		other += m.channels
	}
	return append(m.list, small(other))
}

func (m *mixer) add(name string, parameters int64) {
	m.list = append(m.list, module{name: "linear_attn." + name, parameters: parameters})
}

// The kinds add their matrices and return what else they have but the
// convolution.

// mamba1 has rows of 1: a head is a channel.
func (m *mixer) mamba1() int64 {
	rank := int64(m.TimeRank)
	m.add("in_proj", m.hidden*2*m.inner)
	m.add("x_proj", m.inner*(rank+2*m.columns))
	m.add("dt_proj", rank*m.inner)
	m.add("out_proj", m.inner*m.hidden)
	other := m.inner*m.columns + 2*m.inner // A, D and the time step's bias
	if m.Norms {
		other += rank + 2*m.columns
	}
	if m.Bias {
		other += 2*m.inner + m.hidden
	}
	return other
}

// mamba2 reads gate z, x, B, C and the time step in one matrix.
func (m *mixer) mamba2() int64 {
	m.add("in_proj", m.hidden*(m.inner+m.channels+m.heads))
	m.add("out_proj", m.inner*m.hidden)
	other := 3 * m.heads // A, D and the time step's bias
	if m.Norms {
		other += m.inner
	}
	if m.Bias {
		other += m.inner + m.channels + m.heads + m.hidden
	}
	return other
}

func (m *mixer) gatedDeltaNet() int64 {
	m.add("in_proj_qkv", m.hidden*m.channels)
	m.add("in_proj_z", m.hidden*m.inner)
	m.add("in_proj_b", m.hidden*m.heads)
	m.add("in_proj_a", m.hidden*m.heads)
	m.add("out_proj", m.inner*m.hidden)
	return 2*m.heads + m.rows
}

// kimiDelta has its decay through a low rank, and its gate too unless it is full.
func (m *mixer) kimiDelta() int64 {
	m.add("qkv_proj", m.hidden*m.channels)
	m.add("f_proj", m.rows*(m.hidden+m.inner))
	m.add("b_proj", m.hidden*m.heads)
	if m.FullGate {
		m.add("g_proj", m.hidden*m.inner)
	} else {
		m.add("g_proj", m.rows*(m.hidden+m.inner))
	}
	m.add("o_proj", m.inner*m.hidden)
	return m.heads + m.inner + m.rows // A, the time step's bias, the norm
}

func (m *mixer) lightning() int64 {
	m.add("qkv_proj", m.hidden*3*m.inner)
	m.add("output_gate", m.hidden*m.inner)
	m.add("out_proj", m.inner*m.hidden)
	return m.inner
}

func (m *mixer) shortConv() int64 {
	m.add("in_proj", m.hidden*3*m.hidden)
	m.add("out_proj", m.hidden*m.hidden)
	if m.Bias {
		return 4 * m.hidden
	}
	return 0
}
