package profiles

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestQuantizationDialects: how checkpoints say the same things.
func TestQuantizationDialects(t *testing.T) {
	fp8, nvfp4, mxfp4 := Encoding{Method: "fp8", Bits: 8}, Encoding{Method: "nvfp4", Bits: 4, GroupSize: 16}, Encoding{Method: "mxfp4", Bits: 4, GroupSize: 32}
	group := func(weights string) string {
		return `{"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],"weights":` + weights + `}}}`
	}
	for _, tc := range []struct {
		name, config string
		want         Quantization
	}{
		{"fp8 per tensor", `{"quant_method":"fp8","weight_block_size":null}`, Quantization{Encoding: fp8}},
		{"fp8 by blocks", `{"quant_method":"fp8","weight_block_size":[128,128]}`, Quantization{Encoding: Encoding{Method: "fp8", Bits: 8, GroupSize: 128}}},
		{"fbgemm", `{"quant_method":"fbgemm_fp8","modules_to_not_convert":["a"]}`, Quantization{Encoding: fp8, Kept: []string{"a"}}},
		{"awq", `{"quant_method":"awq","bits":4,"group_size":64}`, Quantization{Encoding: Encoding{Method: "awq", Bits: 4, GroupSize: 64, ZeroPoints: true}}},
		{"gptq, symmetric", `{"quant_method":"gptq","bits":4,"group_size":128,"sym":true}`, Quantization{Encoding: Encoding{Method: "gptq", Bits: 4, GroupSize: 128}}},
		{"gptq, not symmetric, per channel", `{"quant_method":"gptq","bits":8,"group_size":-1,"sym":false}`, Quantization{Encoding: Encoding{Method: "gptq", Bits: 8, ZeroPoints: true}}},
		{"bitsandbytes 4", `{"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_use_double_quant":true,"llm_int8_skip_modules":["lm_head"]}`,
			Quantization{Encoding: Encoding{Method: "nf4", Bits: 4, GroupSize: 64, DoubleScale: true}, Kept: []string{"lm_head"}}},
		{"bitsandbytes 8", `{"quant_method":"bitsandbytes","load_in_8bit":true}`, Quantization{Encoding: Encoding{Method: "int8", Bits: 8}}},
		{"compressed: int4 groups", group(`{"num_bits":4,"type":"int","group_size":32,"symmetric":true}`), Quantization{Encoding: Encoding{Method: "int4", Bits: 4, GroupSize: 32}}},
		{"compressed: int4 with zero points", group(`{"num_bits":4,"type":"int","group_size":128,"symmetric":false}`), Quantization{Encoding: Encoding{Method: "int4", Bits: 4, GroupSize: 128, ZeroPoints: true}}},
		{"compressed: int8", group(`{"num_bits":8,"type":"int","group_size":null,"symmetric":true}`), Quantization{Encoding: Encoding{Method: "int8", Bits: 8, WeightOnly: true}}},
		{"compressed: int8 with activations", `{"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],
			"weights":{"num_bits":8,"type":"int"},"input_activations":{"num_bits":8,"type":"int","dynamic":true}}}}`, Quantization{Encoding: Encoding{Method: "int8", Bits: 8}}},
		{"tensorrt-llm: w8a16", `{"quant_method":"modelopt","quant_algo":"W8A16"}`, Quantization{Encoding: Encoding{Method: "int8", Bits: 8, WeightOnly: true}}},
		{"compressed: fp8 blocks", group(`{"num_bits":8,"type":"float","block_structure":[128,128]}`), Quantization{Encoding: Encoding{Method: "fp8", Bits: 8, GroupSize: 128}}},
		{"compressed: nvfp4", group(`{"num_bits":4,"type":"float","group_size":16}`), Quantization{Encoding: nvfp4}},
		{"compressed: mxfp4", group(`{"num_bits":4,"type":"float","group_size":32}`), Quantization{Encoding: mxfp4}},
		{"compressed: groups of modules", `{"quant_method":"compressed-tensors","config_groups":{
			"group_0":{"targets":["re:.*attn.*"],"weights":{"num_bits":8,"type":"float"}},
			"group_1":{"targets":["re:.*mlp.*"],"weights":{"num_bits":4,"type":"float","group_size":16}}}}`,
			Quantization{Encoding: nvfp4, OnlyParts: true, Parts: []Part{{fp8, []string{"re:.*attn.*"}}, {nvfp4, []string{"re:.*mlp.*"}}}}},
		{"modelopt", `{"quant_method":"modelopt","quant_algo":"NVFP4","group_size":16,"exclude_modules":["lm_head"]}`, Quantization{Encoding: nvfp4, Kept: []string{"lm_head"}}},
		{"modelopt, mixed", `{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"FP8"},"b":{"quant_algo":"W4A16_NVFP4","group_size":16}}}`,
			Quantization{Encoding: nvfp4, OnlyParts: true, Parts: []Part{{fp8, []string{"a"}}, {nvfp4, []string{"b"}}}}},
		{"modelopt over fp8", `{"quant_method":"fp8","quant_algo":"MIXED_PRECISION","ignore":["*.attn.*"],"quantized_layers":{"layers.0.ffn.experts":{"quant_algo":"NVFP4"}}}`,
			Quantization{Encoding: fp8, Parts: []Part{{nvfp4, []string{"layers.0.ffn.experts"}}}}},
		{"quark", `{"quant_method":"quark","exclude":["lm_head"],"global_quant_config":{"weight":{"dtype":"fp4","group_size":32}},"layer_quant_config":{"*self_attn*":{"weight":{"dtype":"fp8_e4m3"}}}}`,
			Quantization{Encoding: mxfp4, Kept: []string{"lm_head"}, Parts: []Part{{fp8, []string{"*self_attn*"}}}}},
		{"fp-quant", `{"quant_method":"fp_quant","forward_dtype":"mxfp4","modules_to_not_convert":["lm_head"]}`, Quantization{Encoding: mxfp4, Kept: []string{"lm_head"}}},
		{"mxfp8", `{"quant_method":"modelopt","quant_algo":"MXFP8"}`, Quantization{Encoding: Encoding{Method: "mxfp8", Bits: 8, GroupSize: 32}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := ParseModel("test", testConfig(map[string]any{"quantization_config": json.RawMessage(tc.config)}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.Quantization, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQuantizationRefusals(t *testing.T) {
	for config, want := range map[string]string{
		`{"quant_method":"aqlm"}`:                                        `quant_method: "aqlm" is not supported`,
		`{"quant_method":"gptq"}`:                                        "bits: is missing",
		`{"quant_method":"gptq","bits":17}`:                              "bits: 17 is outside 2 to 8",
		`{"quant_method":"compressed-tensors"}`:                          "config_groups: is missing",
		`{"quant_method":"compressed-tensors","config_groups":{"a":{}}}`: "a has no weights",
		`{"quant_method":"compressed-tensors","config_groups":{"a":{"weights":{"num_bits":3,"type":"float"}}}}`: "float weights of 3 bits",
		`{"quant_method":"bitsandbytes"}`:                    "load_in_4bit: is missing",
		`{"quant_method":"fp8","ignore":["re:(?!mlp).*"]}`:   `ignore: "re:(?!mlp).*" is no regular expression`,
		`{"quant_method":"quark"}`:                           "global_quant_config: is missing",
		`{"quant_method":"modelopt","quant_algo":"W9"}`:      `quant_algo: "w9" is not supported`,
		`{"quant_method":"fp8","weight_block_size":[1,"x"]}`: "weight_block_size: expected two sizes",
	} {
		_, err := ParseModel("test", testConfig(map[string]any{"quantization_config": json.RawMessage(config)}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}

func FuzzParseQuantConfig(f *testing.F) {
	f.Add([]byte(`{"quantization":{"quant_algo":"NVFP4","group_size":16,"exclude_modules":["lm_head"]}}`))
	f.Add([]byte(`{"quantization_config":{"quant_method":"quark","global_quant_config":{"weight":[{"dtype":"fp4"}]}}}`))
	f.Add([]byte(`{"quantization":{"quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"FP8"}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := parseQuantConfig(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		if q.Method == "" || q.Bits < 1 || q.GroupSize < 0 {
			t.Fatalf("accepted %+v", q)
		}
	})
}
