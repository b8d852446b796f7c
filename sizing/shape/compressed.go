package shape

import "github.com/llmctl/llmctl/profiles"

// compressedModules is DeepSeek-V4's attention (vLLM, models/deepseek_v4.py and
// layers/deepseek_compressor.py): a compressed query, one shared vector that is
// key and value, an output through OutputGroups low ranks, and on layers that
// compress a second projection with a gate and a learned position per place in
// a group. Layers that compress by 4 overlap their groups, which doubles both,
// and choose what to read by an index with a compressor of its own.
func compressedModules(list []module, h int64, a profiles.Attention) []module {
	heads, dim, query := int64(a.Heads), int64(a.HeadDim), int64(a.QueryRank)
	groups, rank := int64(a.OutputGroups), int64(a.OutputRank)
	list = append(list,
		module{name: "self_attn.wq_a", spread: copied, parameters: h * query},
		module{name: "self_attn.wq_b", parameters: query * heads * dim},
		module{name: "self_attn.wkv", spread: copied, parameters: h * dim},
		module{name: "self_attn.wo_a", parameters: heads * dim * rank},
		module{name: "self_attn.wo_b", parameters: groups * rank * h})
	other := query + dim + heads // two norms and the sinks
	list, other = compressorModules(list, other, h, dim, int64(a.Compression))
	if a.IndexDim > 0 {
		width, n := int64(a.IndexDim), int64(a.IndexHeads)
		list = append(list,
			module{name: "self_attn.indexer.wq_b", spread: copied, parameters: query * n * width},
			module{name: "self_attn.indexer.weights_proj", spread: copied, parameters: h * n})
		list, other = compressorModules(list, other, h, width, int64(a.Compression))
	}
	return append(list, small(other))
}

func compressorModules(list []module, other, h, dim, ratio int64) ([]module, int64) {
	if ratio == 0 {
		return list, other
	}
	copies := int64(1)
	if ratio == overlapRatio {
		copies = 2
	}
	list = append(list, module{name: "self_attn.compressor.wkv_gate", part: routerPart, spread: copied, parameters: 2 * h * copies * dim})
	return list, other + ratio*copies*dim + dim
}

// overlapRatio is the ratio at which groups overlap.
const overlapRatio = 4
