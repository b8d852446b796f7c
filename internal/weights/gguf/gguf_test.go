package gguf_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/internal/weights/gguf"
	"github.com/llmctl/llmctl/internal/weights/gguf/gguftest"
	"github.com/llmctl/llmctl/internal/weights/weightstest"
)

// tensor stores n values that count up from first.
func tensor(t *testing.T, name string, as block.Type, first float32, shape ...int) weights.Stored {
	t.Helper()
	n := weights.Stored{Shape: shape}.Elements()
	values := make([]float32, n)
	for i := range values {
		values[i] = first + float32(i)
	}
	s, err := weightstest.Tensor(name, as, shape, values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// raw is a tensor of zeros in a type that is not encoded here.
func raw(name, kind string, bytes int, shape ...int) weights.Stored {
	return weights.Stored{Name: name, Kind: kind, Shape: shape, Data: make([]byte, bytes)}
}

func open(t *testing.T, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestTensors(t *testing.T) {
	q4k := raw("q4k", "Q4_K", 288, 2, 256)
	q4k.Type = block.Q4_K
	want := []weights.Stored{
		tensor(t, "f32", block.F32, -3, 2, 3),
		tensor(t, "one", block.F32, 4, []int{}...),
		tensor(t, "f16", block.F16, 9, 5),
		tensor(t, "bf16", block.BF16, 0, 1, 2, 3, 4),
		tensor(t, "q8", block.Q8_0, -60, 2, 64),
		q4k,
		raw("q5k", "Q5_K", 176, 256),
		raw("none", "I32", 0, 7, 0),
	}
	for _, alignment := range []uint32{1, 8, 32, 256} {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := gguftest.Write(path, map[string]any{"general.alignment": alignment}, want); err != nil {
			t.Fatal(err)
		}
		f := open(t, path)
		if diff := cmp.Diff(want, f.Tensors()); diff != "" {
			t.Errorf("alignment %d: %s", alignment, diff)
		}
		got, ok := f.Tensor("f32")
		values := make([]float32, 6)
		block.Decode(values, got.Type, got.Data)
		if diff := cmp.Diff([]float32{-3, -2, -1, 0, 1, 2}, values); diff != "" || !ok {
			t.Error(diff)
		}
		if _, ok := f.Tensor("else"); ok {
			t.Error("found a tensor that is not there")
		}
	}
}

// Nothing is copied: a tensor of 100 GB must not be.
func TestTensorsArePartsOfTheFile(t *testing.T) {
	data, err := gguftest.Bytes(nil, []weights.Stored{tensor(t, "t", block.F16, 1, 4)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := f.Tensor("t")
	if at := len(data) - 32; len(s.Data) != 8 || &s.Data[0] != &data[at] || cap(s.Data) != 8 {
		t.Errorf("%d bytes of %d are no part of the file", len(s.Data), cap(s.Data))
	}
}

func TestATypeThatIsNotSupportedIsToldWhenItIsAskedFor(t *testing.T) {
	data, err := gguftest.Bytes(nil, []weights.Stored{raw("blk.0.ffn_up.weight", "Q5_K", 176, 256), raw("new", "I32", 8, 2)})
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(data), "new")
	data[at+3+4+8] = 99 // behind the name: the count of dimensions, one dimension, the type
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"blk.0.ffn_up.weight": `tensor "blk.0.ffn_up.weight" is of type Q5_K, expected one of F32, F16, BF16, F8_E4M3, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K: convert the model to one of those`,
		"new":                 `tensor "new" is of type number 99, expected one of F32, F16, BF16, F8_E4M3, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K: convert the model to one of those`,
	} {
		s, ok := f.Tensor(name)
		if err := s.Supported(); !ok || err == nil || err.Error() != want {
			t.Errorf("%t, %v, want %s", ok, err, want)
		}
	}
}

func TestMetadata(t *testing.T) {
	data, err := gguftest.Bytes(map[string]any{
		"u8": uint8(200), "i8": int8(-1), "u16": uint16(60000), "i16": int16(-2), "u32": uint32(4e9), "i32": int32(-3),
		"u64": uint64(math.MaxUint64), "i64": int64(math.MinInt64), "f32": float32(0.5), "f64": 1e300, "yes": true, "no": false,
		"text": "smollm2 ✓", "empty": "", "words": []string{"", "a", "\xff b"}, "none": []string{}, "flags": []bool{true, false},
		"u8s": []uint8{1, 255}, "i8s": []int8{1, -1}, "u16s": []uint16{65535}, "i16s": []int16{-5}, "u32s": []uint32{math.MaxUint32}, "i32s": []int32{1, -1, 3},
		"i64s": []int64{-1}, "u64s": []uint64{1, 2}, "large": []uint64{1, 1 << 63}, "f32s": []float32{1.5, -2}, "f64s": []float64{0.1},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]func(key string) (any, bool, error){
		"String":  func(key string) (any, bool, error) { return three(f.String(key)) },
		"Bool":    func(key string) (any, bool, error) { return three(f.Bool(key)) },
		"Uint":    func(key string) (any, bool, error) { return three(f.Uint(key)) },
		"Float":   func(key string) (any, bool, error) { return three(f.Float(key)) },
		"Strings": func(key string) (any, bool, error) { return three(f.Strings(key)) },
		"Ints":    func(key string) (any, bool, error) { return three(f.Ints(key)) },
		"Floats":  func(key string) (any, bool, error) { return three(f.Floats(key)) },
	}
	for _, tc := range []struct {
		getter, key string
		want        any // a string for an error
	}{
		{"Uint", "u8", uint64(200)},
		{"Uint", "u16", uint64(60000)},
		{"Uint", "u32", uint64(4e9)},
		{"Uint", "u64", uint64(math.MaxUint64)},
		{"Uint", "i8", `metadata "i8" is -1, expected no negative number`},
		{"Uint", "i64", `metadata "i64" is -9223372036854775808, expected no negative number`},
		{"Uint", "f32", `metadata "f32" is float32, expected a whole number`},
		{"Uint", "u8s", `metadata "u8s" is an array of 2 × uint8, expected a whole number`},
		{"Float", "f32", 0.5},
		{"Float", "f64", 1e300},
		{"Float", "u32", `metadata "u32" is uint32, expected a float`},
		{"Bool", "yes", true},
		{"Bool", "no", false},
		{"Bool", "flags", `metadata "flags" is an array of 2 × bool, expected a bool`},
		{"String", "text", "=smollm2 ✓"},
		{"String", "empty", "="},
		{"String", "yes", `metadata "yes" is bool, expected a string`},
		{"String", "words", `metadata "words" is an array of 3 × string, expected a string`},
		{"Strings", "words", []string{"", "a", "\xff b"}},
		{"Strings", "none", []string{}},
		{"Strings", "text", `metadata "text" is string, expected an array of strings`},
		{"Strings", "i32s", `metadata "i32s" is an array of 3 × int32, expected an array of strings`},
		{"Ints", "u8s", []int64{1, 255}},
		{"Ints", "i8s", []int64{1, -1}},
		{"Ints", "u16s", []int64{65535}},
		{"Ints", "i16s", []int64{-5}},
		{"Ints", "u32s", []int64{math.MaxUint32}},
		{"Ints", "i32s", []int64{1, -1, 3}},
		{"Ints", "i64s", []int64{-1}},
		{"Ints", "u64s", []int64{1, 2}},
		{"Ints", "i32", []int64{-3}},
		{"Ints", "large", `metadata "large" holds 9223372036854775808, which is too large`},
		{"Ints", "f32s", `metadata "f32s" is an array of 2 × float32, expected whole numbers`},
		{"Ints", "flags", `metadata "flags" is an array of 2 × bool, expected whole numbers`},
		{"Floats", "f32s", []float64{1.5, -2}},
		{"Floats", "f64s", []float64{0.1}},
		{"Floats", "f32", `metadata "f32" is float32, expected an array of floats`},
	} {
		t.Run(tc.getter+" "+tc.key, func(t *testing.T) {
			got, ok, err := of[tc.getter](tc.key)
			if want, isText := tc.want.(string); isText && !strings.HasPrefix(want, "=") {
				if err == nil || err.Error() != want || ok {
					t.Errorf("%v, %t, %v, want %s", got, ok, err, want)
				}
				return
			} else if isText {
				tc.want = want[1:]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || !ok || err != nil {
				t.Errorf("%t, %v: %s", ok, err, diff)
			}
		})
	}
	for name, get := range of {
		if _, ok, err := get("absent"); ok || err != nil {
			t.Errorf("%s of an absent key: %t, %v", name, ok, err)
		}
	}
}

func three[T any](v T, ok bool, err error) (any, bool, error) { return v, ok, err }
