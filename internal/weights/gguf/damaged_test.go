package gguf_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/internal/weights/gguf"
	"github.com/llmctl/llmctl/internal/weights/gguf/gguftest"
)

// plain is text without its length.
type plain string

// join makes the bytes of a file: an int takes four of them, a string has its length
// before it.
func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case plain:
			b = append(b, p...)
		case string:
			b = append(binary.LittleEndian.AppendUint64(b, uint64(len(p))), p...)
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(p))
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, p)
		case []byte:
			b = append(b, p...)
		default:
			panic(p)
		}
	}
	return b
}

// head begins a file.
func head(tensors, keys uint64) []byte { return join(plain("GGUF"), 3, tensors, keys) }

func TestDamagedFiles(t *testing.T) {
	room := make([]byte, 4096) // of data, or of anything
	for _, tc := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, `begins with "", expected "GGUF"`},
		{"another format", []byte("PK\x03\x04 and so on"), `begins with "PK\x03\x04", expected "GGUF": this is no GGUF file`},
		{"magic alone", []byte("GGUF"), "version of 4 bytes at byte 4 is beyond the end"},
		{"version 1", join(plain("GGUF"), 1, 0, 0), "version 1 of GGUF, expected 2 or 3"},
		{"version 4", join(plain("GGUF"), 4, uint64(0), uint64(0)), "version 4 of GGUF"},
		{"version 0", join(plain("GGUF"), 0, uint64(0), uint64(0)), "version 0 of GGUF, expected 2 or 3"},
		{"big-endian", []byte("GGUF\x00\x00\x00\x03"), "version 3 of big-endian GGUF, expected little-endian"},
		{"absurd count of keys", join(head(0, math.MaxUint64), room), "18446744073709551615 metadata keys in a file of 4120 bytes, expected at most 315"},
		{"absurd count of tensors", join(head(1<<63, 0), room), "9223372036854775808 tensors in a file of 4120 bytes, expected at most 170"},
		{"absurd length of a key", join(head(0, 1), uint64(math.MaxUint64), room), "metadata key of 18446744073709551615 bytes at byte 32"},
		{"absurd length of a string", join(head(0, 1), "k", 8, uint64(1<<62), room), "string of 4611686018427387904 bytes"},
		{"absurd count of an array", join(head(0, 1), "k", 9, 5, uint64(math.MaxUint64/4+2), room), "an array of 4611686018427387905 × int32 at byte 49 is beyond the end"},
		{"absurd count of strings", join(head(0, 1), "k", 9, 8, uint64(1000), room), "an array of 1000 × string at byte 49 is beyond the end"},
		{"strings that end too late", join(head(0, 1), "k", 9, 8, uint64(2), "a", uint64(9), plain("b")), "string of 9 bytes at byte 66"},
		{"array of arrays", join(head(0, 1), "k", 9, 9, uint64(1), room), `reading metadata "k": an array of arrays is not supported`},
		{"type of a value", join(head(0, 1), "k", 13, room), `reading metadata "k": type 13 of a metadata value is not known`},
		{"type of an array", join(head(0, 1), "k", 9, 77, uint64(1), room), "type 77 of a metadata value is not known"},
		{"key twice", join(head(0, 2), "k", 4, 1, "k", 4, 2, room), `metadata "k" is there twice`},
		{"alignment of another type", join(head(0, 1), "general.alignment", 8, "32", room), `metadata "general.alignment" is string, expected a whole number`},
		{"alignment of none", join(head(0, 1), "general.alignment", 4, 0, room), `metadata "general.alignment" is 0, expected a power of two`},
		{"alignment of no power", join(head(0, 1), "general.alignment", 4, 48, room), `metadata "general.alignment" is 48, expected a power of two`},
		{"absurd alignment", join(head(0, 1), "general.alignment", 10, uint64(1<<63), room), `is 9223372036854775808, expected a power of two up to 1048576`},
		{"too many dimensions", join(head(1, 0), "t", 5, room), `tensor "t": has 5 dimensions, expected at most 4`},
		{"absurd dimensions", join(head(1, 0), "t", math.MaxUint32, room), `tensor "t": has 4294967295 dimensions`},
		{"dimensions that overflow", join(head(1, 0), "t", 2, uint64(1<<32), uint64(1<<32), 0, uint64(0), room), `tensor "t": dimensions [4294967296 4294967296] are out of range`},
		{"dimensions that overflow to nothing", join(head(1, 0), "t", 2, uint64(1<<63), uint64(2), 0, uint64(0), room), "are out of range"},
		{"bytes that overflow", join(head(1, 0), "t", 1, uint64(1<<62), 0, uint64(0), room), "are out of range"},
		{"a negative dimension", join(head(1, 0), "t", 1, uint64(math.MaxUint64), 24, uint64(0), room), "are out of range"},
		{"a row of half a block", join(head(1, 0), "t", 2, uint64(16), uint64(2), 8, uint64(0), room), "rows of 16 values are no whole number of Q8_0 blocks of 32"},
		{"a scalar in blocks", join(head(1, 0), "t", 0, 8, uint64(0), room), "rows of 1 values are no whole number of Q8_0"},
		{"tensor that is cut off", join(head(1, 0), "t", 1, uint64(4096), 0, uint64(0), room), `tensor "t": 16384 bytes at 0 end beyond the file's 4089 bytes of data: the file is cut off`},
		{"offset beyond the end", join(head(1, 0), "t", 1, uint64(1), 0, uint64(1<<20), room), `tensor "t": 4 bytes at 1048576 end beyond`},
		{"offset that overflows", join(head(1, 0), "t", 1, uint64(64), 0, uint64(math.MaxUint64-31), room), "end beyond"},
		{"offset that is not aligned", join(head(1, 0), "t", 1, uint64(1), 0, uint64(4), room), "offset 4 is no multiple of the alignment 32"},
		{"no data", join(head(1, 0), "t", 1, uint64(1), 0, uint64(0)), "the tensors' data begins at byte 64 of 57: the file is cut off"},
		{"overlap", join(head(2, 0), "t", 1, uint64(9), 0, uint64(0), "u", 1, uint64(1), 0, uint64(32), room), `tensors "t" and "u" overlap: 36 bytes at 0, and the next at 32`},
		{"overlap in another order", join(head(2, 0), "t", 1, uint64(1), 0, uint64(32), "u", 1, uint64(9), 0, uint64(0), room), `tensors "u" and "t" overlap`},
		{"tensor twice", join(head(2, 0), "t", 1, uint64(1), 0, uint64(0), "t", 1, uint64(1), 0, uint64(32), room), `tensor "t" is there twice`},
		{"tensors cut off", join(head(2, 0), "t", 1, uint64(1), 0, uint64(0), "u", 1, uint64(1)), "beyond the end of the file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := gguf.Parse(tc.file)
			if err == nil || !strings.Contains(err.Error(), tc.want) || f != nil {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestOpeningNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, []byte("GGML"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gguf.Open(path); err == nil || err.Error() != "reading "+path+`: begins with "GGML", expected "GGUF": this is no GGUF file` {
		t.Error(err)
	}
}

// valid is a small file with something of everything.
func valid(t testing.TB) []byte {
	data, err := gguftest.Bytes(map[string]any{
		"general.architecture": "llama", "llama.block_count": uint32(1), "eps": float32(1e-5), "add_bos": true,
		"tokens": []string{"a", "b"}, "types": []int32{1, 3}, "scores": []float32{0, -1},
	}, []weights.Stored{
		{Name: "f", Type: block.F32, Kind: "F32", Shape: []int{2, 2}, Data: make([]byte, 16)},
		{Name: "q", Type: block.Q4_K, Kind: "Q4_K", Shape: []int{1, 256}, Data: make([]byte, 144)},
		{Name: "i", Kind: "I32", Shape: []int{1}, Data: make([]byte, 4)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Wherever a file is cut off, it is refused, up to the padding at its end.
func TestFilesCutOffAnywhere(t *testing.T) {
	data := valid(t)
	for n := range len(data) - 28 {
		if _, err := gguf.Parse(data[:n]); err == nil {
			t.Errorf("accepted %d of %d bytes", n, len(data))
		}
	}
	if _, err := gguf.Parse(data[:len(data)-28]); err != nil {
		t.Error(err)
	}
}

func TestVersion2IsReadLike3(t *testing.T) {
	data := valid(t)
	data[4] = 2
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok, err := f.Uint("llama.block_count"); n != 1 || !ok || err != nil || len(f.Tensors()) != 3 {
		t.Errorf("%d, %t, %v, %d tensors", n, ok, err, len(f.Tensors()))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(valid(f))
	f.Add(join(head(1, 1), "general.alignment", 4, 64, "t", 2, uint64(2), uint64(3), 0, uint64(0), make([]byte, 128)))
	f.Add(join(head(2, 0), "t", 1, uint64(9), 0, uint64(0), "u", 1, uint64(1), 99, uint64(32), make([]byte, 64)))
	f.Add([]byte("GGUF\x00\x00\x00\x03"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		file, err := gguf.Parse(data)
		if err != nil {
			return
		}
		sum := 0
		for _, s := range file.Tensors() {
			sum += len(s.Data)
			if s.Supported() == nil {
				block.Decode(make([]float32, s.Elements()), s.Type, s.Data)
			}
			if got, ok := file.Tensor(s.Name); !ok || got.Kind != s.Kind {
				t.Fatalf("tensor %q is listed but not found", s.Name)
			}
		}
		if sum > len(data) {
			t.Fatalf("tensors of %d bytes in a file of %d", sum, len(data))
		}
		for _, key := range []string{"general.architecture", "tokens", "types", "scores", "llama.block_count", "eps", "add_bos"} {
			all(file, key)
		}
		if !bytes.Equal(before, data) {
			t.Fatal("the file was written to")
		}
	})
}

// all asks for a key as every type: none may go beyond what was checked.
func all(f *gguf.File, key string) {
	_, _, _ = f.String(key)
	_, _, _ = f.Bool(key)
	_, _, _ = f.Uint(key)
	_, _, _ = f.Float(key)
	_, _, _ = f.Strings(key)
	_, _, _ = f.Ints(key)
	_, _, _ = f.Floats(key)
}

func BenchmarkParse(b *testing.B) {
	tokens := make([]string, 150_000)
	for i := range tokens {
		tokens[i] = strings.Repeat("x", 1+i%12)
	}
	tensors := make([]weights.Stored, 500)
	for i := range tensors {
		tensors[i] = weights.Stored{Name: strings.Repeat("t", i+1), Kind: "F32", Shape: []int{1}, Data: make([]byte, 4)}
	}
	data, err := gguftest.Bytes(map[string]any{"tokenizer.ggml.tokens": tokens}, tensors)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := gguf.Parse(data)
		if err != nil {
			b.Fatal(err)
		}
		if got, _, err := f.Strings("tokenizer.ggml.tokens"); len(got) != len(tokens) || err != nil {
			b.Fatal(len(got), err)
		}
	}
}
