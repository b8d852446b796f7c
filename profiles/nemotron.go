package profiles

// nemotronH reads a pattern with one letter per layer: M is Mamba-2, * is
// attention, - is a dense MLP and E a mixture of experts, each alone in its
// layer (transformers, configuration_nemotron_h.py).
func nemotronH(m *Model, c *config, n int) {
	pattern := nemotronPattern(c)
	if len(pattern) != n {
		c.refuse("hybrid_override_pattern", "has %d layers, num_hidden_layers is %d", len(pattern), n)
		return
	}
	for i, letter := range pattern {
		layer := Layer{Attention: Attention{Kind: NoAttention}}
		switch letter {
		case 'M':
			layer.Attention = mamba2(m, c, mamba2Names{
				heads: "mamba_num_heads", headDim: "mamba_head_dim", state: "ssm_state_size", groups: "n_groups",
				kernel: "conv_kernel", bias: "use_bias", dtype: "mamba_ssm_cache_dtype",
			})
		case '*':
			layer.Attention = fullAttention(m, c, i)
		case '-':
			layer.MLP = MLP{Intermediate: c.width("intermediate_size")}
		case 'E':
			layer.MLP = nemotronExperts(c)
		default:
			c.refuse("hybrid_override_pattern", "%q at layer %d is not one of M, *, -, E", letter, i)
		}
		if c.err != nil {
			return
		}
		m.Layers = append(m.Layers, layer)
	}
}

// nemotronPattern is hybrid_override_pattern, or the same as a list of names.
func nemotronPattern(c *config) []rune {
	names, ok := c.list("layers_block_type")
	if !ok {
		return []rune(c.text("", "hybrid_override_pattern"))
	}
	letters := map[any]rune{"mamba": 'M', "attention": '*', "mlp": '-', "moe": 'E'}
	var pattern []rune
	for i, name := range names {
		letter, known := letters[name]
		if !known {
			c.refuse("layers_block_type", "%s at layer %d is not one of mamba, attention, mlp, moe", show(name), i)
			return nil
		}
		pattern = append(pattern, letter)
	}
	return pattern
}

// nemotronExperts reads experts without a gate (relu²). With moe_latent_size
// tokens reach the routed experts through a narrower space.
func nemotronExperts(c *config) MLP {
	x := MLP{Experts: c.width("n_routed_experts"), ExpertIntermediate: c.width("moe_intermediate_size"), RouterBias: true}
	x.SharedExperts, _ = c.count(0, maxWidth, "n_shared_experts")
	x.SharedIntermediate, _ = c.count(0, maxWidth, "moe_shared_expert_intermediate_size")
	x.SharedIntermediate *= x.SharedExperts
	x.ExpertHidden, _ = c.count(0, maxWidth, "moe_latent_size")
	return perToken(c, x)
}

// mamba2Names are the words of a family for the same facts.
type mamba2Names struct {
	heads, headDim, state, groups, kernel, bias, dtype string
}

func mamba2(_ *Model, c *config, names mamba2Names) Attention {
	heads, dim, state := c.width(names.heads), c.width(names.headDim), c.width(names.state)
	s := State{
		Mixer: Mamba2, Kernel: c.kernel(names.kernel), Channels: heads * dim,
		Groups: c.widthOr(1, names.groups), GroupChannels: 2 * state,
		Heads: heads, Rows: dim, Columns: state, ConvBias: c.flag(true, "use_conv_bias", "mamba_conv_bias"),
		Bias: c.flag(false, names.bias), Norms: true,
	}
	if names.dtype != "" {
		s.DType = stateDType(c, names.dtype)
	}
	if heads%s.Groups != 0 {
		c.refuse(names.groups, "%d does not divide %s %d", s.Groups, names.heads, heads)
	}
	return Attention{Kind: LinearAttention, State: s}
}
