package profiles

// hybridAttention reads families whose layer_types mix linear attention with
// full attention, as Qwen3-Next and Qwen3.5 do; full_attention_interval stands
// for a pattern where the list is absent.
func hybridAttention(linear attentionRule) attentionRule {
	return func(m *Model, c *config, layer int) Attention {
		if _, ok := c.list("layer_types"); !ok {
			if interval, ok := c.count(1, maxLayers, "full_attention_interval"); ok {
				if (layer+1)%interval != 0 {
					return linear(m, c, layer)
				}
				return gatedAttention(m, c, layer)
			}
		}
		kind, err := layerType(c, layer)
		switch {
		case err != nil:
			c.refuse("layer_types", "%v", err)
		case kind == "linear_attention":
			return linear(m, c, layer)
		case kind == "full_attention":
			return gatedAttention(m, c, layer)
		default:
			c.refuse("layer_types", "%q at layer %d is not supported", kind, layer)
		}
		return Attention{}
	}
}

// gatedAttention is full attention whose query projection also makes a gate on
// the output.
func gatedAttention(m *Model, c *config, layer int) Attention {
	a := fullAttention(m, c, layer)
	a.OutputGate = c.flag(true, "attn_output_gate")
	return a
}

// gatedDeltaNet reads Qwen's linear layers. vLLM keeps the recurrent state in
// mamba_ssm_dtype where the config has it (Qwen3.5), else like activations.
func gatedDeltaNet(_ *Model, c *config, _ int) Attention {
	keys, values := c.width("linear_num_key_heads"), c.width("linear_num_value_heads")
	key, value := c.width("linear_key_head_dim"), c.width("linear_value_head_dim")
	if values%keys != 0 {
		c.refuse("linear_num_key_heads", "%d does not divide linear_num_value_heads %d", keys, values)
	}
	return Attention{Kind: LinearAttention, State: State{
		Mixer: GatedDeltaNet, Kernel: c.kernel("linear_conv_kernel_dim"),
		Channels: 2*keys*key + values*value, Heads: values, Rows: value, Columns: key,
		DType: stateDType(c, "mamba_ssm_dtype"),
	}}
}

// kernel reads the width of a convolution.
func (c *config) kernel(names ...string) int {
	n, ok := c.count(1, 1024, names...)
	if !ok {
		c.refuse(names[0], "is missing")
		return 1
	}
	return n
}

// stateDType reads the type of a recurrent state.
func stateDType(c *config, names ...string) string {
	name := c.text("", names...)
	switch name {
	case "", "auto":
		return ""
	case "float32", "float":
		return "fp32"
	case "bfloat16":
		return "bf16"
	case "float16", "half":
		return "fp16"
	}
	c.refuse(names[0], "%q is not one of float32, bfloat16, float16", name)
	return ""
}
