package gguf

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/weights/block"
)

// kind is a type of tensors: how many values a block has, and its bytes.
type kind struct {
	name            string
	elements, bytes uint64
	as              block.Type // Invalid where block cannot decode it
}

// kinds are the types by their number (ggml.h, enum ggml_type; sizes: ggml-common.h).
// Numbers that are missing were withdrawn.
var kinds = map[uint32]kind{
	0:  {"F32", 1, 4, block.F32},
	1:  {"F16", 1, 2, block.F16},
	2:  {"Q4_0", 32, 18, block.Q4_0},
	3:  {"Q4_1", 32, 20, block.Q4_1},
	6:  {"Q5_0", 32, 22, block.Invalid},
	7:  {"Q5_1", 32, 24, block.Invalid},
	8:  {"Q8_0", 32, 34, block.Q8_0},
	9:  {"Q8_1", 32, 36, block.Invalid},
	10: {"Q2_K", 256, 84, block.Invalid},
	11: {"Q3_K", 256, 110, block.Invalid},
	12: {"Q4_K", 256, 144, block.Q4_K},
	13: {"Q5_K", 256, 176, block.Invalid},
	14: {"Q6_K", 256, 210, block.Q6_K},
	15: {"Q8_K", 256, 292, block.Invalid},
	16: {"IQ2_XXS", 256, 66, block.Invalid},
	17: {"IQ2_XS", 256, 74, block.Invalid},
	18: {"IQ3_XXS", 256, 98, block.Invalid},
	19: {"IQ1_S", 256, 50, block.Invalid},
	20: {"IQ4_NL", 32, 18, block.Invalid},
	21: {"IQ3_S", 256, 110, block.Invalid},
	22: {"IQ2_S", 256, 82, block.Invalid},
	23: {"IQ4_XS", 256, 136, block.Invalid},
	24: {"I8", 1, 1, block.Invalid},
	25: {"I16", 1, 2, block.Invalid},
	26: {"I32", 1, 4, block.Invalid},
	27: {"I64", 1, 8, block.Invalid},
	28: {"F64", 1, 8, block.Invalid},
	29: {"IQ1_M", 256, 56, block.Invalid},
	30: {"BF16", 1, 2, block.BF16},
	34: {"TQ1_0", 256, 54, block.Invalid},
	35: {"TQ2_0", 256, 66, block.Invalid},
	39: {"MXFP4", 32, 17, block.Invalid},
	40: {"NVFP4", 64, 36, block.Invalid},
}

// size is how many bytes a tensor takes whose sizes are given with the contiguous
// dimension first.
func (k kind) size(dims []uint64) (uint64, error) {
	values := uint64(1)
	for _, d := range dims {
		if d > math.MaxInt64 || d > 0 && values > math.MaxInt64/d {
			return 0, fmt.Errorf("dimensions %v are out of range", dims)
		}
		values *= d
	}
	row := uint64(1)
	if len(dims) > 0 {
		row = dims[0]
	}
	switch {
	case row%k.elements != 0:
		return 0, fmt.Errorf("rows of %d values are no whole number of %s blocks of %d", row, k.name, k.elements)
	case values/k.elements > math.MaxInt64/k.bytes:
		return 0, fmt.Errorf("dimensions %v are out of range", dims)
	}
	return values / k.elements * k.bytes, nil
}
