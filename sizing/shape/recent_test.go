package shape

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// The facts of published files.
const (
	solarOpen = `{"model_type":"solar_open","hidden_size":4096,"num_hidden_layers":48,"num_attention_heads":64,"head_dim":128,"num_key_value_heads":8,
		"vocab_size":196608,"intermediate_size":10240,"moe_intermediate_size":1280,"max_position_embeddings":131072,"n_routed_experts":128,"n_shared_experts":1,
		"num_experts_per_tok":8,"tie_word_embeddings":false,"first_k_dense_replace":0,"rope_scaling":{"type":"yarn","factor":2.0,"original_max_position_embeddings":65536}}`
	trinityMini = `{"model_type":"afmoe","hidden_size":2048,"num_hidden_layers":32,"num_attention_heads":32,"head_dim":128,"num_key_value_heads":4,
		"vocab_size":200192,"intermediate_size":6144,"moe_intermediate_size":1024,"max_position_embeddings":131072,"num_experts":128,"num_shared_experts":1,
		"num_experts_per_tok":8,"num_dense_layers":2,"sliding_window":2048,"global_attn_every_n_layers":4,"tie_word_embeddings":false}`
	aria = `{"model_type":"aria","text_config":{"model_type":"aria_text","hidden_size":2560,"num_hidden_layers":28,"num_attention_heads":20,"num_key_value_heads":20,
		"vocab_size":100352,"intermediate_size":1664,"max_position_embeddings":65536,"moe_num_experts":64,"moe_topk":6,"moe_num_shared_experts":2},
		"vision_config":{"model_type":"idefics3_vision"}}`
	mistralSmall4 = `{"model_type":"mistral4","hidden_size":4096,"intermediate_size":12288,"moe_intermediate_size":2048,"num_hidden_layers":36,"num_attention_heads":32,
		"num_key_value_heads":32,"n_shared_experts":1,"n_routed_experts":128,"kv_lora_rank":256,"q_lora_rank":1024,"qk_rope_head_dim":64,"v_head_dim":128,"qk_nope_head_dim":64,
		"num_experts_per_tok":4,"first_k_dense_replace":0,"max_position_embeddings":1048576,"vocab_size":131072,"tie_word_embeddings":false,
		"rope_parameters":{"type":"yarn","factor":128.0,"original_max_position_embeddings":8192}}`
	smolVLM = `{"model_type":"idefics3","scale_factor":3,"text_config":{"model_type":"llama","hidden_size":2048,"num_hidden_layers":24,"num_attention_heads":32,
		"num_key_value_heads":32,"intermediate_size":8192,"vocab_size":49155,"max_position_embeddings":16384},
		"vision_config":{"model_type":"idefics3","hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,"image_size":384,"patch_size":14}}`
	miniCPMV26 = `{"model_type":"minicpmv","version":2.6,"hidden_size":3584,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"intermediate_size":18944,
		"vocab_size":151666,"max_position_embeddings":32768,"tie_word_embeddings":false,"query_num":64,"drop_vision_last_layer":false,
		"vision_config":{"model_type":"siglip","hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,"image_size":980,"patch_size":14}}`
	glm41V = `{"model_type":"glm4v","text_config":{"model_type":"glm4v_text","hidden_size":4096,"num_hidden_layers":40,"num_attention_heads":32,"num_key_value_heads":2,
		"intermediate_size":13696,"vocab_size":151552,"max_position_embeddings":65536},
		"vision_config":{"depth":24,"hidden_size":1536,"image_size":336,"patch_size":14,"out_hidden_size":4096,"intermediate_size":13696,"spatial_merge_size":2,"temporal_patch_size":2}}`
	qwen3Omni = `{"model_type":"qwen3_omni_moe","talker_config":{},"thinker_config":{"model_type":"qwen3_omni_moe_thinker","audio_config":{},"vision_config":{},
		"text_config":{"model_type":"qwen3_omni_moe_text","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,
		"moe_intermediate_size":768,"intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,"vocab_size":152064,"max_position_embeddings":65536}}}`
	qwen25Omni = `{"model_type":"qwen2_5_omni","thinker_config":{"model_type":"qwen2_5_omni_thinker","audio_config":{},"vision_config":{},
		"text_config":{"model_type":"qwen2_5_omni_text","hidden_size":3584,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,
		"intermediate_size":18944,"vocab_size":152064,"max_position_embeddings":32768}}}`
	phi4Multimodal = `{"model_type":"phi4mm","hidden_size":3072,"num_hidden_layers":32,"num_attention_heads":24,"num_key_value_heads":8,"intermediate_size":8192,
		"vocab_size":200064,"max_position_embeddings":131072,"sliding_window":262144,"tie_word_embeddings":true,"partial_rotary_factor":0.75,"embd_layer":{}}`
)

// kExaone lists each layer.
var kExaone = `{"model_type":"exaone_moe","hidden_size":6144,"num_hidden_layers":48,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"intermediate_size":18432,
	"moe_intermediate_size":2048,"num_experts":128,"num_experts_per_tok":8,"num_shared_experts":1,"vocab_size":153600,"max_position_embeddings":262144,"sliding_window":128,
	"sliding_window_pattern":"LLLG","tie_word_embeddings":false,"is_moe_layer":[false` + strings.Repeat(",true", 47) + `]}`

// step3 is the text part of stepfun-ai/step3: layers 4 to 59 have experts.
func step3() string {
	var layers []string
	for i := 4; i < 60; i++ {
		layers = append(layers, strconv.Itoa(i))
	}
	return `{"model_type":"step3_text","hidden_size":7168,"intermediate_size":18432,"num_attention_heads":64,"num_attention_groups":1,"num_hidden_layers":61,
		"max_position_embedding":65536,"vocab_size":128815,"moe_intermediate_size":5120,"moe_num_experts":48,"moe_top_k":3,"share_expert_dim":5120,"share_q_dim":2048,
		"head_dim":256,"tie_word_embeddings":false,"moe_layers_enum":"` + strings.Join(layers, ",") + `"}`
}

// TestRecentFamiliesAgainstPublishedTotals: model cards state billions, rounded or
// cut off. What they call active differs by whether embeddings count, so that it
// is compared where they do.
func TestRecentFamiliesAgainstPublishedTotals(t *testing.T) {
	for _, tc := range []struct {
		name          string
		config        string
		total, active float64 // billions; 0 when not published for this part
		digit         float64 // of the last digit published
		tower         bool    // counts
	}{
		{"solar-open-100b", solarOpen, 102.6, 12, 0.1, false},
		{"k-exaone-236b-a23b", kExaone, 236, 23, 1, false},
		{"step3, text", step3(), 316, 38, 1, false},
		{"trinity-mini", trinityMini, 26, 0, 1, false},
		{"aria, text", aria, 24.9, 0, 0.1, false},
		{"mistral-small-4-119b", mistralSmall4, 119, 6, 1, false},
		{"smolvlm-instruct", smolVLM, 2.25, 0, 0.01, true},
		{"minicpm-v-2.6", miniCPMV26, 8.1, 0, 0.1, true},
		{"glm-4.1v-9b", glm41V, 10.3, 0, 0.1, true},
		{"qwen3-omni-30b-a3b, thinker's text", qwen3Omni, 30.5, 3.3, 0.1, false},
		{"qwen2.5-omni-7b, thinker's text", qwen25Omni, 7.62, 0, 0.01, false},
		{"phi-4-multimodal, text", phi4Multimodal, 3.8, 0, 0.1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := profiles.ParseModel(tc.name, []byte(tc.config))
			if err != nil {
				t.Fatal(err)
			}
			p := CountParameters(m)
			total, active := float64(p.Total()), float64(p.Active())
			if tc.tower {
				total += float64(m.Vision.Encoder + m.Vision.Projector)
			} else if m.Vision != nil && m.Vision.Encoder != 0 {
				t.Errorf("a tower of %d parameters is counted, by no rule that is known", m.Vision.Encoder)
			}
			t.Logf("%.0f parameters, %.0f active", total, active)
			if math.Abs(total/1e9-tc.total) > tc.digit {
				t.Errorf("%.4g billion parameters, published are %v", total/1e9, tc.total)
			}
			if tc.active > 0 && math.Abs(active/1e9/tc.active-1) > 0.15 {
				t.Errorf("%.4g billion active parameters, published are %v", active/1e9, tc.active)
			}
		})
	}
}

// TestTowersAgainstPublishedFiles: the parameters in the files of the repository.
func TestTowersAgainstPublishedFiles(t *testing.T) {
	for config, want := range map[string]int64{smolVLM: 2_246_272_880, miniCPMV26: 8_099_175_152, glm41V: 10_292_777_472} {
		m, err := profiles.ParseModel("x", []byte(config))
		if err != nil {
			t.Fatal(err)
		}
		if got := CountParameters(m).Total() + int64(m.Vision.Encoder+m.Vision.Projector); got != want {
			t.Errorf("%s: %d parameters, published are %d", m.Vision.Kind, got, want)
		}
	}
}
