package matrix

import (
	"math"

	"github.com/llmctl/llmctl/engine/cpu/vector"
)

// Block is how many inputs share one scale when activations are quantized.
const Block = 32

// Meta is what one block of quantized activations is worth.
type Meta struct {
	Scale     float32 // of its codes
	Sum       float32 // of its codes, times Scale
	Low, High int32   // sums of the first 16 codes and of the last
}

// Rows holds activations, one row per token, in the forms that matrices want.
type Rows struct {
	Width  int       // inputs
	Floats []float32 // [row][Width]
	Codes  []int8    // [row][Width], in −127 … 127
	Meta   []Meta    // [row][Width/Block]
}

// Resize makes room for n rows of a width. Their contents are undefined. Codes are
// only there when the width is a whole number of blocks.
func (r *Rows) Resize(n, width int) {
	r.Width = width
	r.Floats = grow(r.Floats, n*width)
	if width%Block == 0 {
		r.Codes = grow(r.Codes, n*width)
		r.Meta = grow(r.Meta, n*width/Block)
	}
}

// Row is one row of floats.
func (r *Rows) Row(i int) []float32 { return r.Floats[i*r.Width:][:r.Width] }

// Quantize sets the codes of inputs first to last−1 of a row, which are whole blocks,
// from its floats.
func (r *Rows) Quantize(row, first, last int) {
	at := row * r.Width
	quantize(r.Codes[at+first:at+last], r.Meta[(at+first)/Block:(at+last)/Block], r.Floats[at+first:at+last])
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func quantize(codes []int8, meta []Meta, x []float32) {
	if vector.Current() >= vector.AVX2 && len(meta) > 0 {
		_, _ = codes[Block*len(meta)-1], x[Block*len(meta)-1]
		quantizeVector(&codes[0], &meta[0], &x[0], len(meta))
		return
	}
	for b := range meta {
		meta[b] = quantizeBlock(codes[b*Block:][:Block], x[b*Block:][:Block])
	}
}

const (
	largestCode = 127
	rounder     = 3 << 22 // 1.5·2²³: adding it rounds to an integer, half to even

	// tiny is where the reciprocal of the scale could overflow: a block without
	// anything larger is taken for zero.
	tiny = 1e-30
)

// quantizeBlock is quantize for one block in plain Go, as ggml's quantize_row_q8_1
// does it, but with a scale in single precision.
func quantizeBlock(codes []int8, x []float32) Meta {
	top := float32(0)
	for _, v := range x {
		top = max(top, math.Float32frombits(math.Float32bits(v)&^(1<<31)))
	}
	if !(top >= tiny) {
		clear(codes)
		return Meta{}
	}
	inverse, sums := float32(largestCode)/top, [2]int32{}
	for i, v := range x {
		q := int32(float32(float32(v*inverse)+rounder) - rounder)
		codes[i] = int8(q)
		sums[i/(Block/2)] += q
	}
	scale := top / largestCode
	return Meta{Scale: scale, Sum: scale * float32(sums[0]+sums[1]), Low: sums[0], High: sums[1]}
}

// Copy makes a row the same as a row of others, of the same width, in all forms.
func (r *Rows) Copy(row int, others *Rows, other int) {
	copy(r.Row(row), others.Row(other))
	if w := r.Width; w%Block == 0 {
		copy(r.Codes[row*w:][:w], others.Codes[other*w:])
		copy(r.Meta[row*w/Block:][:w/Block], others.Meta[other*w/Block:])
	}
}
