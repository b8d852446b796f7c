package weights

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// file writes a safetensors file with a header and n bytes of data.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	return append(b, make([]byte, n)...)
}

const small = `{"__metadata__":{"format":"pt"},"b":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[12,15]},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"s":{"dtype":"F32","shape":[],"data_offsets":[15,19]}}`

func TestReadHeader(t *testing.T) {
	got, err := ReadHeader(bytes.NewReader(file(small, 19)), int64(len(file(small, 19))))
	if err != nil {
		t.Fatal(err)
	}
	want := []Tensor{{"a", "BF16", []int64{2, 3}, 12}, {"b", "F8_E4M3", []int64{3}, 3}, {"s", "F32", []int64{}, 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := got[0].Elements(); n != 6 {
		t.Errorf("%d elements, want 6", n)
	}
	if n := got[2].Elements(); n != 1 {
		t.Errorf("a scalar has %d elements, want 1", n)
	}
}

func TestDamagedHeaders(t *testing.T) {
	long := binary.LittleEndian.AppendUint64(nil, 1<<62)
	tooLong := binary.LittleEndian.AppendUint64(nil, 1000)
	for _, tc := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "reading header length"},
		{"absurd length", long, "is longer than"},
		{"longer than the file", tooLong, "header of 1000 bytes in a file of 8"},
		{"no JSON", file("hello", 0), "decoding header"},
		{"entry of another kind", file(`{"a":[1]}`, 0), `decoding tensor "a"`},
		{"unknown dtype", file(`{"a":{"dtype":"F7","shape":[1],"data_offsets":[0,1]}}`, 1), `dtype "F7" is not known`},
		{"wrong size", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,2]}}`, 2), "offsets 0 to 2 do not hold its 4 bytes"},
		{"hole", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), "begins at 1, where 0 was expected"},
		{"data left over", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 2), "end at 1 of 2"},
		{"cut off", file(`{"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}`, 2), "end at 9 of 2"},
		{"overflow", file(`{"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, 0), "is out of range"},
		{"negative", file(`{"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}}`, 8), "is out of range"},
		{"half a byte", file(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}`, 1), "no whole number of bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadHeader(bytes.NewReader(tc.file), int64(len(tc.file)))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestReadFolder(t *testing.T) {
	one := &fstest.MapFile{Data: file(`{"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}`, 8)}
	two := &fstest.MapFile{Data: file(`{"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 4)}
	list := func(total string, files ...string) *fstest.MapFile {
		m := map[string]string{}
		for i, f := range files {
			m[string(rune('a'+i))] = f
		}
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": json.RawMessage(total)}, "weight_map": m})
		if err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: text}
	}
	for _, tc := range []struct {
		name  string
		dir   fstest.MapFS
		names []string
		total int64
		err   string
	}{
		{"nothing", fstest.MapFS{"config.json": one}, nil, 0, ""},
		{"one file", fstest.MapFS{"model.safetensors": one}, []string{"a"}, 8, ""},
		{"sharded", fstest.MapFS{indexFile: list("12", "1.safetensors", "2.safetensors"), "1.safetensors": one, "2.safetensors": two}, []string{"a", "b"}, 12, ""},
		{"files beside the index do not count", fstest.MapFS{indexFile: list("8", "1.safetensors"), "1.safetensors": one, "consolidated.safetensors": two}, []string{"a"}, 8, ""},
		{"index alone", fstest.MapFS{indexFile: list("12.0", "1.safetensors")}, nil, 12, ""},
		{"a file is missing", fstest.MapFS{indexFile: list("12", "1.safetensors", "2.safetensors"), "1.safetensors": one}, nil, 0, "1 of the 2 files"},
		{"another file beside the model's", fstest.MapFS{"model.safetensors": one, "consolidated.safetensors": two}, []string{"a"}, 8, ""},
		{"one file of another name", fstest.MapFS{"weights.safetensors": one}, []string{"a"}, 8, ""},
		{"several and no index", fstest.MapFS{"1.safetensors": one, "2.safetensors": two}, nil, 0, "which of its 2 files 1.safetensors, 2.safetensors are the model"},
		{"many and no index", fstest.MapFS{"1.safetensors": one, "2.safetensors": two, "3.safetensors": two, "4.safetensors": two}, nil, 0, "1.safetensors, 2.safetensors, 3.safetensors, … are"},
		{"twice", fstest.MapFS{indexFile: list("8", "1.safetensors", "2.safetensors"), "1.safetensors": one, "2.safetensors": one}, nil, 0, `tensor "a" is in 1.safetensors and in 2.safetensors`},
		{"damaged", fstest.MapFS{"1.safetensors": {Data: []byte("abc")}}, nil, 0, "reading 1.safetensors"},
		{"index leads outside", fstest.MapFS{indexFile: list("1", "../1.safetensors")}, nil, 0, "expected a *.safetensors file"},
		{"index without a map", fstest.MapFS{indexFile: {Data: []byte("{}")}}, nil, 0, "weight_map is empty"},
		{"index of no size", fstest.MapFS{indexFile: list("-4", "1.safetensors")}, nil, 0, "is no size"},
		{"index cut off", fstest.MapFS{indexFile: {Data: []byte(`{"weight_map":`)}}, nil, 0, "decoding"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ReadFolder(tc.dir)
			if tc.err != "" || err != nil {
				if err == nil || !strings.Contains(err.Error(), tc.err) || tc.err == "" {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
				return
			}
			if _, ok := tc.dir[indexFile]; ok && got.Indexed != tc.total {
				t.Errorf("the index says %d, want %d", got.Indexed, tc.total)
			}
			var names []string
			total := int64(0)
			if got != nil {
				for _, t := range got.Tensors {
					names = append(names, t.Name)
				}
				total = got.Total
			}
			if !slices.Equal(names, tc.names) || total != tc.total {
				t.Errorf("tensors %v of %d bytes, want %v of %d", names, total, tc.names, tc.total)
			}
		})
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add(file(small, 19))
	f.Add(file(`{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, 2))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		sum := int64(0)
		for _, x := range tensors {
			sum += x.Bytes
		}
		if sum > int64(len(data)) {
			t.Fatalf("tensors of %d bytes in a file of %d", sum, len(data))
		}
	})
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{"total_size":12},"weight_map":{"a":"1.safetensors"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		idx, err := parseIndex(data)
		if err == nil && (len(idx.files()) == 0 || idx.total() < 0) {
			t.Fatalf("accepted %+v", idx)
		}
	})
}

// TestWordsOfErrors: what is said of a damaged file is in terms of the file.
func TestWordsOfErrors(t *testing.T) {
	for header, want := range map[string]string{
		`{"a":3}`:                    `decoding tensor "a": unexpected '3' at byte 5, expected '{'`,
		`{"a":{"shape":[1.5]}}`:      `decoding tensor "a": "1.5" is no whole number`,
		`{"a":{"shape":"x"}}`:        `decoding tensor "a": unexpected '"' at byte 14, expected '['`,
		`{"a":{"data_offsets":[1]}}`: `decoding tensor "a": data_offsets has 1 numbers, expected 2`,
		`{"a":{"dtype":7}}`:          `decoding tensor "a": unexpected '7' at byte 14, expected a string`,
		`[]`:                         `decoding header: unexpected '[' at byte 0, expected '{'`,
	} {
		data := file(header, 0)
		if _, err := ReadHeader(bytes.NewReader(data), int64(len(data))); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", header, err, want)
		}
	}
	for index, want := range map[string]string{
		`[]`:                     "decoding JSON: expected an object, got a list",
		`{"weight_map":[]}`:      "decoding JSON: weight_map: expected an object, got a list",
		`{"weight_map":{"a":1}}`: "decoding JSON: weight_map: expected text, got a number",
		`{"metadata":7}`:         "decoding JSON: metadata: expected an object, got a number",
		`{"metadata":{"total_size":"x"},"weight_map":{"a":"1.safetensors"}}`:  `metadata.total_size: "x" is no size in bytes`,
		`{"metadata":{"total_size":1e17},"weight_map":{"a":"1.safetensors"}}`: "metadata.total_size: 1e17 is no size in bytes",
	} {
		if _, err := parseIndex([]byte(index)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", index, err, want)
		}
	}
}

func TestIndexIsNoFile(t *testing.T) {
	dir := fstest.MapFS{indexFile + "/a": {}}
	if _, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), indexFile+" is no regular file but a folder") {
		t.Error(err)
	}
	dir = fstest.MapFS{"1.safetensors/a": {}}
	if _, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), "1.safetensors is no regular file but a folder") {
		t.Error(err)
	}
}

// FuzzStoredIn: whatever is accepted lies in the file, without a gap, and can be read.
func FuzzStoredIn(f *testing.F) {
	f.Add(file(small, 19))
	f.Add(file(`{"a":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]}}`, 4))
	f.Add(file(`{"a":{"dtype":"F32","shape":[9223372036854775807,0],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := storedIn(data)
		if err != nil {
			return
		}
		sum := 0
		for _, s := range tensors {
			sum += len(s.Data)
			if s.Supported() == nil {
				block.Decode(make([]float32, s.Elements()), s.Type, s.Data)
			}
		}
		if sum > len(data)-8 {
			t.Fatalf("tensors of %d bytes in a file of %d", sum, len(data))
		}
	})
}
