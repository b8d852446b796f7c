package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

var dtypes = []DType{Float32, Float16, BFloat16, Int8, FP8}

// shape is one whose layers have the given windows.
func shape(kvHeads, group, dim int, windows ...int) model.Shape {
	s := model.Shape{KVHeads: kvHeads, Heads: kvHeads * group, HeadDim: dim, Layers: len(windows)}
	for _, w := range windows {
		s.Kinds = append(s.Kinds, model.LayerKind{Window: w})
	}
	return s
}

// poison fills a cache with NaNs, scales included.
func poison(c *Cache) {
	for _, layers := range [][][]byte{c.keys, c.values} {
		for _, layer := range layers {
			for i := range layer {
				layer[i] = 0xff
			}
		}
	}
}

// world is some sequences, what they hold, and the queries of one step.
type world struct {
	shape     model.Shape
	sequences []*model.Sequence
	keys      [][][]float32 // [sequence][position][KV heads·dim]
	values    [][][]float32
	queries   []float32 // [row][heads·dim], the same for each layer
	rows      int
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// add gives the world another sequence, whose first tokens are those of an earlier one
// when shared is positive.
func (w *world) add(r *rand.Rand, start, tokens, like, shared int) {
	var keys, values [][]float32
	if shared > 0 {
		keys, values = slices.Clone(w.keys[like][:shared]), slices.Clone(w.values[like][:shared])
	}
	for len(keys) < start+tokens {
		keys = append(keys, random(r, w.shape.Keys()))
		values = append(values, random(r, w.shape.Keys()))
	}
	w.keys, w.values = append(w.keys, keys), append(w.values, values)
	w.sequences = append(w.sequences, &model.Sequence{Start: start, Tokens: make([]int32, tokens)})
	w.rows += tokens
	w.queries = append(w.queries, random(r, tokens*w.shape.Queries())...)
}

// place gives the sequences blocks in a random order, equal full blocks of equal
// content to those that share it, and returns a cache that holds K and V. All else in
// it is NaN.
func (w *world) place(r *rand.Rand, d DType, blockSize int, share bool) *Cache {
	blocks := 1
	for _, q := range w.sequences {
		blocks += kv.BlocksFor(q.Start+len(q.Tokens), blockSize)
	}
	c := New(w.shape, d, blocks, blockSize)
	poison(c)
	free := r.Perm(blocks)
	for i, q := range w.sequences {
		n := q.Start + len(q.Tokens)
		q.Blocks = nil
		for b := range kv.BlocksFor(n, blockSize) {
			block := kv.Block(-1)
			if share && (b+1)*blockSize <= n {
				for j := range i {
					if last := (b+1)*blockSize - 1; last < len(w.keys[j]) && &w.keys[j][last][0] == &w.keys[i][last][0] {
						block = w.sequences[j].Blocks[b]
						break
					}
				}
			}
			if block < 0 {
				block, free = kv.Block(free[0]), free[1:]
			}
			q.Blocks = append(q.Blocks, block)
		}
		for layer := range w.shape.Layers {
			for p := range n {
				c.Write(layer, q.Blocks, p, w.keys[i][p], w.values[i][p])
			}
		}
	}
	return c
}

// attend computes a layer, its items in a random order.
func (w *world) attend(t testing.TB, r *rand.Rand, c *Cache, workers, layer int) []float32 {
	t.Helper()
	p := c.NewPlan(workers)
	p.Set(w.sequences)
	return w.run(p, r, layer)
}

func (w *world) run(p *Plan, r *rand.Rand, layer int) []float32 {
	n := w.shape.Queries()
	out := random(r, w.rows*n)
	done := map[[2]int]int{}
	rows := &Rows{Queries: w.queries, QueryStride: n, Out: out, OutStride: n, Done: func(row, head int) { done[[2]int{row, head}]++ }}
	var s Scratch
	for _, i := range r.Perm(p.Items(layer)) {
		p.Attend(layer, i, rows, &s)
	}
	for row := range w.rows {
		for head := range w.shape.KVHeads {
			if done[[2]int{row, head}] != 1 {
				panic(fmt.Sprintf("row %d, head %d is done %d times", row, head, done[[2]int{row, head}]))
			}
		}
	}
	return out
}

// define computes a layer from what the cache holds, row by row and sum by sum: what
// every path has to give to the bit.
func (w *world) define(c *Cache, layer int) []float32 {
	dim, group := w.shape.HeadDim, c.group
	var out []float32
	at := 0
	for _, q := range w.sequences {
		for i := range q.Tokens {
			low, high := (&token{position: q.Start + i}).sees(c.windows[layer])
			for head := range w.shape.Heads {
				query := w.queries[at:][:dim]
				at += dim
				var s state
				result := make([]float32, dim)
				for from := low; from < high; {
					to := min(high, (from/chunk+1)*chunk)
					part, st := w.defineChunk(c, layer, q.Blocks, head/group, query, from, to)
					fold(result, &s, part, st)
					from = to
				}
				out = append(out, result...)
			}
		}
	}
	return out
}

func (w *world) defineChunk(c *Cache, layer int, table []kv.Block, head int, q []float32, low, high int) ([]float32, state) {
	dim, size := w.shape.HeadDim, c.blockSize
	keys, values := make([]float32, size*dim+vector.Width), make([]float32, size*dim+vector.Width)
	scores := make([]float32, high-low)
	for p := low; p < high; p++ {
		if p == low || p%size == 0 {
			c.wideKeys(keys, c.keys[layer], c.unit(table, p), head)
		}
		for d, x := range q {
			scores[p-low] += float32(x * keys[d*size+p%size])
		}
	}
	if c.cap > 0 {
		model.SoftCap(scores, c.cap)
	}
	s := state{top: slices.Max(scores)}
	for i, x := range scores {
		scores[i] = model.Exp(x - s.top)
		s.sum += scores[i]
	}
	out, inverse := make([]float32, dim), 1/s.sum
	for p := low; p < high; p++ {
		if p == low || p%size == 0 {
			c.wideValues(values, c.values[layer], c.unit(table, p), head)
		}
		weight := float32(scores[p-low] * inverse)
		for d := range out {
			out[d] += float32(weight * values[p%size*dim+d])
		}
	}
	return out, s
}

// truth computes a layer from what was written, in double precision.
func (w *world) truth(layer int) []float64 {
	dim, group := w.shape.HeadDim, w.shape.Heads/w.shape.KVHeads
	var out []float64
	at := 0
	for s, q := range w.sequences {
		for i := range q.Tokens {
			low, high := (&token{position: q.Start + i}).sees(w.shape.Kind(layer).Window)
			for head := range w.shape.Heads {
				query := w.queries[at:][:dim]
				at += dim
				weights, sum := make([]float64, high), 0.0
				for p := low; p < high; p++ {
					for d, x := range query {
						weights[p] += float64(x) * float64(w.keys[s][p][head/group*dim+d])
					}
					if limit := float64(w.shape.ScoreCap); limit > 0 {
						weights[p] = limit * math.Tanh(weights[p]/limit)
					}
					weights[p] = math.Exp(weights[p])
					sum += weights[p]
				}
				for d := range dim {
					v := 0.0
					for p := low; p < high; p++ {
						v += weights[p] / sum * float64(w.values[s][p][head/group*dim+d])
					}
					out = append(out, v)
				}
			}
		}
	}
	return out
}

func difference(a, b []float32) string {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return fmt.Sprintf("element %d is %v, want %v", i, a[i], b[i])
		}
	}
	return ""
}

// draw makes a world of a few sequences, some of which share a prefix.
func draw(rt *rapid.T, r *rand.Rand) *world {
	w := &world{shape: shape(
		rapid.IntRange(1, 2).Draw(rt, "KV heads"), rapid.SampledFrom([]int{1, 2, 3, 5}).Draw(rt, "group"),
		rapid.SampledFrom([]int{2, 6, 16, 18, 40}).Draw(rt, "head dim"),
		0, rapid.SampledFrom([]int{1, 5, 100, 300}).Draw(rt, "window"))}
	w.shape.ScoreCap = rapid.SampledFrom([]float32{0, 2}).Draw(rt, "cap")
	for i := range rapid.IntRange(1, 5).Draw(rt, "sequences") {
		tokens := rapid.SampledFrom([]int{1, 1, 1, 2, 5, 30}).Draw(rt, "tokens")
		like, shared := 0, 0
		if i > 0 {
			like = rapid.IntRange(0, i-1).Draw(rt, "like")
			shared = rapid.IntRange(0, len(w.keys[like])).Draw(rt, "shared")
		}
		start := max(shared, rapid.SampledFrom([]int{0, 3, 15, 17, 250, 255, 256, 511, 600}).Draw(rt, "start"))
		w.add(r, start, tokens, like, shared)
	}
	return w
}
