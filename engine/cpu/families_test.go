package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/cpu/attention"
	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/reference"
	"github.com/llmctl/llmctl/internal/weights/block"
)

var storage = []block.Type{
	block.F32, block.F16, block.BF16, block.F8E4M3, block.Q8_0, block.Q4_0, block.Q4_1, block.Q4_K, block.Q6_K,
}

// family changes a plain model into one that has what some families have.
type family struct {
	name    string
	shape   func(s *model.Shape)
	weights func(w *model.Weights, random func(n int) []float32, matrix func(rows, cols int) model.Matrix)
}

var families = []family{
	{name: "plain"},
	{
		name: "biases on queries, keys and values",
		weights: func(w *model.Weights, random func(int) []float32, _ func(int, int) model.Matrix) {
			for i := range w.Layers {
				l := &w.Layers[i]
				l.QueryBias, l.KeyBias, l.ValueBias = random(w.Queries()), random(w.Keys()), random(w.Keys())
			}
		},
	},
	{
		name: "norms of queries and keys, and a scaled rotary embedding of a part of each head",
		shape: func(s *model.Shape) {
			s.Ropes[0].Frequencies = s.Ropes[0].Frequencies[:s.HeadDim/4]
			s.Ropes[0].Magnitude = 1.2
		},
		weights: func(w *model.Weights, random func(int) []float32, _ func(int, int) model.Matrix) {
			for i := range w.Layers {
				w.Layers[i].QueryNorm, w.Layers[i].KeyNorm = random(w.HeadDim), random(w.HeadDim)
			}
		},
	},
	{
		name: "windows, caps, norms behind, another activation and scales",
		shape: func(s *model.Shape) {
			s.Ropes = append(s.Ropes, model.PlainRope(50, s.HeadDim))
			s.Kinds = []model.LayerKind{{Window: 5, Rope: 1}, {}}
			s.Activation, s.EmbeddingScale, s.QueryScale = model.GELUTanh, 3, 0.3
			s.ScoreCap, s.LogitCap = 2, 3
		},
		weights: func(w *model.Weights, random func(int) []float32, _ func(int, int) model.Matrix) {
			for i := range w.Layers {
				w.Layers[i].PostAttentionNorm, w.Layers[i].PostMLPNorm = random(w.Hidden), random(w.Hidden)
			}
		},
	},
	{
		name: bothMLPs,
		shape: func(s *model.Shape) {
			s.Experts = model.Experts{Count: 5, PerToken: 2, Intermediate: 256, Normalize: true}
			s.Kinds = []model.LayerKind{{Dense: true}, {}}
		},
		weights: withExperts(1),
	},
	{
		name: "experts whose weights are not normalized",
		shape: func(s *model.Shape) {
			s.Experts = model.Experts{Count: 4, PerToken: 3, Intermediate: 256}
		},
		weights: withExperts(0),
	},
}

func withExperts(first int) func(*model.Weights, func(int) []float32, func(int, int) model.Matrix) {
	return func(w *model.Weights, _ func(int) []float32, matrix func(rows, cols int) model.Matrix) {
		for i := first; i < len(w.Layers); i++ {
			l := &w.Layers[i]
			l.Gate, l.Up, l.Down = model.Matrix{}, model.Matrix{}, model.Matrix{}
			l.Router = matrix(w.Experts.Count, w.Hidden)
			for range w.Experts.Count {
				l.Experts = append(l.Experts, model.ExpertWeights{
					Gate: matrix(w.Experts.Intermediate, w.Hidden),
					Up:   matrix(w.Experts.Intermediate, w.Hidden),
					Down: matrix(w.Hidden, w.Experts.Intermediate),
				})
			}
		}
	}
}

// storageOf are the types that a family's weights are tested in: all where it has
// matrices of its own, otherwise one in three, others for each family, since what tells
// these families apart does not read matrices.
func storageOf(i int) (types []block.Type) {
	for j, kind := range storage {
		if i == 0 || families[i].name == bothMLPs || (i+j)%3 == 0 {
			types = append(types, kind)
		}
	}
	return types
}

// bothMLPs is the family that has all matrices there are.
const bothMLPs = "experts beside a dense layer"

// of makes a small model of the family, stored as a type.
func (f family) of(t testing.TB, kind block.Type) *model.Weights {
	t.Helper()
	s := model.Shape{
		Name: f.name, Hidden: 256, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 64, Intermediate: 256, Vocab: 301,
		MaxPositions: 64, NormEpsilon: 1e-5, Ropes: []model.Rope{model.PlainRope(1e4, 64)},
	}
	if f.shape != nil {
		f.shape(&s)
	}
	w := stored(t, s, kind, kind)
	r := rand.New(rand.NewPCG(8, uint64(kind)))
	if f.weights != nil {
		f.weights(w, func(n int) []float32 { return randomNorm(n, r) },
			func(rows, cols int) model.Matrix { return randomMatrix(t, kind, rows, cols, r) })
	}
	return w
}

func vocabulary(n int, seed uint64) []int32 {
	r := rand.New(rand.NewPCG(seed, 9))
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = r.Int32N(301)
	}
	return tokens
}

// TestEveryFamilyAgreesWithTheReference compares logits with those that the definition
// gives in double precision. With weights in blocks activations have eight bits, whose
// noise the bound has room for; an error in the arithmetic is far beyond it.
func TestEveryFamilyAgreesWithTheReference(t *testing.T) {
	for i, f := range families {
		for _, kind := range storageOf(i) {
			t.Run(f.name+"/"+kind.String(), func(t *testing.T) {
				w := f.of(t, kind)
				bound := 1e-4
				if kind.Elements() > 1 {
					bound = 0.08
				}
				e := start(t, w, Config{Blocks: 8, BlockSize: 4, Workers: 2, KV: attention.Float32})
				tokens := vocabulary(9, 1)
				want := reference.Logits(w, tokens)[len(tokens)-1]
				got := logitsOf(t, e, tokens, identity(8), 5)
				difference, size := 0.0, 0.0
				for i, v := range want {
					difference += (float64(got[i]) - v) * (float64(got[i]) - v)
					size += v * v
				}
				if relative := math.Sqrt(difference / size); !(relative < bound) {
					t.Errorf("logits differ by %.2g of their size, expected less than %g", relative, bound)
				}
			})
		}
	}
}

// logitsOf runs a prompt in chunks and returns the logits after it.
func logitsOf(t testing.TB, e *Executor, tokens []int32, table []kv.Block, chunk int) []float32 {
	t.Helper()
	for have := 0; have < len(tokens); have += chunk {
		end := min(have+chunk, len(tokens))
		s := &model.Sequence{Tokens: tokens[have:end], Start: have, Blocks: table, Sample: end == len(tokens)}
		if err := e.Execute([]*model.Sequence{s}); err != nil {
			t.Fatal(err)
		}
	}
	return slices.Clone(e.logits[:e.weights.Vocab])
}

// TestLogitsOfEveryFamilyAreTheSameToTheBit whatever else is in the batch, however
// prompts are cut, wherever blocks lie, however many workers there are, and with every
// level of vector instructions.
func TestLogitsOfEveryFamilyAreTheSameToTheBit(t *testing.T) {
	for i, f := range families {
		for j, kind := range storageOf(i) {
			t.Run(f.name+"/"+kind.String(), func(t *testing.T) {
				w := f.of(t, kind)
				one, two := vocabulary(11, uint64(i)), vocabulary(6, uint64(j)+100)
				alone := start(t, w, Config{Blocks: 8, BlockSize: 4, Workers: 1})
				wantOne := logitsOf(t, alone, one, identity(8), 64)
				wantTwo := logitsOf(t, alone, two, identity(8), 64)
				for level := vector.Plain; level <= vector.Supported(); level++ {
					for workers := range min(int(level)+1, 2) { // plain Go is slow
						restore := vector.Use(level)
						e, err := New(w, Config{Blocks: 16, BlockSize: 3, Workers: 2*workers + 1})
						if err != nil {
							t.Fatal(err)
						}
						gotOne, gotTwo := together(t, e, one, two, 3+workers)
						e.Close()
						restore()
						if !same(gotOne, wantOne) || !same(gotTwo, wantTwo) {
							t.Errorf("%s, %d workers: logits of batched sequences differ from those alone", level, 2*workers+1)
						}
					}
				}
			})
		}
	}
}

func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// together runs two prompts in one batch, in chunks that end in the same step.
func together(t testing.TB, e *Executor, one, two []int32, steps int) (logitsOne, logitsTwo []float32) {
	t.Helper()
	blocks := identity(16)
	slices.Reverse(blocks)
	chunk := func(tokens []int32, table []kv.Block, step int) *model.Sequence {
		from, to := len(tokens)*step/steps, len(tokens)*(step+1)/steps
		return &model.Sequence{Tokens: tokens[from:to], Start: from, Blocks: table, Sample: step == steps-1}
	}
	for step := range steps {
		batch := []*model.Sequence{chunk(one, blocks[:8], step), chunk(two, blocks[8:], step)}
		if err := e.Execute(batch); err != nil {
			t.Fatal(err)
		}
	}
	stride := len(e.logits) / 2
	return slices.Clone(e.logits[:301]), slices.Clone(e.logits[stride:][:301])
}

// TestCopiedBlocksAreThoseBeforeTheStep has a sequence take over another one's partly
// filled block, which that one goes on to write in the same step.
func TestCopiedBlocksAreThoseBeforeTheStep(t *testing.T) {
	w := families[0].of(t, block.Q4_1)
	e := start(t, w, Config{Blocks: 8, BlockSize: 4})
	tokens := vocabulary(6, 1)
	want := [2][]float32{}
	for i := range want {
		want[i] = logitsOf(t, e, append(slices.Clone(tokens), int32(i+1)), []kv.Block{0, 1}, 64)
	}
	logitsOf(t, e, tokens, []kv.Block{0, 1}, 64)
	batch := []*model.Sequence{
		{Tokens: []int32{1}, Start: 6, Blocks: []kv.Block{0, 1}, Sample: true},
		{Tokens: []int32{2}, Start: 6, Blocks: []kv.Block{0, 5}, Copies: []model.Copy{{From: 1, To: 5}}, Sample: true},
	}
	if err := e.Execute(batch); err != nil {
		t.Fatal(err)
	}
	stride := len(e.logits) / 2
	for i := range want {
		if !same(e.logits[i*stride:][:301], want[i]) {
			t.Errorf("sequence %d: other logits than without the copy", i)
		}
	}
}

// TestManyPlacesComeInOrder asks for the log-probabilities of whole prompts, more
// places than a round has, and compares with one step per token.
func TestManyPlacesComeInOrder(t *testing.T) {
	w := families[0].of(t, block.Q8_0)
	e := start(t, w, Config{Blocks: 32, BlockSize: 4, Workers: 2})
	rapid.Check(t, func(rt *rapid.T) {
		var batch []*model.Sequence
		for i, n := range rapid.SliceOfN(rapid.IntRange(2, 31), 1, 3).Draw(rt, "lengths") {
			tokens := vocabulary(n, uint64(i))
			batch = append(batch, &model.Sequence{
				Tokens: tokens, Blocks: identity(32)[8*i:][:8], Score: tokens[1:], Sample: true,
			})
		}
		if err := e.Execute(batch); err != nil {
			rt.Fatal(err)
		}
		for i, s := range batch {
			tokens := s.Tokens
			if len(s.Scores) != len(tokens)-1 {
				rt.Fatalf("sequence %d: %d scores for %d tokens", i, len(s.Scores), len(tokens))
			}
			for j := range tokens {
				one := &model.Sequence{Tokens: tokens[j : j+1], Start: j, Blocks: identity(32)[8*i:][:8], Sample: true}
				if j+1 < len(tokens) {
					one.Sample, one.Score = false, tokens[j+1:j+2]
				}
				if err := e.Execute([]*model.Sequence{one}); err != nil {
					rt.Fatal(err)
				}
				if j+1 < len(tokens) {
					if got, want := fmt.Sprint(s.Scores[j]), fmt.Sprint(one.Scores[0]); got != want {
						rt.Fatalf("sequence %d, place %d: %s, alone %s", i, j, got, want)
					}
				} else if s.Next != one.Next {
					rt.Fatalf("sequence %d: next token %d, alone %d", i, s.Next, one.Next)
				}
			}
		}
	})
}

func TestADecodedTokenAllocatesNothing(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			e := start(t, f.of(t, block.Q4_1), Config{Blocks: 8, BlockSize: 8})
			tokens := vocabulary(20, 1)
			logitsOf(t, e, tokens, identity(8), 64)
			s := &model.Sequence{Tokens: tokens[:1], Start: 20, Blocks: identity(8), Sample: true}
			batch := []*model.Sequence{s}
			step := func() {
				if err := e.Execute(batch); err != nil {
					t.Fatal(err)
				}
			}
			step()
			if n := testing.AllocsPerRun(20, step); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func TestMatricesOfWrongSizesAreRefused(t *testing.T) {
	w := families[0].of(t, block.F32)
	w.Layers[1].Down = w.Layers[1].Key
	if e, err := New(w, Config{Blocks: 1, BlockSize: 1}); err == nil {
		e.Close()
		t.Error("no error")
	} else if want := "MLP down of layer 1 is a matrix of 128 by 256, expected 256 by 256"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
