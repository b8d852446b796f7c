package cpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// smol has the sizes and storage of SmolLM2-135M-Instruct as a GGUF file of Q4_1, with
// random weights: https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct.
func smol(t testing.TB) *model.Weights {
	t.Helper()
	s := model.Shape{
		Name: "smol", Hidden: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, Intermediate: 1536, Vocab: 49152,
		MaxPositions: 8192, NormEpsilon: 1e-5, Tied: true, Ropes: []model.Rope{model.PlainRope(1e5, 64)},
	}
	return stored(t, s, block.Q4_1, block.Q8_0)
}

// stored makes random weights whose matrices are stored as a type, and the embedding,
// which is also the head, as another.
func stored(t testing.TB, s model.Shape, kind, embedding block.Type) *model.Weights {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	matrix := func(rows, cols int) model.Matrix { return randomMatrix(t, kind, rows, cols, r) }
	w := &model.Weights{Shape: s, Embedding: randomMatrix(t, embedding, s.Vocab, s.Hidden, r), FinalNorm: randomNorm(s.Hidden, r)}
	w.Head = w.Embedding
	for range s.Layers {
		w.Layers = append(w.Layers, model.LayerWeights{
			AttentionNorm: randomNorm(s.Hidden, r),
			Query:         matrix(s.Queries(), s.Hidden),
			Key:           matrix(s.Keys(), s.Hidden),
			Value:         matrix(s.Keys(), s.Hidden),
			Output:        matrix(s.Hidden, s.Queries()),
			MLPNorm:       randomNorm(s.Hidden, r),
			Gate:          matrix(s.Intermediate, s.Hidden),
			Up:            matrix(s.Intermediate, s.Hidden),
			Down:          matrix(s.Hidden, s.Intermediate),
		})
	}
	return w
}

func randomNorm(n int, r *rand.Rand) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1 + float32(r.NormFloat64()/10)
	}
	return v
}

// randomMatrix makes weights of about 1/√cols: any codes, and scales to suit.
func randomMatrix(t testing.TB, kind block.Type, rows, cols int, r *rand.Rand) model.Matrix {
	t.Helper()
	row, err := kind.Size(cols)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, rows*row)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	size := 1 / math.Sqrt(float64(cols))
	half := func(at int, scale float64) { binary.LittleEndian.PutUint16(data[at:], block.ToHalf(float32(scale))) }
	for at := 0; at < len(data); at += kind.Bytes() {
		scale := size * (1 + r.Float64()) / 2
		switch kind {
		case block.F32:
			binary.LittleEndian.PutUint32(data[at:], math.Float32bits(float32(r.NormFloat64()*size)))
		case block.F16:
			half(at, r.NormFloat64()*size)
		case block.BF16:
			binary.LittleEndian.PutUint16(data[at:], block.ToBF16(float32(r.NormFloat64()*size)))
		case block.F8E4M3:
			data[at] = block.ToF8(float32(r.NormFloat64() * size))
		case block.Q8_0:
			half(at, scale/64)
		case block.Q4_0:
			half(at, scale/4)
		case block.Q4_1:
			half(at, scale/4)
			half(at+2, -scale*7.5/4)
		case block.Q4_K:
			half(at, scale/4/32)
			half(at+2, scale*7.5/4/32)
		case block.Q6_K:
			half(at+208, scale/16/64)
		}
	}
	m, err := model.NewMatrix(rows, cols, kind, data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// BenchmarkSmolPrefill is one prompt in one step.
func BenchmarkSmolPrefill(b *testing.B) {
	w := smol(b)
	for _, n := range []int{128, 512} {
		b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
			e := start(b, w, Config{Blocks: 64, BlockSize: 16})
			s := &model.Sequence{Tokens: prompt(n, 1), Blocks: identity(64), Sample: true}
			for b.Loop() {
				if err := e.Execute([]*model.Sequence{s}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkSmolDecode is a token for each of some sequences per step, at a context as
// long as in the middle of a request with 544 tokens of prompt and 128 of output. It
// also prints how fast weights come from memory, which bounds a single stream.
func BenchmarkSmolDecode(b *testing.B) {
	w := smol(b)
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			const context, blocks = 608, 40
			e := start(b, w, Config{Blocks: n * blocks, BlockSize: 16})
			var batch []*model.Sequence
			for i := range n {
				batch = append(batch, &model.Sequence{
					Tokens: []int32{int32(1200 + i)}, Start: context, Blocks: identity(n * blocks)[i*blocks:][:blocks], Sample: true,
				})
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := e.Execute(batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tokens/s")
			b.ReportMetric(float64(e.weightBytes()*b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
		})
	}
}

// weightBytes is what one step reads of the weights of a dense model.
func (e *Executor) weightBytes() int {
	n := e.head.Bytes()
	for i := range e.layers {
		l := &e.layers[i]
		n += l.query.Bytes() + l.key.Bytes() + l.value.Bytes() + l.output.Bytes()
		n += l.experts[0].gate.Bytes() + l.experts[0].up.Bytes() + l.experts[0].down.Bytes()
	}
	return n
}

// BenchmarkReadMemory is the rate at which all cores read 256 MB, the bound of what a
// single stream can reach.
func BenchmarkReadMemory(b *testing.B) {
	w := randomMatrix(b, block.Q8_0, 1<<15, 1<<13, rand.New(rand.NewPCG(1, 1)))
	e := start(b, odd(b), Config{Blocks: 1, BlockSize: 1})
	sums := make([]uint64, len(e.workers))
	const parts = 256
	size := len(w.Data) / parts &^ 63
	read := func(worker, part int) {
		sum, data := uint64(0), w.Data[part*size:][:size]
		for len(data) >= 64 {
			sum += binary.LittleEndian.Uint64(data)
			data = data[64:]
		}
		sums[worker] += sum
	}
	for b.Loop() {
		e.team.Run(parts, read)
	}
	b.ReportMetric(float64(parts*size*b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
}

// BenchmarkSmolStart is what New does with a whole model: packing, mostly.
func BenchmarkSmolStart(b *testing.B) {
	w := smol(b)
	for b.Loop() {
		e, err := New(w, Config{Blocks: 64, BlockSize: 16})
		if err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
}
