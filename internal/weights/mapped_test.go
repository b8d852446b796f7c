package weights_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/internal/weights/weightstest"
)

// tensor stores values, which are all that its type can hold.
func tensor(t *testing.T, name string, as block.Type, shape []int, values ...float32) weights.Stored {
	t.Helper()
	s, err := weightstest.Tensor(name, as, shape, values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpenFolder(t *testing.T) {
	a := tensor(t, "a", block.BF16, []int{2, 3}, 1, 2, 3, 4, 5, 6)
	b := tensor(t, "b", block.F8E4M3, []int{3}, -1, 0.5, 448)
	c := tensor(t, "c", block.F32, []int{}, 7)
	d := tensor(t, "d", block.F16, []int{1, 2}, -8, 9)
	ids := weights.Stored{Name: "ids", Kind: "I64", Shape: []int{1}, Data: make([]byte, 8)}
	for _, tc := range []struct {
		name  string
		write func(dir string) error
	}{
		{"one file", func(dir string) error {
			return weightstest.Write(filepath.Join(dir, "model.safetensors"), []weights.Stored{a, b, c, d, ids})
		}},
		{"sharded by an index", func(dir string) error {
			return weightstest.WriteSharded(dir, []weights.Stored{a, b}, []weights.Stored{c, d, ids})
		}},
		{"files beside the index do not count", func(dir string) error {
			return errors.Join(
				weightstest.WriteSharded(dir, []weights.Stored{a, b, c}, []weights.Stored{d, ids}),
				weightstest.Write(filepath.Join(dir, "consolidated.safetensors"), []weights.Stored{a}),
			)
		}},
		{"a file beside the model's does not count", func(dir string) error {
			return errors.Join(
				weightstest.Write(filepath.Join(dir, "model.safetensors"), []weights.Stored{a, b, c, d, ids}),
				weightstest.Write(filepath.Join(dir, "consolidated.safetensors"), []weights.Stored{a}),
			)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tc.write(dir); err != nil {
				t.Fatal(err)
			}
			m, err := weights.OpenFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				if _, ok := m.Tensor("a"); ok {
					t.Error("there is a tensor after Close")
				}
			}()
			if diff := cmp.Diff([]weights.Stored{a, b, c, d, ids}, m.Tensors()); diff != "" {
				t.Error(diff)
			}
			got, ok := m.Tensor("d")
			if diff := cmp.Diff(d, got); diff != "" || !ok || got.Supported() != nil {
				t.Errorf("%t, %v: %s", ok, got.Supported(), diff)
			}
			if _, ok := m.Tensor("e"); ok {
				t.Error("found a tensor that is not there")
			}
		})
	}
}

func TestATypeThatIsNotSupportedIsToldWhenItIsAskedFor(t *testing.T) {
	dir := t.TempDir()
	s := weights.Stored{Name: "model.experts.w", Kind: "F8_E5M2", Shape: []int{2}, Data: []byte{1, 2}}
	if err := weightstest.Write(filepath.Join(dir, "model.safetensors"), []weights.Stored{s}); err != nil {
		t.Fatal(err)
	}
	m, err := weights.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	got, ok := m.Tensor("model.experts.w")
	const want = `tensor "model.experts.w" is of type F8_E5M2, expected one of F32, F16, BF16, F8_E4M3, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K: convert the model to one of those`
	if err := got.Supported(); !ok || err == nil || err.Error() != want {
		t.Errorf("%t, %v, want %s", ok, err, want)
	}
}

func TestFoldersThatAreRefused(t *testing.T) {
	one := []weights.Stored{tensor(t, "a", block.F32, []int{1}, 1)}
	two := []weights.Stored{tensor(t, "b", block.F32, []int{1}, 2)}
	const first, second, index = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"
	for _, tc := range []struct {
		name   string
		damage func(dir string) error
		want   string
	}{
		{"nothing in it", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, first)), os.Remove(filepath.Join(dir, second)), os.Remove(filepath.Join(dir, index)))
		}, "has no *.safetensors"},
		{"index alone", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, first)), os.Remove(filepath.Join(dir, second)))
		}, "none of the files that it names"},
		{"a file is missing", func(dir string) error { return os.Remove(filepath.Join(dir, second)) }, "1 of the 2 files"},
		{"a file was cut off", func(dir string) error {
			info, err := os.Stat(filepath.Join(dir, second))
			if err != nil {
				return err
			}
			return os.Truncate(filepath.Join(dir, second), info.Size()-2)
		}, "of 2 bytes of data"},
		{"an empty file", func(dir string) error { return os.Truncate(filepath.Join(dir, second), 0) }, "reading header length"},
		{"the files were exchanged", func(dir string) error {
			return errors.Join(weightstest.Write(filepath.Join(dir, first), two), weightstest.Write(filepath.Join(dir, second), one))
		}, "where it is not"},
		{"a tensor in both", func(dir string) error { return weightstest.Write(filepath.Join(dir, second), one) }, `tensor "a" is in ` + first + " and in " + second},
		{"a shape beyond counting beside a zero", func(dir string) error {
			text := `{"b":{"dtype":"F32","shape":[0,9223372036854775807],"data_offsets":[0,0]},"c":{"dtype":"F32","shape":[9223372036854775807,9223372036854775807,0],"data_offsets":[0,0]}}`
			return os.WriteFile(filepath.Join(dir, second), append([]byte{byte(len(text)), 0, 0, 0, 0, 0, 0, 0}, text...), 0o600)
		}, "is out of range"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(weightstest.WriteSharded(dir, one, two), tc.damage(dir)); err != nil {
				t.Fatal(err)
			}
			m, err := weights.OpenFolder(dir)
			if err == nil || !strings.Contains(err.Error(), tc.want) || m != nil {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if strings.HasPrefix(tc.want, "has no") != errors.Is(err, fs.ErrNotExist) && tc.name != "index alone" {
				t.Errorf("%v is fs.ErrNotExist or is not", err)
			}
		})
	}
}
