package profiles

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tensor is one entry of a test file.
type tensor struct {
	name, dtype string
	shape       []int
	bytes       int
}

// writeFolder writes a model folder with a config and a safetensors file whose
// data is a hole.
func writeFolder(t *testing.T, config []byte, tensors ...tensor) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	header, at := map[string]any{}, 0
	for _, x := range tensors {
		header[x.name] = map[string]any{"dtype": x.dtype, "shape": x.shape, "data_offsets": []int{at, at + x.bytes}}
		at += x.bytes
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	path := filepath.Join(dir, "model.safetensors")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(data)+at)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// bf16 is a tensor of 16-bit values.
func bf16(name string, shape ...int) tensor {
	n := 2
	for _, d := range shape {
		n *= d
	}
	return tensor{name, "BF16", shape, n}
}

func TestStoredWeights(t *testing.T) {
	one := map[string]any{"num_hidden_layers": 1, "num_key_value_heads": 2}
	layer := func(prefix string) []tensor {
		return []tensor{
			bf16(prefix+"input_layernorm.weight", 64), bf16(prefix+"self_attn.q_proj.weight", 64, 64), bf16(prefix+"self_attn.k_proj.weight", 32, 64),
			bf16(prefix+"self_attn.v_proj.weight", 32, 64), bf16(prefix+"self_attn.o_proj.weight", 64, 64),
			bf16(prefix+"mlp.up_proj.weight", 128, 64),
		}
	}
	kv, split := int64(2*2*32*64), int64(2*(2*64*64+128*64))
	embedding := bf16("model.embed_tokens.weight", 512, 64)
	for _, tc := range []struct {
		name    string
		config  map[string]any
		tensors []tensor
		want    Stored
	}{
		{"dense, untied", nil, append(layer("model.layers.0."), embedding, bf16("lm_head.weight", 512, 64), bf16("model.norm.weight", 64)),
			Stored{Parameters: (kv+split)/2 + 2*512*64 + 2*64, Embedding: 2 * 512 * 64, Head: 2 * 512 * 64, Outer: 128,
				Layers: []StoredLayer{{Split: split, KV: kv, Copied: 128}}}},
		{"a tied head is not loaded", map[string]any{"tie_word_embeddings": true}, append(layer("model.layers.0."), embedding, bf16("lm_head.weight", 512, 64)),
			Stored{Parameters: (kv+split)/2 + 512*64 + 64, Embedding: 2 * 512 * 64, Layers: []StoredLayer{{Split: split, KV: kv, Copied: 128}}}},
		{"tower and prediction layer", map[string]any{"num_nextn_predict_layers": 1},
			append(append(layer("language_model.model.layers.0."), layer("language_model.model.layers.1.")...), embedding,
				bf16("vision_tower.encoder.layers.7.q_proj.weight", 8, 8), bf16("multi_modal_projector.linear_1.weight", 8, 8)),
			Stored{Parameters: (kv+split)/2 + 512*64 + 64, Embedding: 2 * 512 * 64, Vision: 256, MTP: kv + split + 128,
				Layers: []StoredLayer{{Split: split, KV: kv, Copied: 128}}}},
		{"four bits in integers", map[string]any{"quantization_config": map[string]any{"quant_method": "awq", "bits": 4, "group_size": 32}},
			[]tensor{embedding, {"model.layers.0.mlp.up_proj.qweight", "I32", []int{64, 16}, 4096}, bf16("model.layers.0.mlp.up_proj.scales", 2, 128),
				{"model.layers.0.mlp.up_proj.qzeros", "I32", []int{2, 16}, 128}},
			Stored{Parameters: 512*64 + 64*128, Embedding: 2 * 512 * 64, Layers: []StoredLayer{{Split: 4096 + 512 + 128}}}},
		{"experts and router", nil, []tensor{embedding, bf16("model.layers.0.mlp.experts.3.up_proj.weight", 8, 64), bf16("model.layers.0.mlp.gate.weight", 4, 64)},
			Stored{Parameters: 512*64 + 8*64 + 4*64, Embedding: 2 * 512 * 64, Layers: []StoredLayer{{Experts: 1024, Copied: 512}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changes := map[string]any{}
			for k, v := range one {
				changes[k] = v
			}
			for k, v := range tc.config {
				changes[k] = v
			}
			m, err := LoadModel(writeFolder(t, testConfig(changes), tc.tensors...))
			if err != nil {
				t.Fatal(err)
			}
			want := tc.want
			want.Files = 1
			for _, x := range tc.tensors {
				want.Total += int64(x.bytes)
			}
			if diff := cmp.Diff(&want, m.Stored); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStoredSpeaker: what speaks is not loaded with the part that makes text.
func TestStoredSpeaker(t *testing.T) {
	text := map[string]any{}
	if err := json.Unmarshal(testConfig(map[string]any{"num_hidden_layers": 1, "model_type": "qwen2_5_omni_text"}), &text); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"model_type": "qwen2_5_omni", "thinker_config": map[string]any{"model_type": "qwen2_5_omni_thinker", "text_config": text}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := LoadModel(writeFolder(t, config, bf16("thinker.model.embed_tokens.weight", 512, 64), bf16("thinker.lm_head.weight", 512, 64),
		bf16("thinker.model.layers.0.mlp.up_proj.weight", 128, 64), bf16("thinker.audio_tower.layers.7.fc1.weight", 10, 10),
		bf16("talker.model.layers.9.mlp.up_proj.weight", 128, 64), bf16("token2wav.x", 3)))
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Stored; s.Embedding != 2*512*64 || s.Head != 2*512*64 || s.Layers[0].Split != 2*128*64 || s.Vision != 200 || s.Outer != 0 {
		t.Errorf("%+v", s)
	}
}

func TestStoredWeightsThatDoNotFit(t *testing.T) {
	embedding := bf16("model.embed_tokens.weight", 512, 64)
	for _, tc := range []struct {
		name    string
		tensors []tensor
		want    string
	}{
		{"too many layers", []tensor{embedding, bf16("model.layers.9.mlp.up_proj.weight", 8, 8)}, "is of layer 9, the config has 4"},
		{"too few layers", []tensor{embedding, bf16("model.layers.0.mlp.up_proj.weight", 8, 8)}, "layer 1 has no tensor"},
		{"no embedding", []tensor{bf16("model.layers.0.a", 1), bf16("model.layers.1.a", 1), bf16("model.layers.2.a", 1), bf16("model.layers.3.a", 1)}, "is an embedding"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := LoadModel(writeFolder(t, testConfig(nil), tc.tensors...)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestIndexAlone(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.json": string(testConfig(nil)), "model.safetensors.index.json": `{"metadata":{"total_size":1234567},"weight_map":{"a":"model-00001-of-00001.safetensors"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := LoadModel(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Stored{Indexed: 1_234_567, Total: 1_234_567}, m.Stored); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadModel(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("reading weights of %s: reading model.safetensors.index.json", dir)) {
		t.Errorf("damaged index: %v", err)
	}
}
