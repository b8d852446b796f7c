package attention

import (
	"math"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// Write stores one token's K and V, [KV head][head dim] each.
func (c *Cache) Write(layer int, table []kv.Block, position int, key, value []float32) {
	block, offset := c.unit(table, position), position%c.blockSize
	for h := range c.heads {
		// K of one position lies a block apart, V together.
		c.store(c.head(c.keys[layer], block, h), key[h*c.dim:][:c.dim], offset, offset, c.blockSize)
		c.store(c.head(c.values[layer], block, h), value[h*c.dim:][:c.dim], offset, offset*c.dim, 1)
	}
}

// store writes a vector of K or V, whose element i becomes element first + i·step of a
// block's, and its scale, if it has one, the scale of the position.
func (c *Cache) store(dst []byte, x []float32, position, first, step int) {
	switch c.dtype {
	case Float16:
		for i, d := 0, halves(dst); i < len(x); i++ {
			d[first+i*step] = block.ToHalf(x[i])
		}
	case BFloat16:
		for i, d := 0, halves(dst); i < len(x); i++ {
			d[first+i*step] = block.ToBF16(x[i])
		}
	case Int8:
		scale, inverse := scales(x, 127)
		floats(dst[c.codeBytes:])[position] = scale
		for i, v := range x {
			dst[first+i*step] = byte(int8(round(v * inverse)))
		}
	case FP8:
		scale, inverse := scales(x, 448)
		floats(dst[c.codeBytes:])[position] = scale * fp8Unit
		for i, v := range x {
			dst[first+i*step] = block.ToF8(v * inverse)
		}
	default:
		for i, d := 0, floats(dst); i < len(x); i++ {
			d[first+i*step] = x[i]
		}
	}
}

// fp8Unit: an FP8 is read as the half with the same fields, whose exponent counts from
// 8 less; the scale makes up for it.
const fp8Unit = 256

// smallest is the largest element below which a vector counts as zero, so that neither
// its scale nor its inverse leaves the range of normal numbers.
const smallest = 1e-30

// scales returns what codes up to top have to be multiplied by to be x, and what x has
// to be multiplied by to be codes. A vector that is not finite gets the scale NaN, so
// that what is computed from it is no number, as without a scale.
func scales(x []float32, top float32) (scale, inverse float32) {
	largest := float32(0)
	for _, v := range x {
		if v < 0 {
			v = -v
		}
		if !(v <= math.MaxFloat32) {
			return float32(math.NaN()), 0
		}
		largest = max(largest, v)
	}
	if largest < smallest {
		return 0, 0
	}
	return largest / top, top / largest
}

// round rounds to the nearest whole number, halves to even, for −2²² < v < 2²²; NaN
// becomes one of no meaning, and its scale says so.
func round(v float32) int32 {
	const middle = 3 << 22 // 1.5·2²³: sums with it have no fraction
	return int32(math.Float32bits(v+middle)) - 0x4b400000
}
