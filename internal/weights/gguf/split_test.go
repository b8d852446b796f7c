package gguf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/internal/weights/gguf"
	"github.com/llmctl/llmctl/internal/weights/gguf/gguftest"
)

// split writes a model of three parts.
func split(t *testing.T, dir string) []weights.Stored {
	t.Helper()
	all := []weights.Stored{
		tensor(t, "a", block.F32, 1, 2, 2), tensor(t, "b", block.F16, 1, 3), tensor(t, "c", block.Q8_0, 1, 32), tensor(t, "d", block.BF16, 1, 1),
	}
	for i, part := range [][]weights.Stored{all[:1], all[1:3], all[3:]} {
		if err := writePart(dir, i, 3, part); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// writePart writes a part whose metadata are its own.
func writePart(dir string, i, n int, tensors []weights.Stored) error {
	meta := map[string]any{"split.no": uint16(i), "split.count": uint16(n)}
	if i == 0 {
		meta["split.tensors.count"], meta["general.name"] = int32(4), "split"
	}
	return gguftest.Write(part(dir, i), meta, tensors)
}

func part(dir string, i int) string {
	return filepath.Join(dir, fmt.Sprintf("m-%05d-of-00003.gguf", i+1))
}

func TestSplitModel(t *testing.T) {
	dir := t.TempDir()
	want := split(t, dir)
	f := open(t, part(dir, 0))
	if diff := cmp.Diff(want, f.Tensors()); diff != "" {
		t.Error(diff)
	}
	if name, _, err := f.String("general.name"); name != "split" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if got, ok := f.Tensor("d"); !ok || !cmp.Equal(got, want[3]) {
		t.Errorf("%t, %v", ok, got)
	}
}

func TestSplitModelsThatAreRefused(t *testing.T) {
	a := []weights.Stored{tensor(t, "a", block.F32, 1, 1)}
	for _, tc := range []struct {
		name   string
		damage func(dir string) error
		open   int
		want   string
	}{
		{"a part that is not the first", func(string) error { return nil }, 1, "is part 2 of 3, expected the first, "},
		{"a part is missing", func(dir string) error { return os.Remove(part(dir, 2)) }, 0, "m-00003-of-00003.gguf"},
		{"parts exchanged", func(dir string) error { return os.Rename(part(dir, 1), part(dir, 2)) }, 0, "m-00002-of-00003.gguf"},
		{"a part of another model", func(dir string) error { return writePart(dir, 1, 2, a) }, 0, "is part 2 of 2, expected part 2 of 3"},
		{"a tensor twice", func(dir string) error { return writePart(dir, 1, 3, a) }, 0, `tensor "a" of `},
		{"tensors are missing", func(dir string) error { return writePart(dir, 1, 3, nil) }, 0, "hold 2 tensors, expected 4"},
		{"another name", func(dir string) error {
			return os.Rename(part(dir, 0), part(dir, 0)+".part")
		}, -1, "expected a name that ends in -00001-of-00003.gguf"},
		{"a count of none is a whole model", func(dir string) error { return writePart(dir, 0, 0, a) }, 0, ""},
		{"a number beyond the count", func(dir string) error {
			return gguftest.Write(part(dir, 0), map[string]any{"split.no": uint16(3), "split.count": uint16(3)}, a)
		}, 0, `metadata "split.no" is 3, expected less than "split.count", 3`},
		{"a count that is no number", func(dir string) error {
			return gguftest.Write(part(dir, 0), map[string]any{"split.count": "3"}, a)
		}, 0, `metadata "split.count" is string, expected a whole number`},
		{"a damaged part", func(dir string) error { return os.Truncate(part(dir, 1), 3) }, 0, "m-00002-of-00003.gguf: begins with"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			split(t, dir)
			if err := tc.damage(dir); err != nil {
				t.Fatal(err)
			}
			path := part(dir, max(tc.open, 0))
			if tc.open < 0 {
				path = part(dir, 0) + ".part"
			}
			f, err := gguf.Open(path)
			if err == nil {
				err = f.Close()
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
