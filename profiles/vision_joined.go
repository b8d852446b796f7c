package profiles

// glm4vTower is GLM-4V's (transformers, modeling_glm4v.py): RMSNorm, a gated MLP
// as wide as the language model, learned positions, a convolution that joins
// patches, and a gated MLP between tower and language model.
func glm4vTower(_, v *config, _ *Model) *Tower {
	h, out, inner := v.bounded("hidden_size"), v.bounded("out_hidden_size"), v.bounded("intermediate_size")
	layer := block{width: h, inner: out, gated: true, qkvBias: v.flag(false, "attention_bias"), norms: 2 * h}
	encoder := v.bounded("temporal_patch_size")*patches(v, h) + h + squared(v)*h + v.depth("depth")*layer.parameters() + 2*h
	merge, _ := v.count(1, 16, "spatial_merge_size")
	return &Tower{Encoder: encoder, Projector: merge*merge*h*out + out + out*out + 2*out + 3*out*inner}
}

// ideficsTower is Idefics 3's and SmolVLM's: SigLIP's layers, and one matrix over
// joined patches.
func ideficsTower(root, v *config, m *Model) *Tower {
	h := v.bounded("hidden_size")
	factor, _ := root.count(1, 16, "scale_factor")
	if factor == 0 {
		factor = 2
	}
	return &Tower{Encoder: siglipEncoder(v, h, v.depth("num_hidden_layers")), Projector: factor * factor * h * m.HiddenSize}
}

// siglipEncoder is SigLIP without a head: patches, positions, layers, a norm.
func siglipEncoder(v *config, h, layers int) int {
	return patches(v, h) + h + squared(v)*h + layers*biased(h, v.bounded("intermediate_size")).parameters() + 2*h
}

// miniCPMVTower is MiniCPM-V's from 2.5 on (vLLM, models/minicpmv.py): SigLIP, in
// some versions without its last layer, and learned queries that attend to the
// patches.
func miniCPMVTower(root, v *config, m *Model) *Tower {
	h, out := v.bounded("hidden_size"), m.HiddenSize
	layers := v.depth("num_hidden_layers")
	if root.flag(false, "drop_vision_last_layer") {
		layers = max(0, layers-1)
	}
	queries, ok := root.count(1, 1<<16, "query_num")
	if !ok {
		root.refuse("query_num", "is missing")
	}
	resampler := queries*out + 4*out*out + 4*out + 6*out + out*out // queries, attention, three norms, projection
	if h != out {
		resampler += h * out
	}
	return &Tower{Encoder: siglipEncoder(v, h, layers), Projector: resampler}
}
