package cpu

import (
	"github.com/llmctl/llmctl/engine/model"
)

// maxHeadTile bounds how many sampled tokens share one pass over the output head.
const maxHeadTile = 4

// scratch is one worker's memory for a tile.
type scratch struct {
	norm    []float32 // [tile][hidden]
	wide    []float32 // [tile][queries + 2·keys], then [tile][hidden]
	gateUp  []float32 // [tile][2·intermediate]
	gated   []float32 // [tile][intermediate]
	scores  []float32 // attention scores of one head
	logits  []float32 // [head tile][vocab]
	sampler model.Sampler
}

func newScratch(s model.Shape, scores int) scratch {
	return scratch{
		norm:   make([]float32, maxTile*s.Hidden),
		wide:   make([]float32, maxTile*max(s.Queries()+2*s.Keys(), s.Hidden)),
		gateUp: make([]float32, maxTile*2*s.Intermediate),
		gated:  make([]float32, maxTile*s.Intermediate),
		scores: make([]float32, scores),
		logits: make([]float32, maxHeadTile*s.Vocab),
	}
}

// beginTile embeds the tokens of a tile and prepares the first layer.
func (e *Executor) beginTile(worker, tile int) {
	hidden := e.weights.Hidden
	first, last := e.span(tile)
	for r := first; r < last; r++ {
		e.weights.Embedding.Row(e.x[r*hidden:][:hidden], int(e.rows[r].token))
	}
	e.project(worker, 0, first, last)
}

// layerTile finishes the current layer for a tile, whose queries, keys and
// values are there, and prepares the next one.
func (e *Executor) layerTile(worker, tile int) {
	first, last := e.span(tile)
	e.mix(worker, e.layer, first, last)
	e.feedForward(worker, e.layer, first, last)
	if e.layer+1 < e.weights.Shape.Layers {
		e.project(worker, e.layer+1, first, last)
	}
}

func (e *Executor) span(tile int) (first, last int) {
	return tile * e.tile, min((tile+1)*e.tile, len(e.rows))
}

// project computes queries, keys and values of a layer; keys and values go into
// the cache.
func (e *Executor) project(worker, layer, first, last int) {
	w, s := e.weights, &e.scratch[worker]
	l, p := &w.Layers[layer], &e.packed.layers[layer]
	rows, queries, keys := last-first, w.Queries(), w.Keys()
	span := queries + 2*keys
	e.normalize(s.norm, l.AttentionNorm, first, last)
	p.qkv.multiply(s.wide, s.norm, rows)
	scale := scoreScale(w.Shape)
	for i := range rows {
		r := e.rows[first+i]
		qkv := s.wide[i*span:][:span]
		e.rotary.rotate(qkv[:queries+keys], r.position)
		q := e.q[(first+i)*queries:][:queries]
		for j, v := range qkv[:queries] {
			q[j] = float32(v * scale)
		}
		e.cache.write(layer, r.sequence.Blocks, r.position, qkv[queries:queries+keys], qkv[queries+keys:])
	}
}

// mix adds the attention's output to the residual stream.
func (e *Executor) mix(worker, layer, first, last int) {
	w, s := e.weights, &e.scratch[worker]
	rows, queries := last-first, w.Queries()
	q := e.q[first*queries : last*queries]
	for i := range rows {
		r := e.rows[first+i]
		e.cache.attend(q[i*queries:][:queries], layer, r.sequence.Blocks, r.position, w.Heads/w.KVHeads, s.scores)
	}
	e.packed.layers[layer].output.multiply(s.wide, q, rows)
	add(e.x[first*w.Hidden:last*w.Hidden], s.wide)
}

// feedForward adds the MLP's output to the residual stream.
func (e *Executor) feedForward(worker, layer, first, last int) {
	w, s := e.weights, &e.scratch[worker]
	l, p := &w.Layers[layer], &e.packed.layers[layer]
	rows, n := last-first, w.Intermediate
	e.normalize(s.norm, l.MLPNorm, first, last)
	p.gateUp.multiply(s.gateUp, s.norm, rows)
	for i := range rows {
		both := s.gateUp[i*2*n:][:2*n]
		swiglu(s.gated[i*n:], both[:n], both[n:])
	}
	p.down.multiply(s.wide, s.gated, rows)
	add(e.x[first*w.Hidden:last*w.Hidden], s.wide)
}

func (e *Executor) normalize(dst, weight []float32, first, last int) {
	hidden := e.weights.Hidden
	for i := range last - first {
		rmsNorm(dst[i*hidden:], e.x[(first+i)*hidden:][:hidden], weight, e.weights.NormEpsilon)
	}
}

// sampleTile computes the logits of some sequences, a few places at once, and hands
// them out.
func (e *Executor) sampleTile(worker, tile int) {
	w, s := e.weights, &e.scratch[worker]
	done := (*model.Sequence)(nil) // whose places do not count any more
	for first, last := e.heads[tile][0], e.heads[tile][1]; first < last; first += e.headTile {
		places := e.sampled[first:min(first+e.headTile, last)]
		for i, p := range places {
			rmsNorm(s.norm[i*w.Hidden:], e.x[p.row*w.Hidden:][:w.Hidden], w.FinalNorm, w.NormEpsilon)
		}
		e.packed.head.multiply(s.logits, s.norm, len(places))
		for i, p := range places {
			q := e.rows[p.row].sequence
			if q == done {
				continue
			}
			logits := s.logits[i*w.Vocab:][:w.Vocab]
			if w.Offsets != nil {
				add(logits, w.Offsets)
			}
			if !s.sampler.Take(q, p.index, logits) {
				done = q
			}
		}
	}
}
