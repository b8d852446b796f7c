package profiles

// kimiAttention reads Kimi-Linear's and Kimi-K3's linear_attn_config, which
// lists the layers of each kind counted from 1.
func kimiAttention(m *Model, c *config, layer int) Attention {
	linear := c.object("linear_attn_config")
	if linear == nil {
		return kimiLatent(m, c, layer)
	}
	defer c.adopt(linear)
	items, ok := linear.list("kda_layers")
	if !ok {
		linear.refuse("kda_layers", "is missing")
	}
	for _, item := range items {
		if n, whole := integer(item); whole && n == layer+1 {
			return kimiDelta(linear)
		}
	}
	return kimiLatent(m, c, layer)
}

func kimiLatent(m *Model, c *config, layer int) Attention {
	a := latentAttention(m, c, layer)
	a.OutputGate = c.flag(false, "mla_use_output_gate")
	return a
}

// kimiDelta reads one KDA layer; vLLM keeps its recurrent state in float32
// (MambaStateDtypeCalculator.kda_state_dtype).
func kimiDelta(c *config) Attention {
	heads, dim := c.width("num_heads"), c.width("head_dim")
	return Attention{Kind: LinearAttention, State: State{
		Mixer: KimiDelta, Kernel: c.kernel("short_conv_kernel_size"), Channels: 3 * heads * dim,
		Heads: heads, Rows: dim, Columns: dim, DType: "fp32", FullGate: c.flag(false, "use_full_rank_gate"),
	}}
}

// kimiMLP: Kimi-K3's routed experts work in a narrower space.
func kimiMLP(m *Model, c *config, layer int) MLP {
	x := sparseMLP(m, c, layer)
	if x.Experts == 0 {
		return x
	}
	x.RouterBias = true
	if n, ok := c.count(1, maxWidth, "routed_expert_hidden_size"); ok && n != m.HiddenSize {
		x.ExpertHidden = n
		if c.flag(false, "latent_moe_use_norm") {
			x.Small = n
		}
	}
	return x
}
