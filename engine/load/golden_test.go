package load_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/reference"
	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// folders are the models of testdata, each with the folder whose weights it takes:
// the logits in them are those of transformers (testdata/make.py).
var folders = []struct {
	name, weights string
	positions     int // 0 is the model's window
}{
	{"llama", "llama", 0}, {"llama3", "llama", 0}, {"llama-linear", "llama", 0}, {"llama-dynamic", "llama", 24}, {"smollm2", "smollm2", 0},
	{"mistral", "llama", 0}, {"qwen2", "qwen2", 0}, {"qwen2-full", "qwen2", 0}, {"qwen2-yarn", "qwen2", 0}, {"qwen3", "qwen3", 0},
	{"phi3", "phi3", 0}, {"phi3-full", "phi3", 0}, {"phi3-longrope", "phi3", 0}, {"phi4-mini", "phi3", 32},
	{"gemma2", "gemma2", 0}, {"gemma2-head", "gemma2", 0}, {"gemma3", "gemma3", 0}, {"gemma3-linear", "gemma3", 0},
	{"mixtral", "mixtral", 0}, {"qwen3moe", "qwen3moe", 0}, {"qwen3moe-plain", "qwen3moe", 0}, {"qwen3moe-dense", "qwen3moe-dense", 0},
}

// folder puts a model of testdata together where a test may change it.
func folder(t testing.TB, name, weights string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{filepath.Join(name, "config.json"), filepath.Join(weights, "model.safetensors"), "tokenizer.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(from)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, path string, o load.Options) *load.Model {
	t.Helper()
	m, err := load.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// golden are tokens and the logits that transformers computes after each.
func golden(t *testing.T, name string) (tokens []int32, logits [][]float64) {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("testdata", name, "golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "golden.safetensors"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := weights.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	stored, _ := f.Tensor("tokens")
	for i := range stored.Elements() {
		tokens = append(tokens, int32(stored.Data[4*i])) // small numbers
	}
	all, _ := f.Tensor("logits")
	values := make([]float32, all.Elements())
	block.Decode(values, all.Type, all.Data)
	for i := range tokens {
		var row []float64
		for _, v := range values[i*all.Shape[1]:][:all.Shape[1]] {
			row = append(row, float64(v))
		}
		logits = append(logits, row)
	}
	return tokens, logits
}

// same compares the reference's logits with transformers'.
func same(t *testing.T, w *model.Weights, name string) {
	t.Helper()
	tokens, want := golden(t, name)
	if len(tokens) < 24 {
		t.Fatalf("%d tokens", len(tokens))
	}
	worst, at := 0.0, 0
	for i, row := range reference.Logits(w, tokens) {
		for j, v := range row {
			if d := math.Abs(v - want[i][j]); !(d <= worst) {
				worst, at = d, i
			}
		}
	}
	if !(worst < 1e-4) {
		t.Errorf("logits differ from those of transformers by up to %.2g, after token %d", worst, at)
	}
}

func TestFoldersComputeWhatTransformersDoes(t *testing.T) {
	for _, c := range folders {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, folder(t, c.name, c.weights), load.Options{MaxModelLen: c.positions})
			same(t, m.Weights, c.name)
		})
	}
}

func TestGGUFFilesComputeWhatTransformersDoes(t *testing.T) {
	files, err := filepath.Glob("testdata/*/model.gguf")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) { same(t, open(t, path, load.Options{}).Weights, name) })
	}
}
