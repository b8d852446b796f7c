package profiles

import "strings"

// A tower's parameters follow from vision_config and the rules of its class in
// transformers. Classes whose rules are not here give a Tower without
// parameters: the plan then says that the tower is not counted.

// block is the shape of one layer of a vision transformer.
type block struct {
	width, inner int
	attention    int  // width of all heads together, where it is not the hidden one
	gated        bool // three matrices in the MLP, not two
	qkvBias      bool
	outputBias   bool
	mlpBias      bool
	norms        int // values per layer in norms and scales
}

func (b block) parameters() int {
	h, n, w := b.width, b.inner, b.attention
	if w == 0 {
		w = h
	}
	sum := 3*h*w + w*h + 2*h*n + b.norms
	if b.gated {
		sum += h * n
	}
	if b.qkvBias {
		sum += 3 * w
	}
	if b.outputBias {
		sum += h
	}
	if b.mlpBias {
		sum += n + h
		if b.gated {
			sum += n
		}
	}
	return sum
}

// biased is the usual block: LayerNorm and biases everywhere.
func biased(width, inner int) block {
	return block{width: width, inner: inner, qkvBias: true, outputBias: true, mlpBias: true, norms: 4 * width}
}

// towerRule reads the tower of one class. v is vision_config, root the file.
type towerRule func(root, v *config, m *Model) *Tower

var towers = map[string]towerRule{
	"siglip_vision_model":  siglipTower,
	"siglip2_vision_model": siglipTower,
	"clip_vision_model":    clipTower,
	"pixtral":              pixtralTower,
	"qwen2_vl":             qwen2Tower,
	"qwen2_5_vl":           qwen25Tower,
	"qwen3_vl":             qwen3Tower,
	"llama4_vision_model":  llama4Tower,
	"mllama_vision_model":  mllamaTower,
	"gemma4_vision":        gemma4Tower,
	"moonvit":              moonTower,
	"intern_vit_6b":        internTower,
	"glm4v":                glm4vTower,
	"idefics3":             ideficsTower,
	"minicpmv":             miniCPMVTower,
}

// readVision reads the tower beside the language model; nil when there is none.
func readVision(root *config, m *Model) *Tower {
	switch outer := root.text("", "model_type"); outer {
	case "qwen2_5_omni_thinker", "qwen3_omni_moe_thinker", "phi4_multimodal", "aria":
		// Beside the tower of images there is one of sound, or a projector of
		// a kind that is not known here.
		return &Tower{Kind: outer}
	}
	v := root.object("vision_config")
	if v == nil {
		if p := root.object("img_processor"); p != nil && m.Type == "phi3_v" {
			return phi3Tower(m)
		}
		// Others state their tower elsewhere, by rules that are not here.
		for _, name := range []string{"visual_tokenizer_config", "vit_config", "vision_encoder", "embd_layer"} {
			if root.fields[name] != nil {
				return &Tower{Kind: root.text(name, "model_type")}
			}
		}
		return nil
	}
	defer root.adopt(v)
	kind := towerKind(root, v)
	rule, ok := towers[kind]
	if !ok {
		return &Tower{Kind: kind}
	}
	v.defaults = towerDefaults[kind]
	t := rule(root, v, m)
	t.Kind = kind
	if t.Encoder < 0 || t.Projector < 0 || float64(t.Encoder)+float64(t.Projector) > maxTower {
		v.refuse("hidden_size", "the tower has more than %.2g parameters", maxTower)
		return nil
	}
	return t
}

// maxTower bounds a tower's parameters; bounds on widths keep products exact.
const maxTower = 1e13

// towerKind is the class of the tower. Qwen's name it after the whole model,
// Kimi's not at all.
func towerKind(root, v *config) string {
	kind := v.text("", "model_type")
	outer := root.text("", "model_type")
	switch {
	case strings.HasPrefix(kind, "qwen3_"), kind == "" && strings.HasPrefix(outer, "qwen3_"):
		return "qwen3_vl"
	case kind == "" && (outer == "qwen2_vl" || outer == "qwen2_5_vl"), kind == "qwen2_vl_vision", kind == "qwen2_5_vl_vision":
		return strings.TrimSuffix(firstOf(kind, outer), "_vision")
	case outer == "idefics3" || outer == "smolvlm":
		return "idefics3"
	case outer == "glm4v" || outer == "glm4v_moe" || outer == "glm46v":
		return "glm4v"
	case outer == "minicpmv" && strings.HasPrefix(kind, "siglip"):
		return "minicpmv"
	case kind == "" && v.fields["vt_hidden_size"] != nil:
		return "moonvit"
	case kind == "vision" && strings.HasPrefix(v.text("", "model_name"), "siglip"):
		return "siglip_vision_model"
	}
	return firstOf(kind, outer)
}

func firstOf(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

// towerDefaults are those of the towers' configuration classes, for fields that
// files leave out.
var towerDefaults = map[string]map[string]any{
	"siglip_vision_model":  {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "image_size": 224, "patch_size": 16},
	"siglip2_vision_model": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_patches": 256, "patch_size": 16},
	"clip_vision_model":    {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "image_size": 224, "patch_size": 32},
	"pixtral":              {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "patch_size": 16},
	"qwen2_vl":             {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2},
	"qwen2_5_vl": {
		"depth": 32, "hidden_size": 3584, "intermediate_size": 3420,
		"out_hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2,
	},
	"qwen3_vl": {
		"depth": 27, "hidden_size": 1152, "intermediate_size": 4304,
		"patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2, "num_position_embeddings": 2304,
	},
	"llama4_vision_model": {
		"hidden_size": 768, "intermediate_size": 5632, "num_hidden_layers": 34, "image_size": 448,
		"patch_size": 14, "vision_output_dim": 7680, "projector_input_dim": 4096, "projector_output_dim": 4096,
	},
	"mllama_vision_model": {
		"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "num_global_layers": 8,
		"image_size": 448, "patch_size": 14, "max_num_tiles": 4, "vision_output_dim": 7680,
	},
	"gemma4_vision": {
		"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 16,
		"head_dim": 64, "num_attention_heads": 12, "patch_size": 16, "position_embedding_size": 10_240,
	},
	"glm4v":         {"hidden_size": 1536, "depth": 24, "image_size": 336, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": 4096, "intermediate_size": 13_696},
	"idefics3":      {"hidden_size": 1152, "intermediate_size": 3072, "num_hidden_layers": 12, "image_size": 224, "patch_size": 32},
	"intern_vit_6b": {"hidden_size": 3200, "intermediate_size": 12_800, "num_hidden_layers": 48, "image_size": 224, "patch_size": 14},
}

// squared is the number of patches in an image.
func squared(v *config) int {
	n := v.bounded("image_size") / v.bounded("patch_size")
	return n * n
}

// bounded reads a width of a tower; products of a few of them are exact.
func (c *config) bounded(names ...string) int {
	n, ok := c.count(1, 1<<17, names...)
	if !ok {
		c.refuse(names[0], "is missing")
		return 1
	}
	return n
}

// depth reads a number of layers of a tower.
func (c *config) depth(names ...string) int {
	n, ok := c.count(0, 1000, names...)
	if !ok {
		c.refuse(names[0], "is missing")
	}
	return n
}

// patches is the convolution that cuts an image, of three colours.
func patches(v *config, width int) int {
	p := v.bounded("patch_size", "spatial_patch_size")
	return 3 * p * p * width
}
