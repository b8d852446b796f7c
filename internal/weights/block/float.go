package block

import "math"

// FromHalf is the value of an IEEE 754 half. A signalling NaN becomes a quiet one, as
// processors convert it (VCVTPH2PS), so that kernels and this code agree to the bit.
func FromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	rest := uint32(h&0x7fff) << 13 // exponent and fraction where a single has them
	switch exponent := h & 0x7c00; {
	case exponent == 0x7c00:
		rest |= 0x7f800000
		if h&0x3ff != 0 {
			rest |= 1 << 22
		}
	case exponent != 0:
		rest += (127 - 15) << 23
	default:
		// The fraction of a subnormal counts units of 2^-24: the processor normalizes it.
		rest = math.Float32bits(float32(h&0x3ff) * 0x1p-24)
	}
	return math.Float32frombits(sign | rest)
}

// ToHalf is the half nearest to f, of two that are as near the even one. What is too
// large becomes an infinity; a NaN stays one, quiet (VCVTPS2PH).
func ToHalf(f float32) uint16 {
	bits := math.Float32bits(f)
	sign, abs := uint16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00 | uint16(abs>>13&0x3ff)
	case abs >= 0x47800000: // 2^16; what lies below and rounds up to it carries into the exponent
		return sign | 0x7c00
	case abs < 0x38800000: // 2^-14: adding 2^-1 leaves a fraction in units of 2^-24, rounded
		return sign | uint16(math.Float32bits(math.Float32frombits(abs)+0.5)-0x3f000000)
	}
	return sign | uint16(nearestEven(abs-(127-15)<<23, 13))
}

// FromBF16 is the value of a bfloat16, which is the upper half of a single.
func FromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// ToBF16 is the bfloat16 nearest to f, of two that are as near the even one. What is
// too large becomes an infinity; a NaN stays one, quiet.
func ToBF16(f float32) uint16 {
	bits := math.Float32bits(f)
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	return uint16(nearestEven(bits, 16))
}

// FromF8 is the value of an FP8 E4M3 (OCP 8-bit Floating Point Specification, table 1):
// bias 7, no infinity, and a NaN of all ones.
func FromF8(b byte) float32 { return f8[b] }

// ToF8 is the FP8 E4M3 nearest to f, of two that are as near the even one. What is
// beyond ±448, infinities too, becomes ±448, as engines convert into caches (CUDA's
// __NV_SATFINITE); a NaN stays one.
func ToF8(f float32) byte {
	bits := math.Float32bits(f)
	sign, abs := byte(bits>>24&0x80), bits&0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7f
	case abs > 0x43e00000: // 448
		return sign | 0x7e
	case abs < 0x3c800000: // 2^-6: adding 2^14 leaves a fraction in units of 2^-9, rounded
		return sign | byte(math.Float32bits(math.Float32frombits(abs)+0x1p14)-0x46800000)
	}
	return sign | byte(nearestEven(abs-(127-7)<<23, 20))
}

// f8 holds the value of each FP8 E4M3.
var f8 = func() (values [256]float32) {
	for i := range values {
		exponent, fraction := i>>3&15, i&7
		v := math.Ldexp(float64(8+fraction), exponent-7-3)
		if exponent == 0 {
			v = math.Ldexp(float64(fraction), 1-7-3)
		}
		values[i] = float32(math.Copysign(v, float64(1-i>>6&2)))
	}
	values[0x7f], values[0xff] = float32(math.NaN()), math.Float32frombits(0xffc00000)
	return values
}()

// nearestEven shifts n right, rounding to nearest and halves to even.
func nearestEven(n uint32, shift int) uint32 {
	return (n + 1<<(shift-1) - 1 + n>>shift&1) >> shift
}
