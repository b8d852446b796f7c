package attention

import (
	"unsafe"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
)

const (
	// wideElements is how much of K or V the rows go over at once: what stays in the
	// first-level cache meanwhile.
	wideElements = 4096
	// manyRows is from how many rows on converting K and V into memory costs less than
	// converting them again for every few rows.
	manyRows = 9
)

// step is how many blocks are gone over at once.
func (c *Cache) step() int { return max(1, wideElements/c.elements()) }

// rowsOf are the query rows of a pass.
func (j *job) rowsOf(p pass) (first, n int) {
	return p.first * j.cache.group, (p.end - p.first) * j.cache.group
}

// widens says whether a pass of some rows goes over converted K and V.
func (j *job) widens(rows int) bool {
	return j.cache.dtype != Float32 && (rows >= manyRows || vector.Current() == vector.Plain)
}

// scorePass computes scores of whole blocks.
func (j *job) scorePass(p pass) {
	c := j.cache
	first, rows := j.rowsOf(p)
	queries, table := j.queries[first*c.dim:], j.tokens[p.first].table
	layer, wide := c.keys[j.layer], j.widens(rows)
	end := kv.BlocksFor(p.high, c.blockSize)
	for b := p.low / c.blockSize; b < end; b += c.step() {
		blocks := table[b:min(b+c.step(), end)]
		scores := j.scores[first*j.width+b*c.blockSize-j.base:]
		d := c.dtype
		if wide {
			for i, block := range blocks {
				c.wideKeys(j.wideBlock(i), layer, block, j.head)
			}
			d = Float32
			j.work.overWide(c, j.wide, len(blocks))
		} else {
			j.work.over(c, layer, j.head, table[b:end], len(blocks))
		}
		j.work.scoreRows(d, scores, j.width, queries, rows, c.dim, c.blockSize)
	}
}

// wideBlock is the memory for the i-th converted block.
func (j *job) wideBlock(i int) []float32 {
	c := j.cache
	j.wide = resize(j.wide, c.step()*c.elements()+vector.Width)
	return j.wide[i*c.elements():][:c.elements()+vector.Width]
}

// mixPass adds V of some positions, weighted by the scores, to the results: of the rest
// of a block, of several whole blocks, or of the beginning of a block at a time.
func (j *job) mixPass(p pass) {
	c := j.cache
	first, rows := j.rowsOf(p)
	out, table := j.out[first*j.outWidth:], j.tokens[p.first].table
	layer, wide := c.values[j.layer], j.widens(rows)
	for low := p.low; low < p.high; {
		b, offset := low/c.blockSize, low%c.blockSize
		n, blocks := min(c.blockSize-offset, p.high-low), 1
		if n == c.blockSize {
			blocks = min(c.step(), (p.high-low)/c.blockSize)
		}
		scores := j.scores[first*j.width+low-j.base:]
		d := c.dtype
		if wide {
			for i, block := range table[b : b+blocks] {
				c.wideValues(j.wideBlock(i), layer, block, j.head)
			}
			d = Float32
			j.work.overWide(c, j.wide, blocks)
		} else {
			j.work.over(c, layer, j.head, table[b:kv.BlocksFor(p.high, c.blockSize)], blocks)
		}
		j.work.from(offset, c.dim*d.size())
		j.work.mixRows(d, out, j.outWidth, scores, j.width, rows, n, c.dim)
		low += blocks * n
	}
}

// over points the work to K or V of a KV head in the first blocks of a table.
func (w *work) over(c *Cache, layer []byte, head int, table []kv.Block, blocks int) {
	w.base = &layer[head*c.headBytes]
	w.blockBytes = c.heads * c.headBytes
	w.table, w.blocks = &table[0], blocks
	w.last = &table[len(table)-1]
	w.scales = c.codeBytes
}

// overWide points the work to a few blocks that lie together as float32.
func (w *work) overWide(c *Cache, wide []float32, blocks int) {
	w.base = (*byte)(unsafe.Pointer(unsafe.SliceData(wide)))
	w.blockBytes = 4 * c.elements()
	w.table, w.blocks = &c.ascending[0], blocks
	w.last = &c.ascending[blocks-1]
}

// from lets the work begin at a position within its blocks of V.
func (w *work) from(offset, rowBytes int) {
	w.base = (*byte)(unsafe.Add(unsafe.Pointer(w.base), offset*rowBytes))
	w.scales += offset * (scaleBytes - rowBytes)
}
