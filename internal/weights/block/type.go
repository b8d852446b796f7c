package block

import (
	"fmt"
	"math"
	"strings"
)

// Type is how the numbers of a tensor are stored. Block formats are those of GGUF
// (ggml, ggml-common.h), byte for byte.
type Type uint8

// The types. Blocks lie along the last dimension of a tensor.
const (
	Invalid Type = iota
	F32          // IEEE 754 single
	F16          // IEEE 754 half
	BF16         // the upper half of a single
	F8E4M3       // OCP FP8 E4M3FN: no infinity, one NaN
	Q8_0         // 32 values: an F16 scale, 32 signed bytes
	Q4_0         // 32 values: an F16 scale, 32 nibbles less 8
	Q4_1         // 32 values: an F16 scale and an F16 minimum, 32 nibbles
	Q4_K         // 256 values: two F16 scales, eight 6-bit scales and minimums, 256 nibbles
	Q6_K         // 256 values: 256 6-bit values less 32, sixteen signed scales, an F16 scale
	numTypes
)

var types = [numTypes]struct {
	name            string
	elements, bytes int
}{
	Invalid: {"invalid", 1, 1},
	F32:     {"F32", 1, 4},
	F16:     {"F16", 1, 2},
	BF16:    {"BF16", 1, 2},
	F8E4M3:  {"F8_E4M3", 1, 1},
	Q8_0:    {"Q8_0", 32, 34},
	Q4_0:    {"Q4_0", 32, 18},
	Q4_1:    {"Q4_1", 32, 20},
	Q4_K:    {"Q4_K", 256, 144},
	Q6_K:    {"Q6_K", 256, 210},
}

// String is the type's name as GGUF and safetensors spell it.
func (t Type) String() string {
	if t >= numTypes {
		return fmt.Sprintf("type %d", uint8(t))
	}
	return types[t].name
}

// Valid says whether t is one of the types above.
func (t Type) Valid() bool { return t > Invalid && t < numTypes }

// Elements is how many values one block holds: 1 for plain numbers.
func (t Type) Elements() int { return types[t].elements }

// Bytes is the size of one block.
func (t Type) Bytes() int { return types[t].bytes }

// Size is how many bytes a row of the given number of values takes. It is an error
// if they are no whole number of blocks, or too many to count.
func (t Type) Size(values int) (int, error) {
	switch {
	case !t.Valid():
		return 0, fmt.Errorf("%s is no type of stored numbers", t)
	case values < 0 || values%t.Elements() != 0:
		return 0, fmt.Errorf("%d values are no whole number of %s blocks of %d", values, t, t.Elements())
	case values/t.Elements() > math.MaxInt/t.Bytes():
		return 0, fmt.Errorf("%d values of %s are too many", values, t)
	}
	return values / t.Elements() * t.Bytes(), nil
}

// Names lists the types, for people.
func Names() string {
	var names []string
	for t := F32; t < numTypes; t++ {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}
