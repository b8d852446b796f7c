package block

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Decode writes the len(dst) values that are stored in data as t. Products and sums
// are rounded one by one to single precision, in the order of ggml's reference code
// (ggml-quants.c, dequantize_row_*), on every machine. It panics if the type is none,
// or if data is not what t.Size(len(dst)) says.
func Decode(dst []float32, t Type, data []byte) {
	mustFit(t, len(dst), len(data))
	switch t {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = half(data[2*i:])
		}
	case BF16:
		for i := range dst {
			dst[i] = FromBF16(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case F8E4M3:
		for i, b := range data {
			dst[i] = f8[b]
		}
	default:
		size, n := t.Bytes(), t.Elements()
		decode := decoders[t]
		for len(dst) > 0 {
			decode(dst[:n:n], data[:size:size])
			dst, data = dst[n:], data[size:]
		}
	}
}

// mustFit panics where a caller's slices do not belong together.
func mustFit(t Type, values, bytes int) {
	size, err := t.Size(values)
	if err != nil {
		panic("block: " + err.Error())
	}
	if size != bytes {
		panic(fmt.Sprintf("block: %d values of %s take %d bytes, not %d", values, t, size, bytes))
	}
}

// decoders decode one block each.
var decoders = [numTypes]func(dst []float32, b []byte){
	Q8_0: decodeQ8_0, Q4_0: decodeQ4_0, Q4_1: decodeQ4_1, Q4_K: decodeQ4_K, Q6_K: decodeQ6_K,
}

// half reads a half.
func half(b []byte) float32 { return FromHalf(binary.LittleEndian.Uint16(b)) }

func decodeQ8_0(dst []float32, b []byte) {
	d := half(b)
	dst, q := dst[:32], b[2:34]
	for i, x := range q {
		dst[i] = float32(int8(x)) * d
	}
}

// decodeQ4_0 reads values 0 to 15 from the lower nibbles, 16 to 31 from the upper.
func decodeQ4_0(dst []float32, b []byte) {
	d := half(b)
	low, high, q := dst[:16], dst[16:32], b[2:18]
	for i, x := range q {
		low[i] = float32(int(x&15)-8) * d
		high[i] = float32(int(x>>4)-8) * d
	}
}

func decodeQ4_1(dst []float32, b []byte) {
	d, m := half(b), half(b[2:])
	low, high, q := dst[:16], dst[16:32], b[4:20]
	for i, x := range q {
		// The conversions keep compilers from rounding once where two are meant.
		low[i] = float32(float32(x&15)*d) + m
		high[i] = float32(float32(x>>4)*d) + m
	}
}

// decodeQ4_K: each 32 bytes hold 32 values in their lower nibbles, and the next 32 in
// the upper ones; each 32 values have their scale and minimum.
func decodeQ4_K(dst []float32, b []byte) {
	d, dmin, scales := half(b), half(b[2:]), b[4:16]
	for pair := range 4 {
		s0, m0 := ScaleMin(scales, 2*pair)
		s1, m1 := ScaleMin(scales, 2*pair+1)
		d0, d1 := d*float32(s0), d*float32(s1)
		min0, min1 := float32(dmin*float32(m0)), float32(dmin*float32(m1))
		out, q := dst[64*pair:][:64], b[16+32*pair:][:32]
		for i, x := range q {
			out[i] = float32(d0*float32(x&15)) - min0
			out[32+i] = float32(d1*float32(x>>4)) - min1
		}
	}
}

// ScaleMin unpacks the 6-bit scale and minimum of the values 32·i to 32·i+31 from the
// twelve bytes of a Q4_K block that hold them (ggml-quants.c, get_scale_min_k4): the
// first four of each are plain, the last four split into nibbles and pairs of bits.
func ScaleMin(packed []byte, i int) (scale, minimum byte) {
	if i < 4 {
		return packed[i] & 63, packed[i+4] & 63
	}
	return packed[i+4]&15 | packed[i-4]>>6<<4, packed[i+4]>>4 | packed[i]>>6<<4
}

// decodeQ6_K: in each half of a block, 64 bytes hold the lower four bits of 128
// values and 32 bytes the upper two; each 16 values have their scale.
func decodeQ6_K(dst []float32, b []byte) {
	d := half(b[208:])
	for n := range 2 {
		low, high, scales, out := b[64*n:][:64], b[128+32*n:][:32], b[192+8*n:][:8], dst[128*n:][:128]
		for part := range 2 { // 16 values each of four groups of 32
			var s [4]float32
			for g := range s {
				s[g] = d * float32(int8(scales[part+2*g]))
			}
			for i := 16 * part; i < 16*part+16; i++ {
				a, c, h := low[i], low[32+i], high[i]
				out[i] = s[0] * float32(int(a&15|h&3<<4)-32)
				out[32+i] = s[1] * float32(int(c&15|h>>2&3<<4)-32)
				out[64+i] = s[2] * float32(int(a>>4|h>>4&3<<4)-32)
				out[96+i] = s[3] * float32(int(c>>4|h>>6<<4)-32)
			}
		}
	}
}
