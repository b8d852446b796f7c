package attention

import (
	"fmt"
	"slices"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// Cache is the paged KV memory. K and V of one block, layer and KV head are
// contiguous. V is [block][kv head][position in block][head dim]; K is transposed
// to [block][kv head][head dim][position in block], so that both products of
// attention run over contiguous outputs: scores of successive positions, and
// successive elements of the result.
type Cache struct {
	blockSize int
	blocks    int
	heads     int // KV heads
	group     int // query heads that share one
	dim       int
	cap       float32
	windows   []int // per layer; 0 is all
	keys      [][]float32
	values    [][]float32
}

// New returns a cache for a model, of a number of blocks of blockSize tokens.
func New(s model.Shape, blocks, blockSize int) *Cache {
	c := &Cache{
		blockSize: blockSize, blocks: blocks,
		heads: s.KVHeads, group: s.Heads / s.KVHeads, dim: s.HeadDim, cap: s.ScoreCap,
	}
	for i := range s.Layers {
		c.windows = append(c.windows, s.Kind(i).Window)
		c.keys = append(c.keys, make([]float32, blocks*blockSize*s.Keys()))
		c.values = append(c.values, make([]float32, blocks*blockSize*s.Keys()))
	}
	return c
}

// block returns the elements of a block, for all heads or from one on.
func (c *Cache) block(all []float32, block kv.Block, head int) []float32 {
	size := c.blockSize * c.dim
	return all[(int(block)*c.heads+head)*size:][:(c.heads-head)*size]
}

// Write stores one token's K and V, [kv head][head dim] each.
func (c *Cache) Write(layer int, table []kv.Block, position int, key, value []float32) {
	block, offset := table[position/c.blockSize], position%c.blockSize
	for h := range c.heads {
		keys := c.block(c.keys[layer], block, h)
		for d, k := range key[h*c.dim : (h+1)*c.dim] {
			keys[d*c.blockSize+offset] = k
		}
		copy(c.block(c.values[layer], block, h)[offset*c.dim:], value[h*c.dim:(h+1)*c.dim])
	}
}

// Copy gives a block the content of another one.
func (c *Cache) Copy(m model.Copy) {
	for _, all := range [][][]float32{c.keys, c.values} {
		for _, layer := range all {
			copy(c.block(layer, m.To, 0), c.block(layer, m.From, 0))
		}
	}
}

// Check returns an error if a sequence's table does not cover its first n tokens, or
// if it names a block outside the cache.
func (c *Cache) Check(q *model.Sequence, n int) error {
	if len(q.Blocks)*c.blockSize < n {
		return fmt.Errorf("block table of %d blocks does not cover %d tokens", len(q.Blocks), n)
	}
	outside := func(b kv.Block) bool { return b < 0 || int(b) >= c.blocks }
	if i := slices.IndexFunc(q.Blocks, outside); i >= 0 {
		return fmt.Errorf("block %d is outside the cache of %d blocks", q.Blocks[i], c.blocks)
	}
	for _, m := range q.Copies {
		if outside(m.From) || outside(m.To) {
			return fmt.Errorf("copying block %d to %d: outside the cache of %d blocks", m.From, m.To, c.blocks)
		}
	}
	return nil
}
