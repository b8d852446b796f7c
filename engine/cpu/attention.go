package cpu

import (
	"math"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// attend replaces one token's queries by its attention in one layer:
// softmax(q·Kᵀ)·V over positions 0 … position, read through the block table in
// order of position, so that where the blocks lie cannot change the sum. q is
// [head][head dim], already scaled by 1/√dim. group query heads share a KV head.
// scores is scratch for one head, a whole number of blocks long.
func (c *cache) attend(q []float32, layer int, table []kv.Block, position, group int, scores []float32) {
	for head := range c.heads * group {
		c.attendHead(q[head*c.dim:][:c.dim], layer, head/group, table, position+1, scores)
	}
}

func (c *cache) attendHead(q []float32, layer, head int, table []kv.Block, span int, scores []float32) {
	keys, values := c.keys[layer], c.values[layer]
	size := c.blockSize * c.dim
	blocks := kv.BlocksFor(span, c.blockSize)
	clear(scores[:blocks*c.blockSize])
	for i, block := range table[:blocks] {
		// The last block's unused positions are computed too, from whatever lies
		// there, and cut off below: that is cheaper than a narrower kernel.
		accumulate(scores[i*c.blockSize:][:c.blockSize], q, keys[c.at(block, head):][:size], c.blockSize)
	}
	softmax(scores[:span])
	clear(q)
	for i, block := range table[:blocks] {
		first := i * c.blockSize
		accumulate(q, scores[first:min(first+c.blockSize, span)], values[c.at(block, head):][:size], c.dim)
	}
}

// softmax replaces scores by their softmax.
func softmax(s []float32) {
	top := float32(math.Inf(-1))
	for _, x := range s {
		top = max(top, x)
	}
	model.ExpAll(s, s, top, 1)
	sum := float32(0)
	for _, e := range s {
		sum += e
	}
	inverse := 1 / sum
	for i := range s {
		s[i] *= inverse
	}
}
