package sizing

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkpoint writes a folder with a small Llama: its config, and a safetensors
// file whose tensors have widths of their own.
func checkpoint(t *testing.T, inner int) string {
	t.Helper()
	dir := t.TempDir()
	config := `{"model_type":"llama","hidden_size":1024,"num_hidden_layers":2,"num_attention_heads":8,"intermediate_size":2048,
		"vocab_size":1024,"max_position_embeddings":8192,"tie_word_embeddings":true,"torch_dtype":"bfloat16"}`
	header, at := map[string]any{}, 0
	add := func(name string, shape ...int) {
		bytes := 2
		for _, n := range shape {
			bytes *= n
		}
		header[name] = map[string]any{"dtype": "BF16", "shape": shape, "data_offsets": []int{at, at + bytes}}
		at += bytes
	}
	add("model.embed_tokens.weight", 1024, 1024)
	add("model.norm.weight", 1024)
	for _, layer := range []string{"model.layers.0.", "model.layers.1."} {
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
			add(layer+"self_attn."+name+".weight", 1024, 1024)
		}
		add(layer+"mlp.gate_proj.weight", inner, 1024)
		add(layer+"mlp.up_proj.weight", inner, 1024)
		add(layer+"mlp.down_proj.weight", 1024, inner)
		add(layer+"input_layernorm.weight", 1024)
		add(layer+"post_attention_layernorm.weight", 1024)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	for name, content := range map[string][]byte{"config.json": []byte(config), "model.safetensors": data} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, "model.safetensors"), int64(len(data)+at)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWeightsFromHeaders: files that agree with the config give the formula's
// bytes, others their own and a warning.
func TestWeightsFromHeaders(t *testing.T) {
	for _, tc := range []struct {
		name    string
		inner   int
		warning string
	}{
		{"as the config", 2048, ""},
		{"wider than the config", 4096, "the tensors in the 1 files have 34,608,128 parameters, by the config there are 22,025,216: +57.1%"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := checkpoint(t, tc.inner)
			p := mustCompute(t, scenario(func(r *Request) { r.Scenario.Model = dir }))
			parameters := int64(1024*1024 + 1024 + 2*(4*1024*1024+3*1024*tc.inner+2*1024))
			if p.Model.Parameters != parameters {
				t.Errorf("%d parameters, want %d", p.Model.Parameters, parameters)
			}
			// The table of sines: 8,192 rows of 128 values.
			if want := 2 * (parameters + 8192*128); p.Memory.WeightsBytes != want {
				t.Errorf("%d bytes of weights, want %d", p.Memory.WeightsBytes, want)
			}
			said := ""
			for _, w := range p.Warnings {
				if w.Code == "weights-mismatch" {
					said = w.Text
				}
			}
			if said != tc.warning {
				t.Errorf("warning %q, want %q", said, tc.warning)
			}
			check := 0
			for _, d := range p.Derivation {
				if strings.Contains(d.Source, "headers of 1 safetensors files") {
					check++
				}
			}
			if check < 2 {
				t.Errorf("%d derivations name the headers, want parameters and weights", check)
			}
		})
	}
}

// TestStaleIndex: an index that tells another size than the headers do.
func TestStaleIndex(t *testing.T) {
	for total, want := range map[string]string{
		"1": "the index of the weights says 1 B in all, the headers of its 1 files 42.0 MiB: -100.0%", "1e15": "says 909 TiB in all", "44050432": "",
	} {
		dir := checkpoint(t, 2048)
		index := `{"metadata":{"total_size":` + total + `},"weight_map":{"model.norm.weight":"model.safetensors"}}`
		if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(index), 0o600); err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, w := range mustCompute(t, scenario(func(r *Request) { r.Scenario.Model = dir })).Warnings {
			if w.Code == "weights-mismatch" {
				said += w.Text
			}
		}
		if (want == "") != (said == "") || !strings.Contains(said, want) {
			t.Errorf("total %s: %q, want %q", total, said, want)
		}
	}
}
