package shape

import "github.com/llmctl/llmctl/profiles"

// part says what a module is, which decides whether formats quantize it.
type part int

const (
	mixerPart  part = iota // projections of a token mixer
	densePart              // dense MLPs, shared experts
	expertPart             // routed experts
	routerPart             // routers and gates of shared experts, never quantized
	smallPart              // norms, biases and the like, never quantized
)

// spread says which ranks of tensor parallelism hold a module.
type spread int

const (
	divided spread = iota // each rank a share
	byKV                  // divided among as many ranks as there are KV heads, copied beyond
	copied                // each rank all of it
)

// module is one weight matrix of a layer, or several that share a fate. Names
// are those of transformers' Llama and Mixtral; other spellings in checkpoints
// are brought to these (see rules).
type module struct {
	name       string // in the layer, such as "self_attn.q_proj"
	part       part
	spread     spread
	parameters int64
	visited    int64 // the part that one token visits, for experts
	heads      int   // KV heads, for byKV
}

// layerModules appends the modules of one layer to list.
func layerModules(list []module, m *profiles.Model, layer profiles.Layer) []module {
	list = mixerModules(list, m, layer.Attention)
	list = mlpModules(list, m, layer.MLP)
	return append(list, small(normSize(m)*int64(layerNorms(m, layer))+int64(m.LayerSmall)))
}

// layerNorms leaves out the norms of a half that the layer does not have; where
// layers have one norm, it is that of the one thing they hold.
func layerNorms(m *profiles.Model, layer profiles.Layer) int {
	n := m.Norms
	if m.Norms < 2 {
		return n
	}
	if layer.Attention.Kind == profiles.NoAttention {
		n -= m.Norms / 2
	}
	if layer.MLP == (profiles.MLP{}) {
		n -= m.Norms / 2
	}
	return n
}

// small stands for a layer's values that are no matrices.
func small(parameters int64) module {
	return module{name: "norm", part: smallPart, spread: copied, parameters: parameters}
}

// normSize is the parameters of one norm over the hidden width.
func normSize(m *profiles.Model) int64 {
	if m.NormBias {
		return 2 * int64(m.HiddenSize)
	}
	return int64(m.HiddenSize)
}

// mixerModules appends what mixes tokens: attention, a linear mixer, or both.
func mixerModules(list []module, m *profiles.Model, a profiles.Attention) []module {
	list = linearModules(list, int64(m.HiddenSize), a.State)
	switch a.Kind {
	case profiles.NoAttention, profiles.LinearAttention:
		return list
	case profiles.LatentAttention:
		return latentModules(list, int64(m.HiddenSize), a)
	case profiles.CompressedAttention:
		return compressedModules(list, int64(m.HiddenSize), a)
	}
	return softmaxModules(list, m, a)
}

// softmaxModules are the projections of multi-head and grouped-query attention.
func softmaxModules(list []module, m *profiles.Model, a profiles.Attention) []module {
	h, heads, kv := int64(m.HiddenSize), int64(a.Heads), int64(a.KVHeads)
	dim, value := int64(a.HeadDim), int64(a.ValueDim)
	query, keys, values, other := heads*dim, kv*dim, kv*value, int64(0)
	if a.BorrowsWeights {
		return append(list, small(int64(a.Small)))
	}
	if a.SharedKV {
		values = 0
	}
	if a.ReusedKV && !a.KeepsKV {
		keys, values = 0, 0
	}
	from := h
	if a.InputWidth > 0 {
		from = int64(a.InputWidth)
	}
	input := from
	if m.AttentionBias {
		other += query + keys + values
	}
	if m.OutputBias {
		other += h
	}
	switch {
	case a.ReusedKV && !a.KeepsKV && m.QKNorm:
		other += dim
	case m.QKNorm:
		other += 2 * dim
	case m.QKNormWide:
		other += query + keys
	}
	if a.Sinks {
		other += heads
	}
	gate := int64(0)
	if a.OutputGate {
		gate = query
	}
	gate += int64(a.HeadGate) * heads
	if rank := int64(a.QueryRank); rank > 0 && a.IndexDim == 0 {
		// Step3's query goes through a narrower space that every rank holds.
		list = append(list, module{name: "self_attn.q_proj", spread: copied, parameters: from * rank}, small(rank))
		from = rank
	}
	list = append(list,
		module{name: queryName(a), parameters: from * (query + gate)},
		module{name: "self_attn.k_proj", spread: byKV, parameters: input * keys, heads: a.KVHeads},
		module{name: "self_attn.v_proj", spread: byKV, parameters: input * values, heads: a.KVHeads},
		module{name: "self_attn.o_proj", parameters: heads * value * h},
		small(other+int64(a.Small)))
	return indexModules(list, h, a)
}

// queryName is the projection to the heads' queries.
func queryName(a profiles.Attention) string {
	if a.QueryRank > 0 && a.IndexDim == 0 {
		return "self_attn.wq"
	}
	return "self_attn.q_proj"
}

// indexModules is the index of sparse attention: queries from the compressed
// query where there is one, a shared key, a weight per head (DeepSeek-V3.2,
// MiniMax-M3).
func indexModules(list []module, h int64, a profiles.Attention) []module {
	if a.IndexDim == 0 {
		return list
	}
	from := h
	if a.QueryRank > 0 {
		from = int64(a.QueryRank)
	}
	width, heads := int64(a.IndexDim), int64(a.IndexHeads)
	list = append(list,
		module{name: "self_attn.indexer.wq_b", spread: copied, parameters: from * heads * width},
		module{name: "self_attn.indexer.wk", spread: copied, parameters: h * width})
	if a.IndexWeights {
		list = append(list, module{name: "self_attn.indexer.weights_proj", spread: copied, parameters: h * heads})
	}
	return append(list, small(2*width))
}

// latentModules is MLA: a compressed query (or a plain one), the joint
// compression of K and V with the shared rotary key, its expansion and the
// output. Compressions are whole on every rank.
func latentModules(list []module, h int64, a profiles.Attention) []module {
	heads, rank, query := int64(a.Heads), int64(a.LatentRank), int64(a.QueryRank)
	dim, rope, value := int64(a.HeadDim), int64(a.RopeHeadDim), int64(a.ValueDim)
	if query > 0 {
		list = append(list,
			module{name: "self_attn.q_a_proj", spread: copied, parameters: h * query},
			module{name: "self_attn.q_b_proj", parameters: query * heads * dim})
	} else {
		list = append(list, module{name: "self_attn.q_proj", parameters: h * heads * dim})
	}
	if a.OutputGate {
		list = append(list, module{name: "self_attn.g_proj", parameters: h * heads * value})
	}
	list = append(list,
		module{name: "self_attn.kv_a_proj_with_mqa", spread: copied, parameters: h * (rank + rope)},
		module{name: "self_attn.kv_b_proj", parameters: rank * heads * (dim - rope + value)},
		module{name: "self_attn.o_proj", parameters: heads * value * h},
		small(query+rank))
	return indexModules(list, h, a)
}

// mlpModules appends a dense MLP, shared experts, routed experts and a router.
func mlpModules(list []module, m *profiles.Model, x profiles.MLP) []module {
	h := int64(m.HiddenSize)
	matrices := int64(2)
	if x.Gated {
		matrices = 3
	}
	other := int64(0)
	if n := int64(x.Intermediate); n > 0 {
		list = dense(list, "mlp.", h, n, x.Gated)
		if m.MLPBias {
			other += (matrices-1)*n + h
		}
	}
	if n := int64(x.SharedIntermediate); n > 0 {
		list = dense(list, "mlp.shared_experts.", h, n, x.Gated)
	}
	if x.Experts == 0 {
		return append(list, small(other))
	}
	experts, inner := int64(x.Experts), h
	if x.ExpertHidden > 0 {
		inner = int64(x.ExpertHidden)
		list = append(list,
			module{name: "mlp.fc1_latent_proj", part: densePart, spread: copied, parameters: h * inner},
			module{name: "mlp.fc2_latent_proj", part: densePart, spread: copied, parameters: h * inner})
	}
	one := matrices * inner * int64(x.ExpertIntermediate)
	if m.MLPBias && !x.BiasFree {
		one += (matrices-1)*int64(x.ExpertIntermediate) + h
	}
	router := h * experts
	if x.RouterBias {
		other += experts
	}
	if x.SharedGate {
		router += h
	}
	prefix := "mlp."
	if x.Intermediate > 0 {
		prefix = "" // beside a dense MLP, not inside of it (Gemma 4)
	}
	return append(list,
		module{name: prefix + "experts", part: expertPart, parameters: one * experts, visited: one * int64(x.ExpertsPerToken)},
		module{name: prefix + "gate", part: routerPart, spread: copied, parameters: router},
		small(other+int64(x.Small)))
}

func dense(list []module, prefix string, h, n int64, gated bool) []module {
	if gated {
		list = append(list, module{name: prefix + "gate_proj", part: densePart, parameters: h * n})
	}
	return append(list,
		module{name: prefix + "up_proj", part: densePart, parameters: h * n},
		module{name: prefix + "down_proj", part: densePart, parameters: h * n})
}
