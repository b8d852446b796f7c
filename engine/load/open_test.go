package load_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/reference"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/internal/weights/gguf/gguftest"
	"github.com/llmctl/llmctl/internal/weights/weightstest"
)

func TestShardedFolder(t *testing.T) {
	dir := folder(t, "qwen3", "qwen3")
	all := tensors(t, dir)
	if err := weightstest.WriteSharded(dir, all[:7], all[7:]); err != nil {
		t.Fatal(err)
	}
	m := open(t, dir, load.Options{Name: "mine"})
	same(t, m.Weights, "qwen3")
	want := []string{filepath.Join(dir, "model-00001-of-00002.safetensors"), filepath.Join(dir, "model-00002-of-00002.safetensors")}
	if diff := cmp.Diff(want, m.Files); diff != "" || m.Weights.Name != "mine" || m.Profile.Name != "mine" {
		t.Errorf("%s, name %q, profile %q", diff, m.Weights.Name, m.Profile.Name)
	}
}

// Gemma 3 that sees has its text model inside, and a config that leaves out what its
// class assumes.
func TestTextPartOfAModelThatSees(t *testing.T) {
	for _, c := range []struct{ name, text, head string }{
		{"transformers before 4.52", "language_model.model.", "language_model."},
		{"transformers since 4.52", "model.language_model.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, "gemma3", "gemma3")
			text := map[string]any{}
			change(t, filepath.Join(dir, "config.json"), nil)
			readInto(t, filepath.Join(dir, "config.json"), text)
			change(t, filepath.Join(dir, "config.json"), map[string]any{
				"model_type": "gemma3", "architectures": []string{"Gemma3ForConditionalGeneration"}, "text_config": text,
				// A wrapper's own fields of these names are not the text model's.
				"query_pre_attn_scalar": 999, "hidden_activation": "relu",
			})
			all := tensors(t, dir)
			for i := range all {
				all[i].Name = c.text + strings.TrimPrefix(all[i].Name, "model.")
			}
			all = append(all, tensor(t, "vision_tower.patch.weight", block.F32, 4, 4), tensor(t, "multi_modal_projector.weight", block.BF16, 4),
				tensor(t, c.head+"lm_head.weight", block.F32, 2, 2))
			put(t, dir, all)
			same(t, open(t, dir, load.Options{}).Weights, "gemma3")
		})
	}
}

func TestHarmlessTensorsAreIgnored(t *testing.T) {
	dir := folder(t, "smollm2", "smollm2")
	put(t, dir, append(tensors(t, dir), tensor(t, "model.layers.0.self_attn.rotary_emb.inv_freq", block.F32, 4), tensor(t, "lm_head.weight", block.F32, 48, 24)))
	same(t, open(t, dir, load.Options{}).Weights, "smollm2")
}

// Transformers 5 writes rope_parameters, per kind of layer where they differ.
func TestConfigsOfTransformers5(t *testing.T) {
	dir := folder(t, "gemma3-linear", "gemma3")
	change(t, filepath.Join(dir, "config.json"), map[string]any{
		"rope_scaling": nil, "rope_theta": nil, "rope_local_base_freq": nil,
		"rope_parameters": map[string]any{
			"full_attention":    map[string]any{"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
			"sliding_attention": map[string]any{"rope_type": "default", "rope_theta": 1e4},
		},
	})
	same(t, open(t, dir, load.Options{}).Weights, "gemma3-linear")

	dir = folder(t, "llama3", "llama")
	change(t, filepath.Join(dir, "config.json"), map[string]any{
		"rope_scaling": nil, "rope_theta": nil,
		"rope_parameters": map[string]any{
			"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
		},
	})
	same(t, open(t, dir, load.Options{}).Weights, "llama3")
}

// With a max_model_len within the window before scaling, Phi-3's short factors count.
func TestLongRopeIsChosenByMaxModelLen(t *testing.T) {
	dir := folder(t, "phi3-longrope", "phi3")
	long, short := open(t, dir, load.Options{}).Weights.Ropes[0], open(t, dir, load.Options{MaxModelLen: 16}).Weights.Ropes[0]
	// The last pair's factors are 6 and 1.3.
	if got := short.Frequencies[3] / long.Frequencies[3]; got < 6/1.3-1e-9 || got > 6/1.3+1e-9 || short.Magnitude != long.Magnitude {
		t.Errorf("frequencies of long and short sequences are 1 to %g, magnitudes %g and %g", got, long.Magnitude, short.Magnitude)
	}
}

func TestWhatLiesBesideTheWeights(t *testing.T) {
	const jinja = "{{ messages }}"
	for _, c := range []struct {
		name       string
		tokenizer  map[string]any // tokenizer_config.json
		generation map[string]any // generation_config.json
		files      map[string]string
		check      func(t *testing.T, m *load.Model)
	}{
		{"nothing", nil, nil, nil, func(t *testing.T, m *load.Model) {
			if m.ChatTemplate != "" || m.ToolTemplate != "" || m.BOS != "<s>" || m.EOS != "</s>" || m.Sampling != (load.Sampling{}) {
				t.Errorf("%q %q %q %q %v", m.ChatTemplate, m.ToolTemplate, m.BOS, m.EOS, m.Sampling)
			}
			if diff := cmp.Diff([]int32{1}, m.Weights.EOS); diff != "" {
				t.Error(diff)
			}
		}},
		{"template in tokenizer_config.json", map[string]any{"chat_template": jinja}, nil, nil, func(t *testing.T, m *load.Model) {
			if m.ChatTemplate != jinja {
				t.Errorf("%q", m.ChatTemplate)
			}
		}},
		{"named templates", map[string]any{"chat_template": []any{
			map[string]any{"name": "tool_use", "template": "tools"}, map[string]any{"name": "default", "template": jinja},
		}}, nil, nil, func(t *testing.T, m *load.Model) {
			if m.ChatTemplate != jinja || m.ToolTemplate != "tools" {
				t.Errorf("%q %q", m.ChatTemplate, m.ToolTemplate)
			}
		}},
		{"template of its own wins", map[string]any{"chat_template": "old"}, nil, map[string]string{"chat_template.jinja": jinja, "chat_template.json": `{"chat_template":"older"}`}, func(t *testing.T, m *load.Model) {
			if m.ChatTemplate != jinja {
				t.Errorf("%q", m.ChatTemplate)
			}
		}},
		{"template of its own in JSON", map[string]any{"chat_template": "old"}, nil, map[string]string{"chat_template.json": `{"chat_template":"{{ messages }}"}`}, func(t *testing.T, m *load.Model) {
			if m.ChatTemplate != jinja {
				t.Errorf("%q", m.ChatTemplate)
			}
		}},
		{"ends of the tokenizer and of generation_config.json", map[string]any{"eos_token": map[string]any{"content": "<|im_end|>", "special": true}, "bos_token": "</s>"},
			map[string]any{"eos_token_id": []int{0, 2}}, nil, func(t *testing.T, m *load.Model) {
				if diff := cmp.Diff([]int32{2, 0}, m.Weights.EOS); diff != "" || m.EOS != "<|im_end|>" || m.BOS != "</s>" {
					t.Errorf("%s %q %q", diff, m.EOS, m.BOS)
				}
			}},
		{"a token before every sequence", map[string]any{"bos_token": "<s>", "add_bos_token": true}, nil, nil, func(t *testing.T, m *load.Model) {
			if diff := cmp.Diff([]int32{0}, m.Tokenizer.Begin()); diff != "" {
				t.Error(diff)
			}
		}},
		{"recommended sampling", nil, map[string]any{"temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0, "repetition_penalty": 1.05, "max_new_tokens": 2048, "do_sample": true}, nil, func(t *testing.T, m *load.Model) {
			s := m.Sampling
			if *s.Temperature != 0.6 || *s.TopK != 20 || *s.TopP != 0.95 || *s.MinP != 0 || *s.RepetitionPenalty != 1.05 || *s.MaxNewTokens != 2048 {
				t.Errorf("%+v", s)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, "llama", "llama")
			if c.tokenizer != nil {
				change(t, filepath.Join(dir, "tokenizer_config.json"), c.tokenizer)
			}
			if c.generation != nil {
				change(t, filepath.Join(dir, "generation_config.json"), c.generation)
			}
			for name, text := range c.files {
				write(t, filepath.Join(dir, name), []byte(text))
			}
			c.check(t, open(t, dir, load.Options{}))
		})
	}
}

func TestWhatAGGUFFileSays(t *testing.T) {
	path := filepath.Join("testdata", "llama3", "model.gguf")
	m := open(t, path, load.Options{})
	if m.Weights.Name != "model" || m.ChatTemplate != "{{ messages[0].content }}" || m.BOS != "<s>" || m.EOS != "</s>" {
		t.Errorf("%q %q %q %q", m.Weights.Name, m.ChatTemplate, m.BOS, m.EOS)
	}
	// <|im_end|> ends an answer, though the file does not say so.
	if diff := cmp.Diff([]int32{1, 2}, m.Weights.EOS); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{path}, m.Files); diff != "" {
		t.Error(diff)
	}
	if got := m.Tokenizer.Encode(nil, "he said\n", false); !slices.Equal(got, m.Tokenizer.Encode(nil, "he said\n", true)) || len(got) != 7 {
		t.Errorf("tokens %v", got)
	}
	if p := m.Profile; p.Type != "llama" || len(p.Layers) != 2 || p.VocabSize != 48 || p.MaxPositions != 64 {
		t.Errorf("%+v", p)
	}
}

// Rows of block formats are put in order as they are, without being decoded.
func TestQuantizedRowsAreReordered(t *testing.T) {
	meta, all := parsed(t, "llama3")
	meta["llama.embedding_length"] = uint32(32) // a whole block
	for i, s := range all {
		shape := slices.Clone(s.Shape)
		for j, d := range shape {
			if d == 24 {
				shape[j] = 32
			}
		}
		values := make([]float32, len(s.Data)*32) // more than enough
		kind := block.F32
		if len(shape) == 2 && shape[1] == 32 {
			kind = block.Q8_0
		}
		n := 1
		for _, d := range shape {
			n *= d
		}
		for k := range values[:n] {
			values[k] = float32((k*k*7+i)%13-6) / 13
		}
		if s.Name == "rope_freqs.weight" {
			for k := range values[:n] {
				values[k] = 1
			}
		}
		var err error
		if all[i], err = weightstest.Tensor(s.Name, kind, shape, values[:n]); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := gguftest.Write(filepath.Join(dir, "q8.gguf"), meta, all); err != nil {
		t.Fatal(err)
	}
	for i, s := range all {
		if s.Type == block.Q8_0 {
			values := make([]float32, s.Elements())
			block.Decode(values, s.Type, s.Data)
			var err error
			if all[i], err = weightstest.Tensor(s.Name, block.F32, s.Shape, values); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := gguftest.Write(filepath.Join(dir, "f32.gguf"), meta, all); err != nil {
		t.Fatal(err)
	}
	q8, f32 := open(t, filepath.Join(dir, "q8.gguf"), load.Options{}).Weights, open(t, filepath.Join(dir, "f32.gguf"), load.Options{}).Weights
	if q8.Layers[0].Query.Type != block.Q8_0 {
		t.Fatalf("type %s", q8.Layers[0].Query.Type)
	}
	tokens := []int32{3, 9, 27, 4}
	if diff := cmp.Diff(reference.Logits(f32, tokens), reference.Logits(q8, tokens)); diff != "" {
		t.Error(diff)
	}
}
