package block

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encode stores values as t, each rounded to nearest and halves to even; blocks of
// Q8_0 as ggml's reference quantizer makes them (ggml-quants.c,
// quantize_row_q8_0_ref). The other block formats are only read. It is an error if
// dst is not what t.Size(len(values)) says, or if a block has no finite scale.
func Encode(dst []byte, t Type, values []float32) error {
	size, err := t.Size(len(values))
	switch {
	case err != nil:
		return err
	case size != len(dst):
		return fmt.Errorf("%d values of %s take %d bytes, not %d", len(values), t, size, len(dst))
	}
	switch t {
	case F32:
		for i, v := range values {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case F16:
		for i, v := range values {
			binary.LittleEndian.PutUint16(dst[2*i:], ToHalf(v))
		}
	case BF16:
		for i, v := range values {
			binary.LittleEndian.PutUint16(dst[2*i:], ToBF16(v))
		}
	case F8E4M3:
		for i, v := range values {
			dst[i] = ToF8(v)
		}
	case Q8_0:
		for i := 0; i < len(values); i += 32 {
			if err := encodeQ8_0(dst[i/32*34:][:34], values[i:][:32]); err != nil {
				return fmt.Errorf("encoding values %d to %d: %w", i, i+31, err)
			}
		}
	default:
		return fmt.Errorf("%s is only read, not written", t)
	}
	return nil
}

func encodeQ8_0(dst []byte, values []float32) error {
	largest := float32(0)
	for _, v := range values {
		largest = max(largest, float32(math.Abs(float64(v)))) // NaN stays
	}
	d := largest / 127
	scale := ToHalf(d)
	if scale&0x7c00 == 0x7c00 {
		return fmt.Errorf("largest of %g has no Q8_0 scale", largest)
	}
	inverse := 1 / d
	if math.IsInf(float64(inverse), 0) { // zeros, and what is as good as zero
		inverse = 0
	}
	binary.LittleEndian.PutUint16(dst, scale)
	for i, v := range values {
		dst[2+i] = byte(int8(math.Round(float64(v * inverse))))
	}
	return nil
}
