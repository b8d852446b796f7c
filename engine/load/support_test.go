package load_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/internal/weights/gguf"
	"github.com/llmctl/llmctl/internal/weights/weightstest"
)

// change rewrites a JSON file of a folder.
func change(t testing.TB, path string, set map[string]any) {
	t.Helper()
	all := map[string]any{}
	if _, err := os.Stat(path); err == nil {
		readInto(t, path, all)
	}
	maps.Copy(all, set)
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, data)
}

// readInto reads an object.
func readInto(t testing.TB, path string, all map[string]any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tensors are copies of those of a folder.
func tensors(t testing.TB, dir string) []weights.Stored {
	t.Helper()
	f, err := weights.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := copied(f.Tensors())
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func copied(from []weights.Stored) []weights.Stored {
	var all []weights.Stored
	for _, s := range from {
		s.Data = bytes.Clone(s.Data)
		all = append(all, s)
	}
	return all
}

// put writes the tensors of a folder anew.
func put(t testing.TB, dir string, all []weights.Stored) {
	t.Helper()
	if err := weightstest.Write(filepath.Join(dir, "model.safetensors"), all); err != nil {
		t.Fatal(err)
	}
}

func tensor(t testing.TB, name string, kind block.Type, shape ...int) weights.Stored {
	t.Helper()
	n := 1
	for _, d := range shape {
		n *= d
	}
	s, err := weightstest.Tensor(name, kind, shape, make([]float32, n))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func without(all []weights.Stored, name string) []weights.Stored {
	var rest []weights.Stored
	for _, s := range all {
		if s.Name != name {
			rest = append(rest, s)
		}
	}
	return rest
}

// parsed are the metadata that these tests change or need, and the tensors, of a file
// of testdata.
func parsed(t testing.TB, name string) (map[string]any, []weights.Stored) {
	t.Helper()
	f, err := gguf.Open(filepath.Join("testdata", name, "model.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	arch, _, _ := f.String("general.architecture")
	meta := map[string]any{"general.architecture": arch}
	for _, key := range []string{
		"embedding_length", "block_count", "feed_forward_length", "attention.head_count", "attention.head_count_kv", "context_length",
		"attention.key_length", "attention.value_length", "rope.dimension_count",
	} {
		if n, ok, err := f.Uint(arch + "." + key); err != nil {
			t.Fatal(err)
		} else if ok {
			meta[arch+"."+key] = uint32(n)
		}
	}
	for _, key := range []string{"attention.layer_norm_rms_epsilon", "rope.freq_base"} {
		x, _, _ := f.Float(arch + "." + key)
		meta[arch+"."+key] = float32(x)
	}
	meta["tokenizer.ggml.model"], meta["tokenizer.ggml.pre"] = "gpt2", "gpt-2"
	meta["tokenizer.ggml.tokens"], _, _ = f.Strings("tokenizer.ggml.tokens")
	meta["tokenizer.ggml.merges"], _, _ = f.Strings("tokenizer.ggml.merges")
	return meta, copied(f.Tensors())
}
