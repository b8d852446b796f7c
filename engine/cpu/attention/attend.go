package attention

import (
	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// Scratch is one worker's memory.
type Scratch struct{ scores []float32 } // [query head of the group][position]

// Attend computes one token's attention in one layer for the query heads that share a
// KV head: softmax(q·Kᵀ)·V over the positions that the token sees, which are those up
// to its own, or the last ones of them in a layer with a window. q and dst are
// [query head of the group][head dim]; q is already scaled. The positions' K and V must
// have been written, the token's own included.
func (c *Cache) Attend(dst, q []float32, layer, head int, table []kv.Block, position int, s *Scratch) {
	first, end := 0, position+1
	if w := c.windows[layer]; w > 0 {
		first = max(0, end-w)
	}
	// Whole blocks of scores are computed, from whatever lies beyond the ends, and cut
	// off below: that is cheaper than a narrower kernel.
	from, blocks := first/c.blockSize, kv.BlocksFor(end, c.blockSize)
	stride := (blocks - from) * c.blockSize
	s.scores = resize(s.scores, c.group*stride)
	clear(s.scores)
	for i, block := range table[from:blocks] {
		vector.AccumulateRows(s.scores[i*c.blockSize:], stride, q, c.dim, c.block(c.keys[layer], block, head), c.blockSize,
			c.group, c.dim, c.blockSize)
	}
	c.softmax(s.scores[first-from*c.blockSize:], stride, end-first)
	clear(dst[:c.group*c.dim])
	for i, block := range table[from:blocks] {
		at := (from + i) * c.blockSize // of the block's first position
		low, high := max(first, at), min(end, at+c.blockSize)
		values := c.block(c.values[layer], block, head)[(low-at)*c.dim:]
		vector.AccumulateRows(dst, c.dim, s.scores[low-from*c.blockSize:], stride, values, c.dim, c.group, high-low, c.dim)
	}
}

// softmax replaces the first n scores of each query head by their softmax.
func (c *Cache) softmax(scores []float32, stride, n int) {
	for g := range c.group {
		s := scores[g*stride:][:n]
		if c.cap > 0 {
			model.SoftCap(s, c.cap)
		}
		model.ExpAll(s, s, vector.Largest(s), 1)
	}
	g := 0
	for ; g+3 <= c.group; g += 3 {
		// Three sums at a time: each is a chain of additions that wait for each other.
		a, b, d := scores[g*stride:][:n], scores[(g+1)*stride:][:n], scores[(g+2)*stride:][:n]
		var sumA, sumB, sumD float32
		for i, e := range a {
			sumA += e
			sumB += b[i]
			sumD += d[i]
		}
		vector.Scale(a, a, 1/sumA)
		vector.Scale(b, b, 1/sumB)
		vector.Scale(d, d, 1/sumD)
	}
	for ; g < c.group; g++ {
		s, sum := scores[g*stride:][:n], float32(0)
		for _, e := range s {
			sum += e
		}
		vector.Scale(s, s, 1/sum)
	}
}

func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n, n+n/2)
	}
	return s[:n]
}
