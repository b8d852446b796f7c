package profiles

// siglipTower is SigLIP's (transformers, modeling_siglip.py), as Gemma 3 and
// LLaVA-like models use it. deepseek_vl_v2 gives its size by other words.
func siglipTower(root, v *config, m *Model) *Tower {
	v.aliases = map[string]string{"hidden_size": "width", "num_hidden_layers": "layers"}
	h := v.bounded("hidden_size")
	inner := int(v.number(0, "mlp_ratio") * float64(h))
	if inner < 1 || inner > 1<<20 {
		inner = v.bounded("intermediate_size")
	}
	positions := 0
	if n, ok := v.count(1, 1<<20, "num_patches"); ok {
		positions = n
	} else {
		positions = squared(v)
	}
	encoder := patches(v, h) + h + positions*h + v.depth("num_hidden_layers")*biased(h, inner).parameters() + 2*h
	if v.flag(false, "vision_use_head") {
		// A learned query that attends to all patches, and an MLP.
		encoder += h + 4*h*h + 4*h + 2*h + 2*h*inner + inner + h
	}
	return &Tower{Encoder: encoder, Projector: projector(root, h, m)}
}

// clipTower is CLIP's (transformers, modeling_clip.py): no bias on the patches,
// a class token, a norm before the layers.
func clipTower(root, v *config, m *Model) *Tower {
	h, inner := v.bounded("hidden_size"), v.bounded("intermediate_size")
	encoder := patches(v, h) + h + (squared(v)+1)*h + 2*h + v.depth("num_hidden_layers")*biased(h, inner).parameters() + 2*h
	return &Tower{Encoder: encoder, Projector: projector(root, h, m)}
}

// phi3Tower is CLIP's large tower at 336 pixels, whose size Phi-3-vision's file
// does not state: it names openai/clip-vit-large-patch14-336.
func phi3Tower(m *Model) *Tower {
	const h, inner, layers, positions = 1024, 4096, 24, 24*24 + 1
	encoder := 3*14*14*h + h + positions*h + 2*h + layers*biased(h, inner).parameters() + 2*h
	out := m.HiddenSize
	return &Tower{Kind: "clip_vision_model", Encoder: encoder, Projector: 4*h*out + out + out*out + out + 8*h}
}

// pixtralTower is Pixtral's: RMSNorm and no biases.
func pixtralTower(root, v *config, m *Model) *Tower {
	h, inner := v.bounded("hidden_size"), v.bounded("intermediate_size")
	layer := block{width: h, inner: inner, gated: true, norms: 2 * h}
	return &Tower{
		Encoder:   patches(v, h) + h + v.depth("num_hidden_layers")*layer.parameters(),
		Projector: projector(root, h, m),
	}
}

// qwen2Tower is Qwen2-VL's; hidden_size is the width of the language model.
func qwen2Tower(_, v *config, _ *Model) *Tower {
	h, out := v.bounded("embed_dim"), v.bounded("hidden_size")
	ratio := v.bounded("mlp_ratio")
	encoder := v.bounded("temporal_patch_size")*patches(v, h) + v.depth("depth")*biased(h, ratio*h).parameters()
	return &Tower{Encoder: encoder, Projector: 2*h + merger(v, h, out)}
}

// qwen25Tower is Qwen2.5-VL's: RMSNorm and a gated MLP.
func qwen25Tower(_, v *config, m *Model) *Tower {
	h, inner := v.bounded("hidden_size"), v.bounded("intermediate_size")
	layer := block{width: h, inner: inner, gated: true, qkvBias: true, outputBias: true, mlpBias: true, norms: 2 * h}
	out, ok := v.count(1, 1<<17, "out_hidden_size")
	if !ok {
		out = m.HiddenSize
	}
	encoder := v.bounded("temporal_patch_size")*patches(v, h) + v.depth("depth")*layer.parameters()
	return &Tower{Encoder: encoder, Projector: h + merger(v, h, out)}
}

// qwen3Tower is Qwen3-VL's and Qwen3.5's: learned positions, and a merger for
// each layer whose output also enters the language model.
func qwen3Tower(_, v *config, m *Model) *Tower {
	h, inner := v.bounded("hidden_size"), v.bounded("intermediate_size")
	out, ok := v.count(1, 1<<17, "out_hidden_size")
	if !ok {
		out = m.HiddenSize
	}
	encoder := v.bounded("temporal_patch_size")*patches(v, h) + h + v.bounded("num_position_embeddings")*h +
		v.depth("depth")*biased(h, inner).parameters()
	deep, _ := v.list("deepstack_visual_indexes")
	if len(deep) > 1000 {
		v.refuse("deepstack_visual_indexes", "has %d entries", len(deep))
		deep = nil
	}
	merge := v.bounded("spatial_merge_size")
	return &Tower{Encoder: encoder, Projector: 2*h + merger(v, h, out) + len(deep)*(2*merge*merge*h+merger(v, h, out))}
}

// merger joins merge × merge patches and maps them into the language model.
func merger(v *config, h, out int) int {
	merge, _ := v.count(1, 16, "spatial_merge_size")
	wide := merge * merge * h
	return wide*wide + wide + wide*out + out
}

// llama4Tower ends in an adapter that joins four patches.
func llama4Tower(_, v *config, m *Model) *Tower {
	h, inner := v.bounded("hidden_size"), v.bounded("intermediate_size")
	in, out := v.bounded("projector_input_dim"), v.bounded("projector_output_dim")
	encoder := patches(v, h) + h + (squared(v)+1)*h + 4*h + v.depth("num_hidden_layers")*biased(h, inner).parameters()
	return &Tower{Encoder: encoder + inner*in + out*out, Projector: v.bounded("vision_output_dim") * m.HiddenSize}
}

// mllamaTower is Llama 3.2's: tiles with positions of their own, and global
// layers with gates (transformers, modeling_mllama.py).
func mllamaTower(_, v *config, m *Model) *Tower {
	h, inner := v.bounded("hidden_size"), v.bounded("intermediate_size")
	layer := block{width: h, inner: inner, mlpBias: true, norms: 4 * h}.parameters()
	ratios, _ := v.list("supported_aspect_ratios")
	kinds, tiles, positions := 9, v.depth("max_num_tiles"), squared(v)+1
	if n := len(ratios); n > 0 && n < 1000 {
		kinds = n + 1
	}
	encoder := patches(v, h) + h + 4*h + // patches, class token, two norms
		positions*h + kinds*tiles*positions*h + 1 + // positions in a tile, by tile, and a gate
		2*(kinds*tiles*h+1) + // tiles before and after
		v.depth("num_hidden_layers")*layer + v.depth("num_global_layers")*(layer+2)
	return &Tower{Encoder: encoder, Projector: v.bounded("vision_output_dim")*m.HiddenSize + m.HiddenSize}
}

// gemma4Tower has norms on queries and keys, four norms per layer, and a table
// of positions for each direction.
func gemma4Tower(_, v *config, m *Model) *Tower {
	h, inner, dim := v.bounded("hidden_size"), v.bounded("intermediate_size"), v.bounded("head_dim")
	layer := block{width: h, inner: inner, attention: v.bounded("num_attention_heads") * dim, gated: true, norms: 4*h + 2*dim}
	encoder := patches(v, h) + 2*v.bounded("position_embedding_size")*h + v.depth("num_hidden_layers")*layer.parameters()
	if v.flag(false, "standardize") {
		encoder += 2 * h
	}
	return &Tower{Encoder: encoder, Projector: h * m.HiddenSize}
}

// moonTower is Kimi's (moonvit): Kimi-VL states it in usual words, K2.5 with a
// prefix. K3's has RMSNorm, no biases and a width of its own for attention.
func moonTower(_, v *config, m *Model) *Tower {
	v.aliases = map[string]string{
		"hidden_size": "vt_hidden_size", "intermediate_size": "vt_intermediate_size", "num_hidden_layers": "vt_num_hidden_layers",
	}
	h, inner := v.bounded("hidden_size"), v.bounded("intermediate_size")
	layer, normed := biased(h, inner), 2*h
	if v.text("layernorm", "norm_type") == "rmsnorm" {
		layer.norms, normed = 2*h, h
	}
	layer.mlpBias = v.flag(true, "linear_bias")
	layer.qkvBias = v.flag(true, "attn_bias")
	layer.outputBias = layer.qkvBias
	if n, ok := v.count(1, 1<<17, "qkv_hidden_size"); ok {
		layer.attention = n
	}
	rows, ok := v.count(1, 1<<12, "init_pos_emb_height")
	if !ok {
		rows = 64
	}
	columns, ok := v.count(1, 1<<12, "init_pos_emb_width")
	if !ok {
		columns = 64
	}
	encoder := patches(v, h) + rows*columns*h + v.depth("num_hidden_layers")*layer.parameters() + normed
	if v.flag(true, "patch_embed_proj_bias") {
		encoder += h
	}
	wide, out := 4*h, m.HiddenSize // two by two patches are joined
	return &Tower{Encoder: encoder, Projector: normed + wide*wide + wide + wide*out + out}
}

// internTower is InternViT: a scale after each half of a layer; a projector
// over four joined patches.
func internTower(_, v *config, m *Model) *Tower {
	h, inner := v.bounded("hidden_size"), v.bounded("intermediate_size")
	layer := biased(h, inner)
	layer.qkvBias = v.flag(false, "qkv_bias")
	layer.norms = 6 * h
	if v.text("rms_norm", "norm_type") == "rms_norm" {
		layer.norms = 4 * h
	}
	if v.flag(false, "qk_normalization") {
		layer.norms += 2 * h
	}
	wide, out := 4*h, m.HiddenSize
	return &Tower{
		Encoder:   patches(v, h) + h + h + (squared(v)+1)*h + v.depth("num_hidden_layers")*layer.parameters(),
		Projector: 2*wide + wide*out + out + out*out + out,
	}
}

// projector is what wrappers put between a tower of width h and the language
// model.
func projector(root *config, h int, m *Model) int {
	out := m.HiddenSize
	switch kind := root.text("", "model_type"); kind {
	case "gemma3":
		return h*out + h // one matrix and a norm
	case "paligemma":
		return h*out + out
	case "cohere2_vision":
		// Patches are joined; half of the inner width gates the other half.
		factor, inner := root.widthOr(2, "downsample_factor"), root.widthOr(36_864, "alignment_intermediate_size")
		return factor*factor*h*inner + inner + inner/2*out + out
	case "mistral3":
		// Two by two patches are merged, after a norm.
		merge := root.widthOr(2, "spatial_merge_size")
		return h + merge*merge*h*h + mlpProjector(root, h, out, false)
	case "deepseek_vl_v2":
		// Two by two patches are joined; a newline and a separator are learned.
		return 4*h*out + out + out*out + out + 2*out
	case "lfm2_vl":
		factor, inner := root.widthOr(2, "downsample_factor"), root.bounded("projector_hidden_size")
		in, sum := factor*factor*h, 0
		if root.flag(true, "projector_use_layernorm") {
			sum = 2 * in
		}
		if root.flag(true, "projector_bias") {
			sum += inner + out
		}
		return sum + in*inner + inner*out
	case "llava_next", "llava_next_video", "llava_onevision":
		return mlpProjector(root, h*features(root), out, true) + out // image_newline
	}
	return mlpProjector(root, h*features(root), out, true)
}

// features is how many layers' outputs a wrapper joins.
func features(root *config) int {
	if layers, ok := root.fields["vision_feature_layer"].([]any); ok && len(layers) > 0 && len(layers) < 1000 {
		return len(layers)
	}
	return 1
}

// mlpProjector is LLaVA's: two matrices, with biases unless switched off.
func mlpProjector(root *config, in, out int, bias bool) int {
	sum := in*out + out*out
	if root.flag(bias, "multimodal_projector_bias") {
		sum += 2 * out
	}
	return sum
}
