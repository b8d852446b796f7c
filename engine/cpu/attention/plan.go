package attention

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

const (
	// chunk is how many positions are computed before they are folded into a result.
	// Chunks begin at multiples of it.
	chunk = 256
	// maxRows is how many query rows go over K and V together: enough that reading and
	// converting those costs little, few enough for their scores to stay in the cache.
	maxRows = 64
	// fewTokens is up to how many tokens of a sequence share a tile with other sequences':
	// those of decoding, with what a draft proposed.
	fewTokens = 8
	// maxResults bounds the memory of chunks' results that wait to be folded, in floats.
	maxResults = 4 << 20
	// enough items of equal cost for each worker keep the wait for the last one short.
	enough = 4
)

// Plan is the attention of a step, cut into items that are independent of each other.
// It is set up once for all layers.
type Plan struct {
	cache   *Cache
	workers int
	tables  [][]kv.Block // per sequence, of units
	tokens  []token      // in the order in which they are processed
	tiles   []tile
	layouts []layout // one for each distinct window
	layers  []int    // the layout of each layer
	results []float32
}

// token is one token of the step.
type token struct {
	row      int // its place among the step's queries and outputs
	table    []kv.Block
	position int
}

// tile is a few tokens whose query heads are processed together: of one sequence, or
// the few tokens of sequences that share blocks.
type tile struct{ first, end int } // of Plan.tokens

// layout is how the tiles are cut in layers with one window.
type layout struct {
	window  int
	spans   []span // per tile
	items   []item
	pending []atomic.Int32 // per tile and KV head: chunks that are not computed yet
}

// span is what a tile reads.
type span struct {
	first, end int  // chunks
	cost       int  // rows times positions, for one KV head
	split      bool // each chunk is an item
	results    int  // where their results are, if they are
}

// item is one piece of work: a tile, a KV head, and one chunk or all.
type item struct {
	tile, head int
	first, end int // chunks
	cost       int
}

// NewPlan returns a plan for steps with a cache, to be computed by a number of workers.
func (c *Cache) NewPlan(workers int) *Plan {
	p := &Plan{cache: c, workers: workers}
	for _, w := range c.windows {
		at := slices.IndexFunc(p.layouts, func(l layout) bool { return l.window == w })
		if at < 0 {
			at = len(p.layouts)
			p.layouts = append(p.layouts, layout{window: w})
		}
		p.layers = append(p.layers, at)
	}
	return p
}

// Set lays out a step. Its rows are the sequences' tokens in order; the sequences have
// passed Check.
func (p *Plan) Set(sequences []*model.Sequence) {
	p.tokens, p.tiles = p.tokens[:0], p.tiles[:0]
	p.setTables(sequences)
	p.together(sequences)
	row := 0
	for i, q := range sequences {
		if len(q.Tokens) > fewTokens {
			p.prompt(q, p.tables[i], row)
		}
		row += len(q.Tokens)
	}
	for i := range p.layouts {
		p.cut(&p.layouts[i])
	}
}

// setTables turns tables of blocks into tables of units.
func (p *Plan) setTables(sequences []*model.Sequence) {
	c := p.cache
	for len(p.tables) < len(sequences) {
		p.tables = append(p.tables, nil)
	}
	for i, q := range sequences {
		if c.units == 1 {
			p.tables[i] = q.Blocks
			continue
		}
		table := resize(p.tables[i], kv.BlocksFor(q.Start+len(q.Tokens), c.blockSize))
		for u := range table {
			table[u] = c.unit(q.Blocks, u*c.blockSize)
		}
		p.tables[i] = table
	}
}

// perTile is how many tokens make a tile.
func (p *Plan) perTile() int { return max(1, maxRows/p.cache.group) }

// prompt lays out a sequence of many tokens, in tiles of about the same size.
func (p *Plan) prompt(q *model.Sequence, table []kv.Block, row int) {
	n := len(q.Tokens)
	tiles := (n + p.perTile() - 1) / p.perTile()
	for t := range tiles {
		first := len(p.tokens)
		for i := t * n / tiles; i < (t+1)*n/tiles; i++ {
			p.tokens = append(p.tokens, token{row + i, table, q.Start + i})
		}
		p.tiles = append(p.tiles, tile{first, len(p.tokens)})
	}
}

// together lays out sequences of few tokens, those with common blocks beside each other.
func (p *Plan) together(sequences []*model.Sequence) {
	row := 0
	for i, q := range sequences {
		if len(q.Tokens) > fewTokens {
			row += len(q.Tokens)
			continue
		}
		for t := range q.Tokens {
			p.tokens = append(p.tokens, token{row, p.tables[i], q.Start + t})
			row++
		}
	}
	slices.SortStableFunc(p.tokens, func(a, b token) int {
		if same(a.table, b.table) {
			return 0
		}
		return slices.CompareFunc(a.table, b.table, func(x, y kv.Block) int { return cmp.Compare(x, y) })
	})
	for first := 0; first < len(p.tokens); {
		end := first + 1
		for end < len(p.tokens) && end-first < p.perTile() && p.tokens[end].table[0] == p.tokens[first].table[0] {
			end++
		}
		p.tiles = append(p.tiles, tile{first, end})
		first = end
	}
}

// sees are the positions that a token sees in layers with a window.
func (t *token) sees(window int) (low, high int) {
	high = t.position + 1
	if window > 0 {
		low = max(0, high-window)
	}
	return low, high
}

// inside are those of them that lie in a chunk; none if high is low.
func (t *token) inside(window, c int) (low, high int) {
	low, high = t.sees(window)
	low = max(low, c*chunk)
	return low, max(low, min(high, (c+1)*chunk))
}

// cut makes the items of a layout, the most expensive ones first. A tile that is much
// of the work is cut into its chunks, whose results are folded when all are there; the
// result is the same to the bit.
func (p *Plan) cut(l *layout) {
	l.spans, l.items = l.spans[:0], l.items[:0]
	l.pending = resize(l.pending, len(p.tiles)*p.cache.heads)
	total := 0
	for _, t := range p.tiles {
		s := span{first: math.MaxInt}
		for _, token := range p.tokens[t.first:t.end] {
			low, high := token.sees(l.window)
			s.first, s.end = min(s.first, low/chunk), max(s.end, (high-1)/chunk+1)
			s.cost += (high - low) * p.cache.group
		}
		total += s.cost * p.cache.heads
		l.spans = append(l.spans, s)
	}
	size := 0
	for i, t := range p.tiles {
		s := &l.spans[i]
		n := (s.end - s.first) * (t.end - t.first) * p.cache.heads * p.cache.group * p.resultSize()
		if s.cost*enough*p.workers > total && p.workers > 1 && s.end-s.first > 1 && size+n <= maxResults {
			s.split, s.results = true, size
			size += n
		}
		p.items(l, i)
	}
	p.results = resize(p.results, max(len(p.results), size))
	slices.SortStableFunc(l.items, func(a, b item) int { return cmp.Compare(b.cost, a.cost) })
}

// items appends those of a tile.
func (p *Plan) items(l *layout, tile int) {
	t, s := p.tiles[tile], l.spans[tile]
	if !s.split {
		for h := range p.cache.heads {
			l.items = append(l.items, item{tile: tile, head: h, first: s.first, end: s.end, cost: s.cost})
		}
		return
	}
	for c := s.first; c < s.end; c++ {
		cost := 0
		for _, token := range p.tokens[t.first:t.end] {
			low, high := token.inside(l.window, c)
			cost += (high - low) * p.cache.group
		}
		for h := range p.cache.heads {
			l.items = append(l.items, item{tile: tile, head: h, first: c, end: c + 1, cost: cost})
		}
	}
	for h := range p.cache.heads {
		l.pending[tile*p.cache.heads+h].Store(int32(s.end - s.first))
	}
}

// resultSize is the floats of one row's result: its elements, and its state.
func (p *Plan) resultSize() int { return p.cache.dim + 2 }

// Items is how many items a layer has.
func (p *Plan) Items(layer int) int { return len(p.layouts[p.layers[layer]].items) }

// resize returns s with n elements, whose values mean nothing.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	return s[:n]
}
