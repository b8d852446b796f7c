package matrix

import (
	"encoding/binary"

	"github.com/llmctl/llmctl/internal/weights/block"
)

// packPanel lays out 16 stored rows, of which absent ones are nil.
func packPanel(dst []byte, l layout, t block.Type, rows *[Width][]byte) {
	unit, _ := l.unit()
	switch l {
	case floats32:
		interleave(dst, rows, 4)
	case floats16, brains16:
		interleave(dst, rows, 2)
	default:
		var units [Width]codes
		read := readers[t]
		for b := range len(dst) / unit {
			for r, row := range rows {
				if row != nil {
					read(&units[r], row, b)
				}
			}
			packUnit(dst[b*unit:][:unit], l, &units)
		}
	}
}

// interleave takes one number of each row at a time. Runs of inputs are short enough
// that the panel's part stays in the first-level cache while all rows go through it.
func interleave(dst []byte, rows *[Width][]byte, size int) {
	const run = 64
	n := len(dst) / (size * Width)
	for first := 0; first < n; first += run {
		count := min(run, n-first)
		part := dst[first*size*Width:][:count*size*Width]
		for r, row := range rows {
			if row == nil {
				continue
			}
			row = row[first*size:][:count*size]
			if size == 4 {
				for i := range count {
					binary.LittleEndian.PutUint32(part[4*(i*Width+r):], binary.LittleEndian.Uint32(row[4*i:]))
				}
			} else {
				for i := range count {
					binary.LittleEndian.PutUint16(part[2*(i*Width+r):], binary.LittleEndian.Uint16(row[2*i:]))
				}
			}
		}
	}
}

// halves turns a row of F8_E4M3 into halves, which hold all its numbers, and products
// with a scale that is a power of two near 1 as well; others are rounded.
func halves(row []byte, scales []float32, r int) []byte {
	scale := float32(1)
	if scales != nil {
		scale = scales[r]
	}
	wide := make([]byte, 0, 2*len(row))
	for _, b := range row {
		wide = binary.LittleEndian.AppendUint16(wide, block.ToHalf(block.FromF8(b)*scale))
	}
	return wide
}

// codes is a block of 32 weights of one row: code·scale + minimum, or, where the
// format has a scale for each half, code·halves[i/16].
type codes struct {
	code           [Block]byte // unsigned nibbles, or signed bytes
	scale, minimum float32
	halves         [2]float32
}

// readers read block b of a row.
var readers = map[block.Type]func(c *codes, row []byte, b int){
	block.Q4_0: readQ4_0, block.Q4_1: readQ4_1, block.Q8_0: readQ8_0, block.Q4_K: readQ4_K, block.Q6_K: readQ6_K,
}

func half(b []byte) float32 { return block.FromHalf(binary.LittleEndian.Uint16(b)) }

const lowNibbles = 0x0f0f0f0f0f0f0f0f

// readNibbles reads 32 codes: the lower nibbles, then the upper ones, of 16 bytes.
func readNibbles(c *codes, q []byte) {
	for i := 0; i < 16; i += 8 {
		both := binary.LittleEndian.Uint64(q[i:])
		binary.LittleEndian.PutUint64(c.code[i:], both&lowNibbles)
		binary.LittleEndian.PutUint64(c.code[16+i:], both>>4&lowNibbles)
	}
}

func readQ4_0(c *codes, row []byte, b int) {
	q := row[b*18:][:18]
	c.scale = half(q)
	c.minimum = -8 * c.scale
	readNibbles(c, q[2:])
}

func readQ4_1(c *codes, row []byte, b int) {
	q := row[b*20:][:20]
	c.scale, c.minimum = half(q), half(q[2:])
	readNibbles(c, q[4:])
}

func readQ8_0(c *codes, row []byte, b int) {
	q := row[b*34:][:34]
	c.scale = half(q)
	copy(c.code[:], q[2:])
}

// readQ4_K reads one of eight blocks that share two scales; their own scales and
// minimums have 6 bits, of which the upper 2 of the last four lie in the first bytes.
func readQ4_K(c *codes, row []byte, b int) {
	q, j := row[b/8*144:][:144], b%8
	packed := q[4:16]
	var scale, minimum byte
	if j < 4 {
		scale, minimum = packed[j]&63, packed[j+4]&63
	} else {
		scale = packed[j+4]&15 | packed[j-4]>>6<<4
		minimum = packed[j+4]>>4 | packed[j]>>6<<4
	}
	c.scale, c.minimum = half(q)*float32(scale), -(half(q[2:]) * float32(minimum))
	nibbles, shift := q[16+j/2*32:][:32], 4*(j%2)
	for i := 0; i < Block; i += 8 {
		binary.LittleEndian.PutUint64(c.code[i:], binary.LittleEndian.Uint64(nibbles[i:])>>shift&lowNibbles)
	}
}

// readQ6_K reads one of eight blocks: two groups of four blocks, whose lower 4 bits
// lie in 64 bytes, blocks 0 and 2 in the first 32, and upper 2 bits in 32 bytes.
func readQ6_K(c *codes, row []byte, b int) {
	q, j := row[b/8*210:][:210], b%8
	group, j := j/4, j%4
	low, high := q[group*64+j%2*32:][:32], q[128+group*32:][:32]
	for i := range c.code {
		c.code[i] = (low[i]>>(4*(j/2))&15 | high[i]>>(2*j)&3<<4) - 32
	}
	d := half(q[208:])
	for i := range c.halves {
		c.halves[i] = d * float32(int8(q[192+group*8+2*j+i]))
	}
}

// smallScales says whether −8 times every scale of Q4_0 blocks is a half.
func smallScales(data []byte) bool {
	for ; len(data) > 0; data = data[18:] {
		if data[1]&0x7f >= 0x70 { // 2¹³ or more
			return false
		}
	}
	return true
}

// packUnit lays out one block of 16 rows.
func packUnit(dst []byte, l layout, units *[Width]codes) {
	for r := range units {
		c := &units[r]
		switch l {
		case nibbles:
			putHalf(dst[2*r:], c.scale)
			putHalf(dst[2*Width+2*r:], c.minimum)
		case nibbles32:
			putFloat(dst[4*r:], c.scale)
			putFloat(dst[4*Width+4*r:], c.minimum)
		case bytes8:
			putHalf(dst[2*r:], c.scale)
		case bytes16:
			putFloat(dst[4*r:], c.halves[0])
			putFloat(dst[4*Width+4*r:], c.halves[1])
		}
	}
	switch l {
	case nibbles, nibbles32:
		packNibbles(dst[len(dst)-Block/2*Width:], units)
	default:
		packBytes(dst[len(dst)-Block*Width:], units)
	}
}

func packNibbles(dst []byte, units *[Width]codes) {
	for r := range Width / 2 {
		for i := 0; i < Block; i += 4 {
			low, high := binary.LittleEndian.Uint32(units[r].code[i:]), binary.LittleEndian.Uint32(units[r+Width/2].code[i:])
			binary.LittleEndian.PutUint32(dst[i*Width/2+4*r:], low|high<<4)
		}
	}
}

func packBytes(dst []byte, units *[Width]codes) {
	for r := range units {
		for i := 0; i < Block; i += 4 {
			copy(dst[i*Width+4*r:][:4], units[r].code[i:])
		}
	}
}

func putHalf(b []byte, v float32)  { binary.LittleEndian.PutUint16(b, block.ToHalf(v)) }
func putFloat(b []byte, v float32) { binary.LittleEndian.PutUint32(b, floatBits(v)) }
