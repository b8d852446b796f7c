package attention

import "github.com/llmctl/llmctl/engine/cpu/vector"

// Rows are the queries of a step and where its attention goes, a row for each token,
// [query head][head dim].
type Rows struct {
	Queries []float32 // scaled
	Out     []float32
	// Strides are the floats from one row to the next.
	QueryStride, OutStride int
	// Done, if there is one, is called when a token's output for the query heads of a
	// KV head is there, by the worker that has computed it.
	Done func(row, head int)
}

// Scratch is one worker's memory.
type Scratch struct {
	queries []float32 // [row][head dim]
	scores  []float32 // [row][position of the chunk]
	out     []float32 // [row][head dim], of one chunk
	states  []state   // [row], of one chunk
	folded  []state   // [row], of the chunks that are in the output
	wide    []float32 // a few blocks of K or V
	work    work
	runs    []pass
	ranges  [][]float32 // the scores that each row sees
	job     job
}

// job is an item while it is computed.
type job struct {
	*Plan
	*Scratch
	item
	layer, window int
	tokens        []token // of the tile
	base          int     // the first position that has a place in scores
	width         int     // of scores
	outWidth      int
}

// Attend computes one item of a layer: softmax(q·Kᵀ)·V over the positions that each
// token sees, which are those up to its own, or the last ones of them in a layer with a
// window. K and V of all of them must have been written. Items may be computed by
// several workers at once, each with its own scratch; a layer must be over before the
// next one begins.
func (p *Plan) Attend(layer, index int, r *Rows, s *Scratch) {
	l := &p.layouts[p.layers[layer]]
	j := &s.job
	*j = job{Plan: p, Scratch: s, item: l.items[index], layer: layer, window: l.window}
	t, span := p.tiles[j.tile], &l.spans[j.tile]
	j.tokens = p.tokens[t.first:t.end]
	j.begin(r)
	for c := j.first; c < j.end; c++ {
		j.compute(c)
		if span.split {
			j.keep(span, c)
		} else {
			j.deliver(r)
		}
	}
	if span.split {
		left := &l.pending[j.tile*p.cache.heads+j.head]
		if left.Add(-1) > 0 {
			return
		}
		left.Store(int32(span.end - span.first)) // for the next layer
		j.deliverAll(span, r)
	}
	if r.Done != nil {
		for _, t := range j.tokens {
			r.Done(t.row, j.head)
		}
	}
}

// rows is how many query rows the tile has for a KV head.
func (j *job) rows() int { return len(j.tokens) * j.cache.group }

// begin collects the queries.
func (j *job) begin(r *Rows) {
	c := j.cache
	j.queries = resize(j.queries, j.rows()*c.dim)
	j.outWidth = columns(c.dim) * vector.Width
	j.out = resize(j.out, j.rows()*j.outWidth)
	j.states = resize(j.states, j.rows())
	j.folded = resize(j.folded, j.rows())
	clear(j.folded)
	n := c.group * c.dim
	for i, t := range j.tokens {
		copy(j.queries[i*n:][:n], r.Queries[t.row*r.QueryStride+j.head*n:])
	}
	// Whole blocks of scores are computed, of which a chunk begins or ends within.
	j.width = (chunk+2*c.blockSize+vector.Width-1)&^(vector.Width-1) + vector.Width
	j.scores = resize(j.scores, j.rows()*j.width)
}

// compute sets out and states to the results of one chunk.
func (j *job) compute(c int) {
	j.base = c * chunk / j.cache.blockSize * j.cache.blockSize
	j.gather(c)
	for _, r := range j.runs {
		j.score(r, c)
	}
	clear(j.states)
	j.softmax(c)
	clear(j.out)
	for _, r := range j.runs {
		j.passes(r, c, (*job).mixPass)
	}
}
