package attention

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/mapped"
)

// Cache is the paged KV memory.
//
// What one block, layer and KV head hold is contiguous, of K as of V. V is [block][KV
// head][position in block][head dim]; K is transposed to [block][KV head][head
// dim][position in block], so that both products of attention run over contiguous
// outputs: scores of successive positions, and successive elements of the result. With
// types that have scales, one for each position follows.
//
// Large blocks are cut into units, each laid out as a block, so that what kernels go over
// at once stays small. Everything but tables that come from outside counts in units:
// blockSize is that of a unit.
type Cache struct {
	dtype     DType
	blockSize int
	units     int // of a block
	blocks    int
	heads     int // KV heads
	group     int // query heads that share one
	dim       int
	cap       float32
	windows   []int      // per layer; 0 is all
	codeBytes int        // of elements of one block, layer and KV head, of K or of V
	headBytes int        // with their scales
	ascending []kv.Block // 0, 1, … up to step
	keys      [][]byte
	values    [][]byte
	memory    *mapped.Memory // that they are of
}

// slack is what kernels may read beyond the end: a vector that begins within.
const slack = 4 * vector.Width

// New returns a cache for a model, of a number of blocks of blockSize tokens. Its memory
// is outside of Go's heap, where as much garbage may gather as there is memory in use.
// Close it.
func New(s model.Shape, d DType, blocks, blockSize int) *Cache {
	units := unitsOf(blockSize)
	blockSize /= units
	c := &Cache{
		dtype: d, blockSize: blockSize, units: units, blocks: blocks,
		heads: s.KVHeads, group: s.Heads / s.KVHeads, dim: s.HeadDim, cap: s.ScoreCap,
		codeBytes: (blockSize*s.HeadDim*d.size() + 3) &^ 3, // scales are aligned
	}
	c.headBytes = c.codeBytes
	if d.scaled() {
		c.headBytes += blockSize * scaleBytes
	}
	for i := range c.step() {
		c.ascending = append(c.ascending, kv.Block(i))
	}
	size := blocks*units*c.heads*c.headBytes + slack
	stride := (size + alignment - 1) &^ (alignment - 1)
	c.memory = mapped.NewMemory(2 * s.Layers * stride)
	for i := range s.Layers {
		c.windows = append(c.windows, s.Kind(i).Window)
		pair := c.memory.Bytes()[2*i*stride:]
		c.keys = append(c.keys, pair[:size:size])
		c.values = append(c.values, pair[stride:][:size:size])
	}
	return c
}

// alignment is that of each layer's K and V, of a cache line.
const alignment = 64

// Close gives the memory back, which nothing may use any more.
func (c *Cache) Close() error {
	c.keys, c.values = nil, nil
	return c.memory.Close()
}

// maxUnit is from how many tokens on a block is cut.
const maxUnit = 64

// unitsOf is how many units a block has: as few as possible of up to maxUnit tokens, or
// one if there is no way to cut it into reasonable ones.
func unitsOf(blockSize int) int {
	for size := min(blockSize, maxUnit); size >= vector.Width; size-- {
		if blockSize%size == 0 {
			return blockSize / size
		}
	}
	return 1
}

// unit is the unit of a block in which a position lies.
func (c *Cache) unit(table []kv.Block, position int) kv.Block {
	at := position / c.blockSize
	return table[at/c.units]*kv.Block(c.units) + kv.Block(at%c.units)
}

// floats sees aligned bytes as float32, in the machine's own order: they never leave it.
func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// halves sees aligned bytes as 16-bit words.
func halves(b []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}

// head is what a unit holds of one KV head.
func (c *Cache) head(layer []byte, block kv.Block, head int) []byte {
	return layer[(int(block)*c.heads+head)*c.headBytes:][:c.headBytes]
}

// elements is how many elements a block has of one KV head.
func (c *Cache) elements() int { return c.blockSize * c.dim }

// Copy gives a block the content of another one, in all layers.
func (c *Cache) Copy(m model.Copy) {
	n := c.units * c.heads * c.headBytes
	for _, layers := range [][][]byte{c.keys, c.values} {
		for _, layer := range layers {
			copy(layer[int(m.To)*n:][:n], layer[int(m.From)*n:][:n])
		}
	}
}

// Check returns an error if a sequence's table does not cover its first n tokens, or
// if it names a block outside the cache.
func (c *Cache) Check(q *model.Sequence, n int) error {
	if len(q.Blocks)*c.units*c.blockSize < n {
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
