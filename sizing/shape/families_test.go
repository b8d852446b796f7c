package shape

import (
	"math"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestFamiliesAgainstPublishedTotals reads the facts that a published config
// has and compares with the total that the repository's page or paper states.
func TestFamiliesAgainstPublishedTotals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config string
		total  int64
	}{
		{"gpt2", `{"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"vocab_size":50257}`, 124_439_808},
		{"starcoder", `{"model_type":"gpt_bigcode","n_embd":6144,"n_layer":40,"n_head":48,"n_positions":8192,"n_inner":24576,"vocab_size":49152,"multi_query":true}`, 15_517_456_384},
		{"gpt-j-6b", `{"model_type":"gptj","n_embd":4096,"n_layer":28,"n_head":16,"n_positions":2048,"vocab_size":50400,"tie_word_embeddings":false}`, 6_050_882_784},
		{"gpt-neox-20b", `{"model_type":"gpt_neox","hidden_size":6144,"num_hidden_layers":44,"num_attention_heads":64,"intermediate_size":24576,"vocab_size":50432,"max_position_embeddings":2048,"tie_word_embeddings":false}`, 20_554_567_680},
		{"bloom-7b1", `{"model_type":"bloom","hidden_size":4096,"n_layer":30,"n_head":32,"vocab_size":250880}`, 7_069_016_064},
		{"opt-6.7b", `{"model_type":"opt","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"ffn_dim":16384,"vocab_size":50272,"max_position_embeddings":2048,"word_embed_proj_dim":4096}`, 6_658_473_984},
		{"mpt-7b", `{"model_type":"mpt","d_model":4096,"n_layers":32,"n_heads":32,"max_seq_len":2048,"expansion_ratio":4,"vocab_size":50432,"no_bias":true,"attn_config":{"alibi":true}}`, 6_649_286_656},
		{"phi-2", `{"model_type":"phi","hidden_size":2560,"num_hidden_layers":32,"num_attention_heads":32,"intermediate_size":10240,"vocab_size":51200,"max_position_embeddings":2048}`, 2_779_683_840},
		{"phi-1.5", `{"model_type":"phi","hidden_size":2048,"num_hidden_layers":24,"num_attention_heads":32,"intermediate_size":8192,"vocab_size":51200,"max_position_embeddings":2048}`, 1_418_270_720},
		{"phi-3-small", `{"model_type":"phi3small","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"ff_intermediate_size":14336,"vocab_size":100352,"max_position_embeddings":8192}`, 7_392_272_384},
		{"phi-3.5-moe", `{"model_type":"phimoe","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":6400,"num_local_experts":16,"num_experts_per_tok":2,"vocab_size":32064,"max_position_embeddings":131072,"attention_bias":true,"lm_head_bias":true}`, 41_873_153_344},
		{"stablelm-3b", `{"model_type":"stablelm","hidden_size":2560,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":6912,"vocab_size":50304,"max_position_embeddings":4096}`, 2_795_443_200},
		{"starcoder2-7b", `{"model_type":"starcoder2","hidden_size":4608,"num_hidden_layers":32,"num_attention_heads":36,"num_key_value_heads":4,"intermediate_size":18432,"vocab_size":49152,"max_position_embeddings":16384,"tie_word_embeddings":true}`, 7_173_923_840},
		{"olmo-7b", `{"model_type":"olmo","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"intermediate_size":11008,"vocab_size":50304,"max_position_embeddings":4096}`, 6_888_095_744},
		{"olmo-2-7b", `{"model_type":"olmo2","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"intermediate_size":11008,"vocab_size":100352,"max_position_embeddings":4096}`, 7_298_617_344},
		{"command-r", `{"model_type":"cohere","hidden_size":8192,"num_hidden_layers":40,"num_attention_heads":64,"num_key_value_heads":64,"intermediate_size":22528,"vocab_size":256000,"max_position_embeddings":8192}`, 34_980_831_232},
		{"command-r-plus", `{"model_type":"cohere","hidden_size":12288,"num_hidden_layers":64,"num_attention_heads":96,"num_key_value_heads":8,"intermediate_size":33792,"vocab_size":256000,"max_position_embeddings":8192,"use_qk_norm":true}`, 103_810_674_688},
		{"dbrx", `{"model_type":"dbrx","d_model":6144,"n_layers":40,"n_heads":48,"max_seq_len":32768,"vocab_size":100352,"attn_config":{"kv_n_heads":8},"ffn_config":{"ffn_hidden_size":10752,"moe_num_experts":16,"moe_top_k":4}}`, 131_596_523_520},
		{"deepseek-moe-16b", `{"model_type":"deepseek","hidden_size":2048,"num_hidden_layers":28,"num_attention_heads":16,"intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"first_k_dense_replace":1,"moe_layer_freq":1,"vocab_size":102400,"max_position_embeddings":4096}`, 16_375_728_128},
		{"chatglm3-6b", `{"model_type":"chatglm","hidden_size":4096,"num_layers":28,"num_attention_heads":32,"multi_query_group_num":2,"kv_channels":128,"ffn_hidden_size":13696,"padded_vocab_size":65024,"seq_length":8192,"add_qkv_bias":true,"rmsnorm":true}`, 6_243_584_000},
		{"glm-4-9b-0414", `{"model_type":"glm4","hidden_size":4096,"num_hidden_layers":40,"num_attention_heads":32,"num_key_value_heads":2,"intermediate_size":13696,"vocab_size":151552,"max_position_embeddings":32768,"attention_bias":true}`, 9_400_279_040},
		{"smollm3-3b", `{"model_type":"smollm3","hidden_size":2048,"num_hidden_layers":36,"num_attention_heads":16,"num_key_value_heads":4,"intermediate_size":11008,"vocab_size":128256,"max_position_embeddings":65536}`, 3_075_098_624},
		{"seed-oss-36b", `{"model_type":"seed_oss","hidden_size":5120,"num_hidden_layers":64,"num_attention_heads":80,"num_key_value_heads":8,"head_dim":128,"intermediate_size":27648,"vocab_size":155136,"max_position_embeddings":524288,"attention_bias":true,"attention_out_bias":false}`, 36_151_104_512},
		{"exaone-3.5-7.8b", `{"model_type":"exaone","hidden_size":4096,"num_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"intermediate_size":14336,"vocab_size":102400,"max_position_embeddings":32768,"tie_word_embeddings":false}`, 7_818_448_896},
		{"internlm2-7b", `{"model_type":"internlm2","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":92544,"max_position_embeddings":32768,"bias":false}`, 7_737_708_544},
		{"apertus-8b", `{"model_type":"apertus","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":21504,"vocab_size":131072,"max_position_embeddings":65536}`, 8_053_338_176},
		{"jamba-v0.1", `{"model_type":"jamba","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":65536,"max_position_embeddings":262144,"mamba_d_state":16,"mamba_d_conv":4,"mamba_expand":2,"mamba_dt_rank":256,"num_experts":16,"num_experts_per_tok":2}`, 51_570_323_328},
		{"mamba-2.8b", `{"model_type":"mamba","hidden_size":2560,"num_hidden_layers":64,"state_size":16,"conv_kernel":4,"expand":2,"time_step_rank":160,"vocab_size":50280}`, 2_768_345_600},
		{"falcon-mamba-7b", `{"model_type":"falcon_mamba","hidden_size":4096,"num_hidden_layers":64,"state_size":16,"conv_kernel":4,"intermediate_size":8192,"time_step_rank":256,"vocab_size":65024,"tie_word_embeddings":false}`, 7_272_665_088},
		{"mamba-codestral-7b", `{"model_type":"mamba2","hidden_size":4096,"num_hidden_layers":64,"num_heads":128,"head_dim":64,"n_groups":8,"state_size":128,"conv_kernel":4,"vocab_size":32768,"tie_word_embeddings":false}`, 7_285_403_648},
		{"granite-4.0-h-tiny", `{"model_type":"granitemoehybrid","hidden_size":1536,"num_hidden_layers":40,"num_attention_heads":12,"num_key_value_heads":4,"intermediate_size":512,"shared_intermediate_size":1024,"num_local_experts":64,"num_experts_per_tok":6,"vocab_size":100352,"max_position_embeddings":131072,"mamba_n_heads":48,"mamba_d_head":64,"mamba_n_groups":1,"mamba_d_state":128,"mamba_d_conv":4,"layer_types":["mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","mamba","attention","mamba","mamba","mamba","mamba"]}`, 6_939_037_248},
		{"lfm2-1.2b", `{"model_type":"lfm2","hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"block_ff_dim":12288,"vocab_size":65536,"max_position_embeddings":128000,"conv_L_cache":3,"full_attn_idxs":[2,5,8,10,12,14]}`, 1_170_340_608},
		{"kimi-linear-48b-a3b", `{"model_type":"kimi_linear","hidden_size":2304,"num_hidden_layers":27,"num_attention_heads":32,"intermediate_size":9216,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"q_lora_rank":null,"num_experts":256,"num_experts_per_token":8,"moe_intermediate_size":1024,"num_shared_experts":1,"first_k_dense_replace":1,"moe_layer_freq":1,"vocab_size":163840,"max_position_embeddings":1048576,"linear_attn_config":{"head_dim":128,"num_heads":32,"short_conv_kernel_size":4,"full_attn_layers":[4,8,12,16,20,24,27],"kda_layers":[1,2,3,5,6,7,9,10,11,13,14,15,17,18,19,21,22,23,25,26]}}`, 49_122_681_728},
		{"falcon-h1-0.5b", `{"model_type":"falcon_h1","hidden_size":1024,"num_hidden_layers":36,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":64,"intermediate_size":2048,"vocab_size":32784,"max_position_embeddings":16384,"mamba_n_heads":24,"mamba_d_head":64,"mamba_n_groups":1,"mamba_d_state":128,"mamba_d_conv":4,"mamba_rms_norm":false,"tie_word_embeddings":false}`, 521_411_104},
		{"exaone-4-32b", `{"model_type":"exaone4","hidden_size":5120,"num_hidden_layers":64,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,"intermediate_size":27392,"vocab_size":102400,"max_position_embeddings":131072,"sliding_window":4096,"sliding_window_pattern":"LLLG"}`, 32_003_216_384},
		{"minimax-text-01", `{"model_type":"minimax_text_01","hidden_size":6144,"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"intermediate_size":9216,"num_local_experts":32,"num_experts_per_tok":2,"vocab_size":200064,"max_position_embeddings":10240000,"attn_type_list":[` + strings.TrimSuffix(strings.Repeat("0,0,0,0,0,0,0,1,", 10), ",") + `]}`, 456_089_655_296},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := profiles.ParseModel(tc.name, []byte(tc.config))
			if err != nil {
				t.Fatal(err)
			}
			got := CountParameters(m).Total()
			if e := float64(got)/float64(tc.total) - 1; math.Abs(e) > 0.001 {
				t.Errorf("%d parameters, published are %d (%+.2f %%)", got, tc.total, 100*e)
			} else if got != tc.total {
				t.Logf("%d parameters, published are %d (%+d)", got, tc.total, got-tc.total)
			}
		})
	}
}

// TestTowersAgainstPublishedTotals: language model, tower and projector are what
// the repository's page states.
func TestTowersAgainstPublishedTotals(t *testing.T) {
	for model, total := range map[string]int64{
		"llama-3.2-11b-vision": 10_670_220_835, "llama-4-scout": 108_641_793_536, "llava-1.5-7b": 7_063_427_072,
		"qwen2-vl-2b": 2_208_985_600, "qwen2-vl-7b": 8_291_375_616, "phi-3-vision-128k": 4_146_621_440,
		"gemma-3-27b": 27_432_406_640, "mistral-small-3.2-24b": 24_011_361_280,
	} {
		m := load(t, model)
		if m.Vision == nil {
			t.Errorf("%s has no tower", model)
			continue
		}
		if got := CountParameters(m).Total() + int64(m.Vision.Encoder+m.Vision.Projector); got != total {
			t.Errorf("%s has %d parameters with its tower, published are %d", model, got, total)
		}
	}
}
