package load

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/llmctl/llmctl/internal/weights/gguf"
)

// Whatever a GGUF file says, it is a model whose tensors have the sizes of its shape,
// or an error.
func FuzzGGUF(f *testing.F) {
	for _, name := range []string{"llama3", "gemma3-linear", "phi3-longrope", "mixtral"} {
		data, err := os.ReadFile(filepath.Join("testdata", name, "model.gguf"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.Parse(data)
		if err != nil {
			return
		}
		var m Model
		if err := m.fillGGUF(file, Options{}); err != nil {
			return
		}
		w := m.Weights
		if w.Embedding.Rows != w.Vocab || w.Embedding.Cols != w.Hidden || len(w.Layers) != w.Shape.Layers || len(w.FinalNorm) != w.Hidden {
			t.Fatalf("%+v", w.Shape)
		}
		for i, l := range w.Layers {
			if l.Query.Rows != w.Queries() || l.Key.Rows != w.Keys() || len(l.Query.Data) != l.Query.Rows*l.Query.RowBytes() || (l.Experts == nil) != w.Dense(i) {
				t.Fatalf("layer %d: %+v", i, w.Shape)
			}
		}
	})
}
