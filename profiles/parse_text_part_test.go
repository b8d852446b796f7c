package profiles

import "testing"

// TestSparseTextParts reads wrappers whose text part states only what differs from
// its class, or names no type.
func TestSparseTextParts(t *testing.T) {
	for name, tc := range map[string]struct {
		config string
		kind   string
		layers int
		hidden int
		heads  int
		kv     int
	}{
		"mistral in LLaVA-NeXT": {`{"architectures": ["LlavaNextForConditionalGeneration"], "model_type": "llava_next", "tie_word_embeddings": false,
			"text_config": {"model_type": "mistral", "vocab_size": 32064, "intermediate_size": 14336, "max_position_embeddings": 32768,
			"num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": null, "torch_dtype": "float16"}}`,
			"mistral", 32, 4096, 32, 8},
		"gemma in PaliGemma, without a type": {`{"architectures": ["PaliGemmaForConditionalGeneration"], "model_type": "paligemma",
			"text_config": {"hidden_size": 2048, "intermediate_size": 16384, "num_attention_heads": 8, "num_hidden_layers": 18,
			"num_key_value_heads": 1, "vocab_size": 257216, "torch_dtype": "float32"}}`,
			"gemma", 18, 2048, 8, 1},
		"llama in LLaVA, without a type": {`{"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava",
			"text_config": {"vocab_size": 32064, "max_position_embeddings": 4096, "rms_norm_eps": 1e-05}}`,
			"llama", 32, 4096, 32, 32},
		"a wide Mistral in Pixtral": {`{"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava",
			"text_config": {"model_type": "mistral", "head_dim": 128, "hidden_size": 5120, "intermediate_size": 14336, "max_position_embeddings": 1024000,
			"num_hidden_layers": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000000.0, "sliding_window": null, "vocab_size": 131072}}`,
			"mistral", 40, 5120, 32, 8},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ParseModel(name, []byte(tc.config))
			if err != nil {
				t.Fatal(err)
			}
			a := m.Layers[0].Attention
			if m.Type != tc.kind || len(m.Layers) != tc.layers || m.HiddenSize != tc.hidden || a.Heads != tc.heads || a.KVHeads != tc.kv {
				t.Errorf("%s of %d layers, hidden %d, %d heads, %d KV heads", m.Type, len(m.Layers), m.HiddenSize, a.Heads, a.KVHeads)
			}
		})
	}
}

// TestLayersAsAList: Nemotron-3 Ultra names each layer and gives no count.
func TestLayersAsAList(t *testing.T) {
	root, err := decodeConfig([]byte(`{"layers_block_type": ["mamba", "moe", "attention"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := layerCount(root); n != 3 {
		t.Errorf("%d layers", n)
	}
	if both, _ := decodeConfig([]byte(`{"num_hidden_layers": 2, "layers_block_type": ["mamba"]}`)); layerCount(both) != 2 {
		t.Error("a count that is stated wins")
	}
}
