package cpu

import (
	"github.com/llmctl/llmctl/engine/cpu/matrix"
	"github.com/llmctl/llmctl/engine/cpu/vector"
)

// beginPart embeds tokens.
func (e *Executor) beginPart(_, part int) {
	w := e.weights
	first, last := e.rowsOf(part)
	for r := first; r < last; r++ {
		x := e.x[r*w.Hidden:][:w.Hidden]
		w.Embedding.Row(x, int(e.rows[r].token))
		if w.EmbeddingScale != 0 {
			vector.Scale(x, x, w.EmbeddingScale)
		}
		for i := range e.angles {
			e.angles[i].set(r, e.rows[r].position)
		}
	}
}

// spread is what normalizePart does: it adds the update to the residual stream, through
// a norm where there is one, and norms the stream for the matrices that come next.
type spread struct {
	update   bool
	post     []float32
	norm     []float32 // nil when there is nothing to norm for
	quantize bool
}

func (e *Executor) normalize(s spread) {
	e.spread = s
	e.byRows(e.each.normalize)
}

func (e *Executor) normalizePart(_, part int) {
	w, s := e.weights, &e.spread
	first, last := e.rowsOf(part)
	for r := first; r < last; r++ {
		x := e.x[r*w.Hidden:][:w.Hidden]
		if s.update {
			update := e.update[r*w.Hidden:][:w.Hidden]
			if s.post != nil {
				vector.Norm(update, update, s.post, w.NormEpsilon)
			}
			vector.Add(x, update)
		}
		if s.norm == nil {
			continue
		}
		vector.Norm(e.normed.Row(r), x, s.norm, w.NormEpsilon)
		if s.quantize {
			e.normed.Quantize(r, 0, w.Hidden)
		}
	}
}

// attend is the first half of a layer: it adds attention's output to the residual
// stream.
func (e *Executor) attend() {
	w, l := e.weights, &e.layers[e.layer]
	queries, keys := w.Queries(), w.Keys()
	e.normalize(spread{norm: l.AttentionNorm, quantize: quantized(&l.query, &l.key, &l.value)})
	e.multiply(product{
		parts: [3]factor{
			{&l.query, 0, l.QueryBias}, {&l.key, queries, l.KeyBias}, {&l.value, queries + keys, l.ValueBias},
		},
		in: &e.normed, rows: len(e.rows), dst: e.qkv, stride: queries + 2*keys,
	})
	e.byRows(e.each.turn)
	e.between.Done = nil
	if l.output.Quantized() && e.quantizesHeads() {
		e.between.Done = e.each.quantizeHead
	}
	e.team.Run(e.attention.Items(e.layer), e.each.attend)
	if l.output.Quantized() && !e.quantizesHeads() {
		e.byRows(e.each.quantize)
	}
	e.multiply(e.residual(factor{&l.output, 0, nil}, &e.mixed, l.PostAttentionNorm))
	if l.PostAttentionNorm != nil {
		e.normalize(spread{update: true, post: l.PostAttentionNorm, norm: l.MLPNorm, quantize: e.quantizesMLP(l)})
	} else {
		e.normalize(spread{norm: l.MLPNorm, quantize: e.quantizesMLP(l)})
	}
}

// residual is a product that goes to the residual stream, or to update when it has to
// be normed first.
func (e *Executor) residual(f factor, in *matrix.Rows, post []float32) product {
	p := product{parts: [3]factor{f}, in: in, rows: len(e.rows), dst: e.x, stride: e.weights.Hidden, add: true}
	if post != nil {
		p.dst, p.add = e.update, false
	}
	return p
}

// turnPart norms and rotates queries and keys, and stores keys and values.
func (e *Executor) turnPart(_, part int) {
	w, l := e.weights, &e.layers[e.layer]
	queries, keys := w.Queries(), w.Keys()
	span := queries + 2*keys
	rope := &e.angles[w.Kind(e.layer).Rope]
	first, last := e.rowsOf(part)
	for r := first; r < last; r++ {
		qkv := e.qkv[r*span:][:span]
		query, key := qkv[:queries], qkv[queries:queries+keys]
		normHeads(query, l.QueryNorm, w.NormEpsilon)
		normHeads(key, l.KeyNorm, w.NormEpsilon)
		rope.rotate(qkv[:queries+keys], w.HeadDim, r)
		vector.Scale(query, query, e.scale)
		e.cache.Write(e.layer, e.rows[r].sequence.Blocks, e.rows[r].position, key, qkv[queries+keys:])
	}
}

func normHeads(x, weight []float32, epsilon float32) {
	if weight == nil {
		return
	}
	for ; len(x) > 0; x = x[len(weight):] {
		vector.Norm(x[:len(weight)], x[:len(weight)], weight, epsilon)
	}
}

// attendPart computes one item of attention.
func (e *Executor) attendPart(worker, part int) {
	e.attention.Attend(e.layer, part, &e.between, &e.workers[worker].attention)
}

// quantizeHead quantizes the output of the query heads of a KV head.
func (e *Executor) quantizeHead(row, head int) {
	width := e.weights.Queries() / e.weights.KVHeads
	e.mixed.Quantize(row, head*width, (head+1)*width)
}

// quantizesHeads says whether the outputs of a KV head's query heads are whole blocks,
// so that they can be quantized as soon as they are there.
func (e *Executor) quantizesHeads() bool {
	return e.weights.Queries()/e.weights.KVHeads%matrix.Block == 0
}

// quantizePart quantizes attention's output.
func (e *Executor) quantizePart(_, part int) {
	first, last := e.rowsOf(part)
	for r := first; r < last; r++ {
		e.mixed.Quantize(r, 0, e.mixed.Width)
	}
}
