package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/reference"
	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/internal/weights/block"
	"github.com/llmctl/llmctl/profiles"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func builtin(t testing.TB) *model.Weights {
	t.Helper()
	m, err := profiles.LoadModel(profiles.BuiltinModel)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := model.ShapeOf(*m)
	if err != nil {
		t.Fatal(err)
	}
	return model.Synthetic(shape, 1)
}

// odd is a small model whose sizes are multiples of nothing: three query heads
// per KV head, an untied head, a head size that is no power of two.
func odd(t testing.TB) *model.Weights {
	t.Helper()
	m := profiles.Model{
		Name: "odd", Type: "llama", HiddenSize: 20, VocabSize: 2048, MaxPositions: 128,
		NormEpsilon: 1e-6, RopeTheta: 500, Activation: "silu", EOSTokens: []int{1},
	}
	for range 2 {
		m.Layers = append(m.Layers, profiles.Layer{
			Attention: profiles.Attention{Kind: profiles.FullAttention, Heads: 6, KVHeads: 2, HeadDim: 6, ValueDim: 6},
			MLP:       profiles.MLP{Intermediate: 27, Gated: true},
		})
	}
	shape, err := model.ShapeOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return model.Synthetic(shape, 7)
}

func start(t testing.TB, w *model.Weights, c Config) *Executor {
	t.Helper()
	e, err := New(w, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func prompt(n int, seed uint64) []int32 {
	r := rand.New(rand.NewPCG(seed, 1))
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(r.IntN(tokenizer.Size))
	}
	return tokens
}

// generate runs a request alone: the prompt in chunks, then n tokens one by one.
func generate(t testing.TB, e *Executor, tokens []int32, table []kv.Block, chunk, n int, p model.Sampling) []int32 {
	t.Helper()
	tokens = slices.Clone(tokens)
	have := 0
	for want := len(tokens) + n; len(tokens) < want; {
		end := min(have+chunk, len(tokens))
		s := &model.Sequence{Tokens: tokens[have:end], Start: have, Blocks: table, Sample: end == len(tokens), Sampling: p}
		if err := e.Execute([]*model.Sequence{s}); err != nil {
			t.Fatal(err)
		}
		if have = end; s.Sample {
			tokens = append(tokens, s.Next)
		}
	}
	return tokens[len(tokens)-n:]
}

func identity(blocks int) []kv.Block {
	table := make([]kv.Block, blocks)
	for i := range table {
		table[i] = kv.Block(i)
	}
	return table
}

func TestExecutorAgreesWithTheReference(t *testing.T) {
	for _, c := range []struct {
		name    string
		weights *model.Weights
	}{{"builtin", builtin(t)}, {"odd sizes", odd(t)}} {
		t.Run(c.name, func(t *testing.T) {
			e := start(t, c.weights, Config{Blocks: 8, BlockSize: 16, Workers: 1})
			for _, n := range []int{1, 2, 15, 16, 17, 50} {
				tokens := prompt(n, uint64(n))
				want := reference.Logits(c.weights, tokens)[n-1]
				got := generate(t, e, tokens, identity(4), 7, 1, model.Sampling{})[0]
				if best := argmax(want); int(got) != best {
					t.Errorf("%d tokens: got token %d, reference %d", n, got, best)
				}
				logits := e.logits
				for i, l := range want {
					if d := math.Abs(float64(logits[i]) - l); !math.IsInf(l, -1) && d > 2e-3 {
						t.Fatalf("%d tokens: logit %d is %v, reference %v", n, i, logits[i], l)
					}
				}
			}
		})
	}
}

func argmax(v []float64) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}

func TestWhereTheBlocksLieDoesNotMatter(t *testing.T) {
	w := builtin(t)
	e := start(t, w, Config{Blocks: 40, BlockSize: 16})
	tokens := prompt(100, 3)
	want := generate(t, e, tokens, identity(10), 100, 40, model.Sampling{})
	rapid.Check(t, func(rt *rapid.T) {
		blocks := rapid.Permutation(identity(40)).Draw(rt, "blocks")[:10]
		if diff := cmp.Diff(want, generate(t, e, tokens, blocks, 100, 40, model.Sampling{})); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// TestBatchChunksBlockSizeAndWorkersDoNotMatter runs random mixes of requests
// together and expects each to get what it gets alone, to the token.
func TestBatchChunksBlockSizeAndWorkersDoNotMatter(t *testing.T) {
	w := odd(t)
	alone := start(t, w, Config{Blocks: 8, BlockSize: 16, Workers: 1})
	rapid.Check(t, func(rt *rapid.T) {
		blockSize := rapid.SampledFrom([]int{1, 3, 16, 64}).Draw(rt, "block size")
		perRequest := (128 + blockSize - 1) / blockSize
		n := rapid.IntRange(1, 6).Draw(rt, "requests")
		e, err := New(w, Config{Blocks: n * perRequest, BlockSize: blockSize, Workers: rapid.IntRange(1, 4).Draw(rt, "workers")})
		if err != nil {
			rt.Fatal(err)
		}
		defer e.Close()
		var requests []*running
		for i := range n {
			r := &running{
				tokens: prompt(rapid.IntRange(1, 60).Draw(rt, "prompt"), uint64(i)),
				table:  identity(n * perRequest)[i*perRequest:][:perRequest],
				left:   rapid.IntRange(1, 20).Draw(rt, "output"),
				how:    model.Sampling{Temperature: float32(i % 2), Seed: uint64(i)},
			}
			r.want = generate(t, alone, r.tokens, identity(8), 128, r.left, r.how)
			r.prompt = len(r.tokens)
			requests = append(requests, r)
		}
		for step(rt, e, requests) {
		}
		for i, r := range requests {
			if diff := cmp.Diff(r.want, r.tokens[r.prompt:]); diff != "" {
				rt.Fatalf("request %d: %s", i, diff)
			}
		}
	})
}

type running struct {
	tokens       []int32
	prompt, have int
	left         int
	table        []kv.Block
	how          model.Sampling
	want         []int32
}

// step runs a random part of every unfinished request; false when none is left.
func step(rt *rapid.T, e *Executor, requests []*running) bool {
	var batch []*model.Sequence
	var who []*running
	for _, r := range requests {
		if r.left == 0 {
			continue
		}
		end := r.have + rapid.IntRange(1, len(r.tokens)-r.have).Draw(rt, "chunk")
		batch = append(batch, &model.Sequence{
			Tokens: r.tokens[r.have:end], Start: r.have, Blocks: r.table, Sample: end == len(r.tokens), Sampling: r.how,
		})
		who = append(who, r)
		r.have = end
	}
	if len(batch) == 0 {
		return false
	}
	if err := e.Execute(batch); err != nil {
		rt.Fatal(err)
	}
	for i, s := range batch {
		if s.Sample {
			who[i].tokens = append(who[i].tokens, s.Next)
			who[i].left--
		}
	}
	return true
}

func TestWrongSequencesAreRefused(t *testing.T) {
	w := odd(t)
	e := start(t, w, Config{Blocks: 4, BlockSize: 4, MaxPositions: 20})
	for _, c := range []struct {
		name string
		seq  model.Sequence
	}{
		{"no tokens", model.Sequence{Blocks: identity(4)}},
		{"negative start", model.Sequence{Tokens: []int32{1}, Start: -1, Blocks: identity(4)}},
		{"table too short", model.Sequence{Tokens: []int32{1}, Start: 4, Blocks: identity(1)}},
		{"block outside", model.Sequence{Tokens: []int32{1}, Blocks: []kv.Block{4}}},
		{"token outside", model.Sequence{Tokens: []int32{2048}, Blocks: identity(4)}},
		{"beyond the positions", model.Sequence{Tokens: []int32{1}, Start: 20, Blocks: identity(4)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := e.Execute([]*model.Sequence{&c.seq}); err == nil {
				t.Error("no error")
			}
		})
	}
}

func BenchmarkPrefill(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(map[int]string{1: "workers=1", 2: "workers=2"}[workers], func(b *testing.B) {
			e := start(b, builtin(b), Config{Blocks: 64, BlockSize: 16, Workers: workers})
			s := &model.Sequence{Tokens: prompt(512, 1), Blocks: identity(64), Sample: true}
			b.ReportAllocs()
			for b.Loop() {
				if err := e.Execute([]*model.Sequence{s}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(s.Tokens)*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name  string
		batch int
	}{{"batch=1", 1}, {"batch=16", 16}, {"batch=64", 64}} {
		b.Run(c.name, func(b *testing.B) {
			const context = 256
			e := start(b, builtin(b), Config{Blocks: c.batch * 20, BlockSize: 16})
			var batch []*model.Sequence
			for i := range c.batch {
				batch = append(batch, &model.Sequence{
					Tokens: []int32{int32(1200 + i)}, Start: context, Blocks: identity(c.batch * 20)[i*20:][:20], Sample: true,
					Sampling: model.Sampling{Temperature: 1},
				})
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := e.Execute(batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(c.batch*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// What a damaged model computes is no answer, in whatever type its matrices are.
func TestNumbersThatAreNotFiniteAreTold(t *testing.T) {
	for _, kind := range []block.Type{block.F32, block.Q8_0} {
		for name, value := range map[string]float32{"NaN": float32(math.NaN()), "Inf": float32(math.Inf(1))} {
			t.Run(kind.String()+" "+name, func(t *testing.T) {
				w := families[0].of(t, kind)
				e := start(t, w, Config{Blocks: 8, BlockSize: 4})
				q := &model.Sequence{Tokens: vocabulary(w.Vocab, 1)[:3], Blocks: identity(8), Sample: true}
				if err := e.Execute([]*model.Sequence{q}); err != nil || q.Broken {
					t.Fatalf("a sound model: %v, broken %t", err, q.Broken)
				}
				w.FinalNorm = slices.Clone(w.FinalNorm)
				w.FinalNorm[1] = value
				if err := e.Execute([]*model.Sequence{q}); err != nil || !q.Broken {
					t.Errorf("%v, broken %t", err, q.Broken)
				}
			})
		}
	}
}
