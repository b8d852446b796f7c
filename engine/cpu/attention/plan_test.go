package attention

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// streams are sequences of one token with a common prefix, and a plan for them.
func streams(n, prefix, own, workers int) (*world, *Plan) {
	r := rand.New(rand.NewPCG(5, 6))
	w := &world{shape: shape(3, 3, 16, 0)}
	w.add(r, prefix+own-1, 1, 0, 0)
	for range n - 1 {
		w.add(r, prefix+own-1, 1, 0, prefix)
	}
	p := w.place(r, Float16, 16, true).NewPlan(workers)
	p.Set(w.sequences)
	return w, p
}

// TestSequencesWithACommonPrefixGoOverItTogether looks at what is read: each chunk of
// the prefix once per KV head, for all.
func TestSequencesWithACommonPrefixGoOverItTogether(t *testing.T) {
	const n, prefix, own = 16, 512, 40
	_, p := streams(n, prefix, own, 1)
	if len(p.tiles) != 1 {
		t.Fatalf("%d tiles, want one", len(p.tiles))
	}
	j := job{Plan: p, Scratch: &Scratch{}, tokens: p.tokens}
	var got []pass
	for c := range 3 {
		j.gather(c)
		for _, r := range j.runs {
			j.passes(r, c, func(_ *job, p pass) { got = append(got, p) })
		}
	}
	want := []pass{{0, n, 0, 256}, {0, n, 256, 512}}
	for i := range n {
		want = append(want, pass{i, i + 1, 512, 552})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got passes %v\nwant %v", got, want)
	}
}

// TestProposedTokensOfASequenceGoOverItTogether: two sequences of three tokens each read
// what they have in common once, and each its own part once, but for the last positions.
func TestProposedTokensOfASequenceGoOverItTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	w := &world{shape: shape(1, 3, 16, 0)}
	w.add(r, 100, 3, 0, 0)
	w.add(r, 120, 3, 0, 64)
	p := w.place(r, Float16, 16, true).NewPlan(1)
	p.Set(w.sequences)
	j := job{Plan: p, Scratch: &Scratch{}, tokens: p.tokens}
	j.gather(0)
	var got []pass
	for _, r := range j.runs {
		j.passes(r, 0, func(_ *job, p pass) { got = append(got, p) })
	}
	ends := []int{p.tokens[0].position + 1, p.tokens[3].position + 1}
	want := []pass{
		{0, 6, 0, 64},
		{0, 3, 64, ends[0]}, {1, 2, ends[0], ends[0] + 1}, {2, 3, ends[0], ends[0] + 2},
		{3, 6, 64, ends[1]}, {4, 5, ends[1], ends[1] + 1}, {5, 6, ends[1], ends[1] + 2},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got passes %v\nwant %v", got, want)
	}
}

// TestALongContextIsSharedByAllWorkers expects parts of about the same cost, and more
// of them than workers.
func TestALongContextIsSharedByAllWorkers(t *testing.T) {
	const workers = 8
	_, p := streams(1, 0, 8192, workers)
	items := p.layouts[0].items
	if len(items) != 3*8192/chunk {
		t.Fatalf("%d items, want one for each chunk and KV head", len(items))
	}
	if first, last := items[0].cost, items[len(items)-1].cost; first != last {
		t.Errorf("costs of %d to %d", last, first)
	}
}

// TestManySequencesAreNotCutUp: results of chunks that are kept cost memory and time.
func TestManySequencesAreNotCutUp(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	w := &world{shape: shape(3, 3, 16, 0)}
	for range 24 {
		w.add(r, 600, 1, 0, 0)
	}
	p := w.place(r, Float16, 16, true).NewPlan(2)
	p.Set(w.sequences)
	if got := p.Items(0); got != 24*3 {
		t.Errorf("%d items, want %d", got, 24*3)
	}
}

// TestWorkersShareALayer computes layers one after another with workers at once.
func TestWorkersShareALayer(t *testing.T) {
	const workers = 4
	r := rand.New(rand.NewPCG(7, 8))
	w := &world{shape: shape(2, 2, 16, 0, 300, 0)}
	w.add(r, 2000, 1, 0, 0)
	w.add(r, 1030, 1, 0, 1024)
	w.add(r, 700, 90, 0, 0)
	c := w.place(r, Int8, 16, true)
	p := c.NewPlan(workers)
	p.Set(w.sequences)
	n := w.shape.Queries()
	scratch := make([]Scratch, workers)
	for layer := range w.shape.Layers {
		rows := &Rows{Queries: w.queries, QueryStride: n, Out: make([]float32, w.rows*n), OutStride: n}
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() {
				for item := i; item < p.Items(layer); item += workers {
					p.Attend(layer, item, rows, &scratch[i])
				}
			})
		}
		all.Wait()
		if diff := difference(rows.Out, w.define(c, layer)); diff != "" {
			t.Errorf("layer %d: %s", layer, diff)
		}
	}
}

// TestAStepAllocatesNothing once its memory is there.
func TestAStepAllocatesNothing(t *testing.T) {
	w, p := streams(8, 300, 40, 2)
	n := w.shape.Queries()
	rows := &Rows{Queries: w.queries, QueryStride: n, Out: make([]float32, w.rows*n), OutStride: n, Done: func(int, int) {}}
	var s Scratch
	step := func() {
		p.Set(w.sequences)
		for i := range p.Items(0) {
			p.Attend(0, i, rows, &s)
		}
	}
	step()
	if n := testing.AllocsPerRun(10, step); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestACopyOfABlockIsItsOwn: a sequence that goes on in a copy of a shared tail block
// reads what the block held, in all layers, and does not write into the block.
func TestACopyOfABlockIsItsOwn(t *testing.T) {
	for _, d := range dtypes {
		t.Run(d.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, 9))
			w := &world{shape: shape(2, 2, 16, 0, 0)}
			w.add(r, 19, 1, 0, 0)
			c := w.place(r, d, 16, true)
			before := [][]float32{w.define(c, 0), w.define(c, 1)}
			original := w.sequences[0].Blocks
			free := kv.Block(0)
			for free == original[0] || free == original[1] {
				free++
			}
			c.Copy(model.Copy{From: original[1], To: free})
			copied := []kv.Block{original[0], free}
			for layer := range 2 {
				w.sequences[0].Blocks = copied
				if diff := difference(w.attend(t, r, c, 1, layer), before[layer]); diff != "" {
					t.Errorf("layer %d: %s", layer, diff)
				}
				c.Write(layer, copied, 19, random(r, 32), random(r, 32))
				w.sequences[0].Blocks = original
				if diff := difference(w.attend(t, r, c, 1, layer), before[layer]); diff != "" {
					t.Errorf("layer %d: the original has changed: %s", layer, diff)
				}
			}
		})
	}
}

// TestWhatLiesInBlocksBeyondASequenceNeverReachesAResult: 0 × NaN is NaN, so no weight of
// zero may meet V that nobody has written.
func TestWhatLiesInBlocksBeyondASequenceNeverReachesAResult(t *testing.T) {
	for _, d := range dtypes {
		r := rand.New(rand.NewPCG(9, 9))
		w := &world{shape: shape(2, 3, 18, 0, 20)}
		w.add(r, 4, 9, 0, 0)
		w.add(r, 300, 1, 0, 0)
		w.add(r, 290, 1, 1, 200)
		w.add(r, 0, 1, 0, 0)
		c := w.place(r, d, 16, true)
		for layer := range w.shape.Layers {
			for i, v := range w.attend(t, r, c, 3, layer) {
				if v != v {
					t.Fatalf("%s, layer %d: element %d is NaN", d, layer, i)
				}
			}
		}
	}
}
