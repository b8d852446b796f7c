package attention

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
)

// FuzzKernelsGiveTheSameBits fills a cache and rows with any bytes, of any numbers, and
// computes both products on every level.
func FuzzKernelsGiveTheSameBits(f *testing.F) {
	f.Add(uint8(1), uint8(3), uint8(20), uint8(16), []byte{1, 2, 3, 200, 0x7f, 0x80, 0xff, 60, 61})
	f.Add(uint8(4), uint8(5), uint8(64), uint8(17), []byte{0, 0x3c, 0x80, 0x43, 9, 0xbf})
	f.Fuzz(func(t *testing.T, kind, rows, dim, size uint8, data []byte) {
		d := dtypes[int(kind)%len(dtypes)]
		n, heads, width, positions := int(rows)%11+1, 2, int(dim)%70+1, int(size)%50+1
		if len(data) == 0 {
			return
		}
		c := New(shape(heads, 1, width, 0), d, 5, positions)
		fill(c.keys[0], data)
		fill(c.values[0], slices.Concat(data, []byte{1}))
		table := []kv.Block{3, 1, 4, 0}
		q, weights := numbers(n*width, data), numbers(n*len(table)*positions, data)
		var want [][]float32
		for level := vector.Plain; level <= vector.Supported(); level++ {
			restore := vector.Use(level)
			var results [][]float32
			for _, wide := range []bool{true, false} {
				if level == vector.Plain && !wide && d != Float32 {
					continue
				}
				results = append(results, products(c, table, q, weights, n, wide))
			}
			restore()
			for _, got := range results {
				if want = append(want, got); !slices.EqualFunc(got, want[0], sameNumber) {
					t.Fatalf("%s on %s, %d rows of %d, blocks of %d:\n%v\nwant\n%v", d, level, n, width, positions, got, want[0])
				}
			}
		}
	})
}

// products are the scores of a head, and what mixing gives.
func products(c *Cache, table []kv.Block, q, weights []float32, rows int, wide bool) (all []float32) {
	const head = 1
	positions := len(table) * c.blockSize
	j := &job{Scratch: &Scratch{}, Plan: &Plan{cache: c}}
	stride := positions + vector.Width
	scores := make([]float32, rows*stride)
	outWidth := columns(c.dim) * vector.Width
	out := make([]float32, rows*outWidth)
	for i := range table {
		one := table[i : i+1]
		d := c.dtype
		point := func(layer []byte, convert func([]float32, []byte, kv.Block, int)) {
			if wide && c.dtype != Float32 {
				convert(j.wideBlock(0), layer, one[0], head)
				j.work.overWide(c, j.wide, 1)
				d = Float32
				return
			}
			j.work.over(c, layer, head, table[i:], 1)
		}
		point(c.keys[0], c.wideKeys)
		j.work.scoreRows(d, scores[i*c.blockSize:], stride, q, rows, c.dim, c.blockSize)
		point(c.values[0], c.wideValues)
		j.work.mixRows(d, out, outWidth, weights[i*c.blockSize:], positions, rows, c.blockSize, c.dim)
	}
	for r := range rows {
		all = append(all, scores[r*stride:][:positions]...)
		all = append(all, out[r*outWidth:][:c.dim]...)
	}
	return all
}

func fill(dst, data []byte) {
	for i := range dst {
		dst[i] = data[i%len(data)] + byte(i/len(data))
	}
}

func numbers(n int, data []byte) []float32 {
	raw := make([]byte, 4*n)
	fill(raw, data)
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return x
}

// sameNumber says whether two are equal to the bit, or both NaN: which one comes of
// two that meet is the machine's affair.
func sameNumber(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}
