package weights

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/jsonscan"
)

// Tensor is one tensor as a header describes it.
type Tensor struct {
	Name  string
	DType string  // as the file spells it: "BF16", "F8_E4M3", "I32", …
	Shape []int64 // empty for a scalar
	Bytes int64   // of its data
}

// Elements is the product of the shape.
func (t Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// maxHeader is the limit that the format's own library puts on a header
// (safetensors, MAX_HEADER_SIZE).
const maxHeader = 100_000_000

// bitsOf are the sizes of the format's types (safetensors, Dtype).
var bitsOf = map[string]int64{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16,
	"I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}

// ReadHeader reads the header of a file of size bytes: its length in eight
// bytes, little-endian, then a JSON object. Tensors come in the order of their
// data. A header that does not describe the file exactly is an error that names
// the tensor.
func ReadHeader(r io.Reader, size int64) ([]Tensor, error) {
	text, err := headerText(r, size)
	if err != nil {
		return nil, err
	}
	all, err := parseHeader(text, size-8-int64(len(text)))
	if err != nil {
		return nil, err
	}
	tensors := make([]Tensor, len(all))
	for i, p := range all {
		tensors[i] = p.Tensor
	}
	return tensors, nil
}

// headerText reads the JSON of a file of size bytes.
func headerText(r io.Reader, size int64) ([]byte, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, fmt.Errorf("reading header length: %w", err)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	switch {
	case length > maxHeader:
		return nil, fmt.Errorf("header of %d bytes is longer than %d", length, maxHeader)
	case int64(length) > size-8:
		return nil, fmt.Errorf("header of %d bytes in a file of %d", length, size)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("reading header: %w", err)
	}
	return text, nil
}

// maxTensors bounds a model. The most that is published is some 210,000 tensors:
// three for each of the three matrices of 384 experts in 60 layers.
const maxTensors = 500_000

// entry is one tensor in the JSON.
type entry struct {
	DType   string
	Shape   []int64
	Offsets [2]int64
}

// placed is a tensor and where its data is.
type placed struct {
	Tensor
	begin, end int64
}

// parseHeader reads the JSON of a header before data bytes of data, into tensors in
// the order of their data, which they cover without a gap.
func parseHeader(text []byte, data int64) ([]placed, error) {
	all, err := readEntries(text)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b placed) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		if a.end != b.end {
			return cmp.Compare(a.end, b.end)
		}
		return strings.Compare(a.Name, b.Name)
	})
	at := int64(0)
	for _, p := range all {
		if p.begin != at {
			return nil, fmt.Errorf("tensor %.100q: begins at %d, where %d was expected", p.Name, p.begin, at)
		}
		at = p.end
	}
	if at != data {
		return nil, fmt.Errorf("tensors end at %d of %d bytes of data", at, data)
	}
	return all, nil
}

// readEntries reads the object with an entry for each tensor.
func readEntries(text []byte) ([]placed, error) {
	scan := jsonscan.New(text)
	var all []placed
	scan.Object()
	for key, ok := scan.Key(); ok; key, ok = scan.Key() {
		if string(key) == "__metadata__" {
			scan.Skip()
			continue
		}
		name := string(key)
		e := readEntry(&scan)
		if err := scan.Err(); err != nil {
			return nil, fmt.Errorf("decoding tensor %.100q: %w", name, err)
		}
		bytes, err := e.bytes()
		if err != nil {
			return nil, fmt.Errorf("tensor %.100q: %w", name, err)
		}
		if e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1]-e.Offsets[0] != bytes {
			return nil, fmt.Errorf("tensor %.100q: offsets %d to %d do not hold its %d bytes", name, e.Offsets[0], e.Offsets[1], bytes)
		}
		if len(all) == maxTensors {
			return nil, fmt.Errorf("more than %d tensors", maxTensors)
		}
		all = append(all, placed{Tensor{name, e.DType, e.Shape, bytes}, e.Offsets[0], e.Offsets[1]})
	}
	scan.End()
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("decoding header: %w", err)
	}
	return all, nil
}

// readEntry reads one entry. A mistake stays with the scanner.
func readEntry(scan *jsonscan.Scanner) (e entry) {
	e.Shape = []int64{}
	scan.Object()
	for key, ok := scan.Key(); ok; key, ok = scan.Key() {
		switch string(key) {
		case "dtype":
			e.DType = string(scan.String())
		case "shape":
			scan.Array()
			for scan.Element() {
				e.Shape = append(e.Shape, whole(scan))
			}
		case "data_offsets":
			n := 0
			scan.Array()
			for ; scan.Element(); n++ {
				if offset := whole(scan); n < len(e.Offsets) {
					e.Offsets[n] = offset
				}
			}
			if n != len(e.Offsets) {
				scan.Fail(fmt.Errorf("data_offsets has %d numbers, expected 2", n))
			}
		default:
			scan.Skip()
		}
	}
	return e
}

// whole reads a whole number.
func whole(scan *jsonscan.Scanner) int64 {
	text := scan.Number()
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		scan.Fail(fmt.Errorf("%.40q is no whole number", text))
	}
	return n
}

// bytes is the size that type and shape give.
func (e entry) bytes() (int64, error) {
	bits, ok := bitsOf[e.DType]
	if !ok {
		return 0, fmt.Errorf("dtype %.20q is not known", e.DType)
	}
	n := bits
	for _, d := range e.Shape {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return 0, fmt.Errorf("shape %v is out of range", e.Shape)
		}
		n *= d
	}
	if n%8 != 0 {
		return 0, fmt.Errorf("shape %v of %s is no whole number of bytes", e.Shape, e.DType)
	}
	return n / 8, nil
}
