package kv

import (
	"errors"
	"fmt"
	"math"
)

// ErrInUse reports that the prefix cache cannot be reset because requests hold
// blocks.
var ErrInUse = errors.New("resetting the prefix cache while blocks are in use")

// Pool is a fixed number of KV blocks. It is not safe for concurrent use.
type Pool struct {
	blockSize int
	usable    int
	blocks    []block        // those that were ever taken, after the null block: the rest is as good as free
	free      int            // blocks on the free list
	cached    map[Hash]Block // the oldest block with this content
	hashed    int            // blocks that carry a hash
	evictions int64
	host      *Host // keeps what is evicted; nil when there is none
}

// block is what the pool knows of one physical block. prev and next link the
// free list while refs is 0, which blocks that were never taken are ahead of; the null block is its sentinel. older and newer
// link the ring of blocks with the same hash.
type block struct {
	refs         int32
	prev, next   Block
	older, newer Block
	hashed       bool
	hash         Hash
}

// NewPool returns a pool of the given number of blocks, the null block
// included, of blockSize tokens each. It panics when blocks < 2 or
// blockSize < 1: such a pool can hold nothing.
func NewPool(blocks, blockSize int) *Pool {
	if blocks < 2 || blocks > math.MaxInt32 || blockSize < 1 {
		panic(fmt.Sprintf("kv: pool of %d blocks of %d tokens", blocks, blockSize))
	}
	return &Pool{
		blockSize: blockSize,
		usable:    blocks - 1,
		blocks:    make([]block, 1),
		free:      blocks - 1,
		cached:    make(map[Hash]Block),
	}
}

// BlockSize is the number of tokens in one block.
func (p *Pool) BlockSize() int { return p.blockSize }

// Usable is the number of blocks that can be allocated: all but the null block.
func (p *Pool) Usable() int { return p.usable }

// Free is the number of blocks that nobody references, cached ones included.
func (p *Pool) Free() int { return p.free }

// Cached is the number of blocks that can be found by their hash.
func (p *Pool) Cached() int { return p.hashed }

// Evictions is how many cached blocks were taken for other content so far.
func (p *Pool) Evictions() int64 { return p.evictions }

// SetHost gives the pool a tier that keeps the content of the blocks it evicts.
func (p *Pool) SetHost(h *Host) { p.host = h }

// Host is the tier behind the pool; nil when there is none.
func (p *Pool) Host() *Host { return p.host }

// Usage is the share of usable blocks that are referenced, 0 to 1: vLLM's
// kv_cache_usage_perc. Cached-free blocks count as free.
func (p *Pool) Usage() float64 {
	return 1 - float64(p.free)/float64(p.Usable())
}

// Allocate appends n blocks to table, taking the least recently used first and
// evicting their old content from the cache. When fewer than n are free it
// changes nothing and reports false.
func (p *Pool) Allocate(table []Block, n int) ([]Block, bool) {
	if n > p.free {
		return table, false
	}
	for range n {
		b := p.oldest()
		if p.blocks[b].hashed {
			if p.host != nil {
				p.host.Put(p.blocks[b].hash)
			}
			p.forget(b)
			p.evictions++
		}
		p.blocks[b].refs = 1
		table = append(table, b)
	}
	return table, true
}

// oldest takes the block that has been free for longest: as long as there are some,
// one that was never taken.
func (p *Pool) oldest() Block {
	if n := len(p.blocks); n <= p.usable {
		p.blocks = append(p.blocks, block{})
		p.free--
		return Block(n)
	}
	b := p.blocks[Null].next
	p.unlinkFree(b)
	return b
}

// Share takes one more reference to each block of a prefix hit, removing those
// that nobody held from the free list.
func (p *Pool) Share(hit []Block) {
	for _, b := range hit {
		if p.blocks[b].refs == 0 {
			p.unlinkFree(b)
		}
		p.blocks[b].refs++
	}
}

// Refs is how many tables a block is in.
func (p *Pool) Refs(b Block) int { return int(p.blocks[b].refs) }

// Idle returns how many of the given blocks nobody references: a hit on them
// uses up free blocks just as an allocation does.
func (p *Pool) Idle(hit []Block) int {
	n := 0
	for _, b := range hit {
		if p.blocks[b].refs == 0 {
			n++
		}
	}
	return n
}

// Release drops one reference to each block of a table, from the last to the
// first. Blocks that nobody references any more join the tail of the free list
// and keep their content until they are evicted. It panics on a block that is
// not referenced: freeing twice would hand one block to two requests.
func (p *Pool) Release(table []Block) {
	for i := len(table) - 1; i >= 0; i-- {
		b := table[i]
		if b == Null || p.blocks[b].refs <= 0 {
			panic(fmt.Sprintf("kv: releasing block %d, which nobody holds", b))
		}
		p.blocks[b].refs--
		if p.blocks[b].refs == 0 {
			p.pushFree(b)
		}
	}
}

// pushFree puts b at the tail of the free list, the place evicted last.
func (p *Pool) pushFree(b Block) {
	tail := p.blocks[Null].prev
	p.blocks[b].prev, p.blocks[b].next = tail, Null
	p.blocks[tail].next = b
	p.blocks[Null].prev = b
	p.free++
}

// unlinkFree takes b out of the free list, wherever in it b is.
func (p *Pool) unlinkFree(b Block) {
	prev, next := p.blocks[b].prev, p.blocks[b].next
	p.blocks[prev].next = next
	p.blocks[next].prev = prev
	p.free--
}
