package profiles

// zamba2 reads Mamba-2 layers, some of which also run one of a few shared
// transformer blocks on the hidden state joined with the embedding. A shared
// block's weights count once, with the first layer that runs it; each layer has
// a projection back and, where the file says so, low-rank adapters of its own
// (transformers, modeling_zamba2.py).
func zamba2(m *Model, c *config, n int) {
	blocks := c.widthOr(1, "num_mem_blocks")
	seen := 0
	for i := range n {
		kind, err := layerKind(c, "layers_block_type", i)
		if err != nil {
			c.refuse("layers_block_type", "%v", err)
			return
		}
		layer := Layer{Attention: mamba2(m, c, mamba2Names{
			heads: "n_mamba_heads", headDim: "mamba_headdim", state: "mamba_d_state", groups: "mamba_ngroups",
			kernel: "mamba_d_conv", bias: "add_bias_linear",
		})}
		switch kind {
		case "mamba":
		case "hybrid":
			layer = zambaShared(m, c, layer, seen < blocks)
			seen++
		default:
			c.refuse("layers_block_type", "%q at layer %d is not one of mamba, hybrid", kind, i)
		}
		if c.err != nil {
			return
		}
		m.Layers = append(m.Layers, layer)
	}
}

func zambaShared(m *Model, c *config, layer Layer, owns bool) Layer {
	width, inner := 2*m.HiddenSize, c.width("intermediate_size")
	a := &layer.Attention
	heads, kv := m.Heads, c.widthOr(m.Heads, "num_key_value_heads")
	dim := c.widthOr(max(1, width/m.Heads), "attention_head_dim")
	a.Kind, a.Heads, a.KVHeads, a.HeadDim, a.ValueDim = FullAttention, heads, kv, dim, dim
	a.InputWidth, a.Small = width, m.HiddenSize*m.HiddenSize // the projection back
	rank := c.widthOr(128, "adapter_rank")
	if c.flag(false, "use_shared_attention_adapter") {
		a.Small += 3 * rank * (width + heads*dim)
	}
	a.Small += rank * (m.HiddenSize + 2*inner) // the MLP's adapter
	if owns {
		layer.MLP = MLP{Gated: true, Intermediate: inner}
		a.Small += width + m.HiddenSize // norms of the block's two halves
		return layer
	}
	a.BorrowsWeights = true
	return layer
}
