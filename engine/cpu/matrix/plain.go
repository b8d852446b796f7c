package matrix

import (
	"encoding/binary"
	"math"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/internal/weights/block"
)

func floatBits(v float32) uint32 { return math.Float32bits(v) }

func floatAt(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

func halfAt(b []byte, i int) float32 { return block.FromHalf(binary.LittleEndian.Uint16(b[2*i:])) }

// plainFloats is the definition of the product of a panel of plain numbers with one
// row: sums in ascending order of inputs.
func plainFloats(dst *[Width]float32, l layout, panel []byte, x []float32) {
	*dst = [Width]float32{}
	var w [decoded * Width]float32
	size, _ := l.unit()
	for len(x) > 0 {
		n := min(decoded, len(x))
		block.Decode(w[:n*Width], floatTypes[l], panel[:n*size])
		vector.Accumulate(dst[:], x[:n], w[:n*Width], Width)
		x, panel = x[n:], panel[n*size:]
	}
}

// decoded is how many inputs' weights are decoded at a time.
const decoded = 32

var floatTypes = [...]block.Type{floats32: block.F32, floats16: block.F16, brains16: block.BF16}

// plainBlocks is the definition of the product of a panel of blocks with one row.
// For every block, ascending, (weight scale·activation scale)·(sum of products of
// codes) is added, then, where there are minimums, minimum·(activation sum). Where
// halves of a block have scales of their own, each half counts as a block.
func plainBlocks(dst *[Width]float32, l layout, panel []byte, x []int8, meta []Meta) {
	*dst = [Width]float32{}
	size, _ := l.unit()
	for b, m := range meta {
		unit := panel[b*size:][:size]
		in := (*[Block]int8)(x[b*Block:])
		for o := range dst {
			switch l {
			case nibbles:
				dst[o] += float32(float32(halfAt(unit, o)*m.Scale) * float32(nibbleSum(unit[4*Width:], o, in)))
				dst[o] += float32(halfAt(unit, Width+o) * m.Sum)
			case nibbles32:
				dst[o] += float32(float32(floatAt(unit, o)*m.Scale) * float32(nibbleSum(unit[8*Width:], o, in)))
				dst[o] += float32(floatAt(unit, Width+o) * m.Sum)
			case bytes8:
				low, high := byteSums(unit[2*Width:], o, in)
				dst[o] += float32(float32(halfAt(unit, o)*m.Scale) * float32(low+high))
			default: // bytes16
				low, high := byteSums(unit[8*Width:], o, in)
				dst[o] += float32(float32(floatAt(unit, o)*m.Scale) * float32(low))
				dst[o] += float32(float32(floatAt(unit, Width+o)*m.Scale) * float32(high))
			}
		}
	}
}

// nibbleSum is the sum of products of a row's codes with activations.
func nibbleSum(codes []byte, row int, x *[Block]int8) int32 {
	sum, shift := int32(0), row/(Width/2)*4
	for i, v := range x {
		sum += int32(codes[i/4*2*Width+row%(Width/2)*4+i%4]>>shift&15) * int32(v)
	}
	return sum
}

// byteSums are the sums of products of a row's codes with the first and the last 16
// activations.
func byteSums(codes []byte, row int, x *[Block]int8) (low, high int32) {
	var sums [2]int32
	for i, v := range x {
		sums[i/(Block/2)] += int32(int8(codes[i/4*4*Width+row*4+i%4])) * int32(v)
	}
	return sums[0], sums[1]
}
