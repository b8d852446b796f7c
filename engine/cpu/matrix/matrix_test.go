package matrix

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llmctl/llmctl/engine/cpu/pages"
	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

var types = []block.Type{
	block.F32, block.F16, block.BF16, block.F8E4M3, block.Q8_0, block.Q4_0, block.Q4_1, block.Q4_K, block.Q6_K,
}

// inOrder packs one panel after another.
func inOrder(parts int, do func(worker, part int)) {
	for part := range parts {
		do(0, part)
	}
}

// stored makes random weights of a type: any codes, and scales of about 1/100.
func stored(t testing.TB, kind block.Type, out, in int, r *rand.Rand) model.Matrix {
	t.Helper()
	row, err := kind.Size(in)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, out*row)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	scale := func(at int) {
		binary.LittleEndian.PutUint16(data[at:], block.ToHalf(float32(r.NormFloat64()/100)))
	}
	for at := 0; at < len(data); at += kind.Bytes() {
		switch kind {
		case block.F32:
			binary.LittleEndian.PutUint32(data[at:], math.Float32bits(float32(r.NormFloat64()/100)))
		case block.F16:
			scale(at)
		case block.BF16:
			binary.LittleEndian.PutUint16(data[at:], block.ToBF16(float32(r.NormFloat64()/100)))
		case block.F8E4M3:
			data[at] = block.ToF8(float32(r.NormFloat64()))
		case block.Q8_0, block.Q4_0:
			scale(at)
		case block.Q4_1, block.Q4_K:
			scale(at)
			scale(at + 2)
		case block.Q6_K:
			scale(at + 208)
		}
	}
	m, err := model.NewMatrix(out, in, kind, data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func activations(rows, width int, r *rand.Rand) *Rows {
	x := &Rows{}
	x.Resize(rows, width)
	for i := range x.Floats {
		x.Floats[i] = float32(r.NormFloat64())
	}
	if width%Block == 0 {
		for i := range rows {
			x.Quantize(i, 0, width)
		}
	}
	return x
}

func product(t testing.TB, w model.Matrix, x *Rows, rows int) []float32 {
	t.Helper()
	m, err := Pack(inOrder, new(pages.Arena), w)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, rows*m.Panels()*Width)
	m.Multiply(dst, m.Panels()*Width, x, 0, rows, 0, m.Panels())
	return dst
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestProductsAreThoseOfTheDecodedWeights compares with double precision, given the
// activations as they are after quantizing where a type wants that.
func TestProductsAreThoseOfTheDecodedWeights(t *testing.T) {
	for _, kind := range types {
		t.Run(kind.String(), func(t *testing.T) {
			const in, out, rows = 512, 37, 3
			r := rand.New(rand.NewPCG(1, uint64(kind)))
			w, x := stored(t, kind, out, in, r), activations(rows, in, r)
			got := product(t, w, x, rows)
			for row := range rows {
				for o, weights := range slices.Collect(slices.Chunk(w.Floats(), in)) {
					want, size := 0.0, 0.0
					for i, v := range weights {
						a := float64(x.Row(row)[i])
						if kind.Elements() > 1 {
							a = float64(x.Codes[row*in+i]) * float64(x.Meta[(row*in+i)/Block].Scale)
						}
						want += a * float64(v)
						size += math.Abs(a * float64(v))
					}
					if d := math.Abs(float64(got[row*48+o]) - want); d > 1e-6*size+1e-9 {
						t.Fatalf("row %d, output %d: got %v, want %v", row, o, got[row*48+o], want)
					}
				}
			}
		})
	}
}

func TestQuantizedActivationsAreWithinHalfAStep(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	x := activations(5, 256, r)
	for i, v := range x.Floats {
		m := x.Meta[i/Block]
		if d := math.Abs(float64(v) - float64(x.Codes[i])*float64(m.Scale)); d > 0.5001*float64(m.Scale) {
			t.Errorf("%v became %d·%v", v, x.Codes[i], m.Scale)
		}
	}
	for b, m := range x.Meta {
		low, high := int32(0), int32(0)
		for i, c := range x.Codes[b*Block:][:Block] {
			if i < Block/2 {
				low += int32(c)
			} else {
				high += int32(c)
			}
		}
		if m.Low != low || m.High != high || m.Sum != m.Scale*float32(low+high) {
			t.Errorf("block %d: %+v, sums %d and %d", b, m, low, high)
		}
	}
}

// FuzzEveryLevelGivesTheSameBits runs the same products on all levels of this machine,
// with rows together and alone.
func FuzzEveryLevelGivesTheSameBits(f *testing.F) {
	for i := range types {
		f.Add(uint8(i), uint8(1), uint8(16), uint8(1), uint64(i))
		f.Add(uint8(i), uint8(7), uint8(40), uint8(2), uint64(i))
		f.Add(uint8(i), uint8(21), uint8(3), uint8(3), uint64(i))
	}
	f.Fuzz(func(t *testing.T, kind, rows, out, in uint8, seed uint64) {
		k := types[int(kind)%len(types)]
		width := max(int(in%8), 1) * max(k.Elements(), Block)
		if k.Elements() == 1 {
			width += int(seed % 32)
		}
		n, r := int(rows%40)+1, rand.New(rand.NewPCG(seed, 3))
		w := stored(t, k, int(out%50)+1, width, r)
		run := func(level vector.Level) ([]float32, *Rows) {
			defer vector.Use(level)()
			x := activations(n, width, rand.New(rand.NewPCG(seed, 4)))
			if n > 2 {
				clear(x.Row(1))
				x.Row(2)[0] = 1e-35
				if width%Block == 0 {
					x.Quantize(1, 0, width)
					x.Quantize(2, 0, width)
				}
			}
			return product(t, w, x, n), x
		}
		want, x := run(vector.Plain)
		for level := vector.AVX2; level <= vector.Supported(); level++ {
			got, y := run(level)
			if !slices.Equal(x.Codes, y.Codes) || !slices.Equal(x.Meta, y.Meta) {
				t.Fatalf("%s: activations quantized in another way", level)
			}
			if !sameBits(got, want) {
				t.Fatalf("%s of %s, %d rows by %d inputs: got %v, want %v", level, k, n, width, got, want)
			}
		}
		stride := len(want) / n
		m, err := Pack(inOrder, new(pages.Arena), w)
		if err != nil {
			t.Fatal(err)
		}
		one := make([]float32, Width)
		for row := range n {
			p := row % m.Panels()
			m.Multiply(one, Width, x, row, row+1, p, p+1)
			if !sameBits(one, want[row*stride+p*Width:][:Width]) {
				t.Fatalf("row %d alone: got %v, want %v", row, one, want[row*stride+p*Width:][:Width])
			}
		}
	})
}

// TestExtremeCodesDoNotOverflow has all codes and activations at their ends.
func TestExtremeCodesDoNotOverflow(t *testing.T) {
	for _, kind := range []block.Type{block.Q8_0, block.Q4_0, block.Q4_1, block.Q4_K, block.Q6_K} {
		for _, fill := range []byte{0x00, 0x7f, 0x80, 0xff} {
			r := rand.New(rand.NewPCG(5, 5))
			w := stored(t, kind, 16, 256, r)
			for at := 0; at < len(w.Data); at += kind.Bytes() {
				head := map[block.Type]int{block.Q8_0: 2, block.Q4_0: 2, block.Q4_1: 4, block.Q4_K: 16}[kind]
				for i := head; i < kind.Bytes() && (kind != block.Q6_K || i < 192); i++ {
					w.Data[at+i] = fill
				}
			}
			for _, sign := range []float32{1, -1} {
				x := &Rows{}
				x.Resize(5, 256)
				for i := range x.Floats {
					x.Floats[i] = sign
				}
				for row := range 5 {
					x.Quantize(row, 0, 256)
				}
				restore := vector.Use(vector.Plain)
				want := product(t, w, x, 5)
				restore()
				if got := product(t, w, x, 5); !sameBits(got, want) {
					t.Errorf("%s filled with %x: got %v, want %v", kind, fill, got[:16], want[:16])
				}
			}
		}
	}
}

func TestHugeScalesOfQ4_0AreKept(t *testing.T) {
	w := stored(t, block.Q4_0, 16, 32, rand.New(rand.NewPCG(6, 6)))
	binary.LittleEndian.PutUint16(w.Data, block.ToHalf(30000))
	x := activations(1, 32, rand.New(rand.NewPCG(7, 7)))
	got, want := product(t, w, x, 1)[0], float32(0)
	for i, v := range w.Floats()[:32] {
		want += v * float32(x.Codes[i]) * x.Meta[0].Scale
	}
	if d := math.Abs(float64(got - want)); !(d < 1e-4*math.Abs(float64(want))) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// BenchmarkMultiply prints the rate of products, and of weights as they lie in memory.
// Matrices are larger than the caches of a core, as in a model.
func BenchmarkMultiply(b *testing.B) {
	const in, out = 1536, 32768
	for _, kind := range types {
		w := stored(b, kind, out, in, rand.New(rand.NewPCG(1, 1)))
		m, err := Pack(inOrder, new(pages.Arena), w)
		if err != nil {
			b.Fatal(err)
		}
		for _, rows := range []int{1, 4, 16} {
			x := activations(rows, in, rand.New(rand.NewPCG(2, 2)))
			dst := make([]float32, rows*Width)
			b.Run(fmt.Sprintf("%s/rows=%d", kind, rows), func(b *testing.B) {
				for b.Loop() {
					for p := range m.Panels() {
						m.Multiply(dst, Width, x, 0, rows, p, p+1)
					}
				}
				seconds := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(float64(rows*in*out)/seconds/1e9, "GMAC/s")
				b.ReportMetric(float64(m.Bytes())/seconds/1e9, "GB/s")
			})
		}
	}
}

func BenchmarkPack(b *testing.B) {
	for _, kind := range types {
		w := stored(b, kind, 1536, 1536, rand.New(rand.NewPCG(1, 1)))
		b.Run(kind.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := Pack(inOrder, new(pages.Arena), w); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(w.Data)*b.N)/b.Elapsed().Seconds()/1e6, "MB/s")
		})
	}
}

func BenchmarkQuantize(b *testing.B) {
	x := activations(1, 1536, rand.New(rand.NewPCG(1, 1)))
	for b.Loop() {
		x.Quantize(0, 0, 1536)
	}
	b.ReportMetric(float64(1536*b.N)/b.Elapsed().Seconds()/1e9, "G/s")
}

// TestScalesOfOutputsAreWeights multiplies unit vectors, which gives weights back.
func TestScalesOfOutputsAreWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	w := stored(t, block.F8E4M3, 19, 32, r)
	for o := range w.Rows {
		w.Scales = append(w.Scales, float32(math.Ldexp(1, o%19-13)))
	}
	want := w.Floats()
	for i := range w.Cols {
		x := activations(1, w.Cols, r)
		clear(x.Floats)
		x.Floats[i] = 1
		for o, got := range product(t, w, x, 1)[:w.Rows] {
			if got != want[o*w.Cols+i] {
				t.Fatalf("weight %d of output %d is %v, want %v", i, o, got, want[o*w.Cols+i])
			}
		}
	}
}
