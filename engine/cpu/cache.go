package cpu

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// cache is the paged KV memory. K and V of one block, layer and KV head are
// contiguous. V is [block][kv head][position in block][head dim]; K is transposed
// to [block][kv head][head dim][position in block], so that both products of
// attention run over contiguous outputs: scores of successive positions, and
// successive elements of the result.
type cache struct {
	blockSize int
	blocks    int
	heads     int
	dim       int
	keys      [][]float32 // per layer
	values    [][]float32
}

func newCache(s model.Shape, blocks, blockSize int) *cache {
	c := &cache{blockSize: blockSize, blocks: blocks, heads: s.KVHeads, dim: s.HeadDim}
	for range s.Layers {
		c.keys = append(c.keys, make([]float32, blocks*blockSize*s.Keys()))
		c.values = append(c.values, make([]float32, blocks*blockSize*s.Keys()))
	}
	return c
}

// at returns the index of the first element of a KV head's vectors in a block.
func (c *cache) at(block kv.Block, head int) int {
	return (int(block)*c.heads + head) * c.blockSize * c.dim
}

// write stores one token's K and V, [kv head][head dim] each.
func (c *cache) write(layer int, table []kv.Block, position int, key, value []float32) {
	block, offset := table[position/c.blockSize], position%c.blockSize
	for h := range c.heads {
		keys := c.keys[layer][c.at(block, h):][:c.blockSize*c.dim]
		for d, k := range key[h*c.dim : (h+1)*c.dim] {
			keys[d*c.blockSize+offset] = k
		}
		copy(c.values[layer][c.at(block, h)+offset*c.dim:], value[h*c.dim:(h+1)*c.dim])
	}
}

// copy gives a block the content of another one, in all layers.
func (c *cache) copy(b model.Copy) {
	n := c.heads * c.blockSize * c.dim
	for layer := range c.keys {
		copy(c.keys[layer][int(b.To)*n:][:n], c.keys[layer][int(b.From)*n:][:n])
		copy(c.values[layer][int(b.To)*n:][:n], c.values[layer][int(b.From)*n:][:n])
	}
}

// check returns an error if a table does not cover the first n tokens or names a
// block outside the cache.
func (c *cache) check(table []kv.Block, n int) error {
	if len(table)*c.blockSize < n {
		return fmt.Errorf("block table of %d blocks does not cover %d tokens", len(table), n)
	}
	for _, b := range table {
		if b < 0 || int(b) >= c.blocks {
			return fmt.Errorf("block %d is outside the cache of %d blocks", b, c.blocks)
		}
	}
	return nil
}
