package block

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Decode turns stored numbers into float32, len(dst) of them, which are whole
// blocks.
func Decode(dst []float32, t Type, data []byte) {
	switch t {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
		}
	default:
		panic(fmt.Sprintf("decoding %s", t))
	}
}
