package reference

import (
	"math"

	"github.com/llmctl/llmctl/engine/model"
)

// matrix is a decoded model.Matrix.
type matrix struct {
	cols   int
	values []float32
}

func newMatrix(m model.Matrix) matrix {
	if m.Data == nil {
		return matrix{}
	}
	return matrix{m.Cols, m.Floats()}
}

func (m matrix) row(i int) []float64 { return widen(m.values[i*m.cols:][:m.cols]) }

// times is the product with x, one sum per row.
func (m matrix) times(x []float64) []float64 {
	out := make([]float64, len(m.values)/m.cols)
	for o := range out {
		for i, w := range m.values[o*m.cols:][:m.cols] {
			out[o] += x[i] * float64(w)
		}
	}
	return out
}

// decoded is a model with decoded matrices.
type decoded struct {
	*model.Weights
	epsilon         float64
	embedding, head matrix
	layers          []layer
}

type layer struct {
	*model.LayerWeights
	query, key, value, output, router matrix
	mlp                               mlp
	experts                           []mlp
}

type mlp struct{ gate, up, down matrix }

func decode(w *model.Weights) *decoded {
	d := &decoded{Weights: w, epsilon: float64(w.NormEpsilon), embedding: newMatrix(w.Embedding)}
	if d.head = d.embedding; !w.Tied {
		d.head = newMatrix(w.Head)
	}
	for i := range w.Layers {
		l := &w.Layers[i]
		one := layer{
			LayerWeights: l, query: newMatrix(l.Query), key: newMatrix(l.Key), value: newMatrix(l.Value), output: newMatrix(l.Output),
			router: newMatrix(l.Router), mlp: mlp{newMatrix(l.Gate), newMatrix(l.Up), newMatrix(l.Down)},
		}
		for _, e := range l.Experts {
			one.experts = append(one.experts, mlp{newMatrix(e.Gate), newMatrix(e.Up), newMatrix(e.Down)})
		}
		d.layers = append(d.layers, one)
	}
	return d
}

// norm is RMSNorm (Zhang, Sennrich 2019); x itself where there is no weight.
func norm(x []float64, weight []float32, epsilon float64) []float64 {
	out := make([]float64, len(x))
	copy(out, x)
	if weight == nil {
		return out
	}
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	root := math.Sqrt(sum/float64(len(x)) + epsilon)
	for i := range out {
		out[i] = x[i] / root * float64(weight[i])
	}
	return out
}

func softmax(x []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, v := range x {
		top = max(top, v)
	}
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// capped is limit·tanh(x/limit); x without a limit.
func capped(x, limit float64) float64 {
	if limit == 0 {
		return x
	}
	return limit * math.Tanh(x/limit)
}

func orOne(x float64) float64 {
	if x == 0 {
		return 1
	}
	return x
}

func add(dst, x []float64) {
	for i := range dst {
		dst[i] += x[i]
	}
}

// plus is x with a bias, of which there may be none.
func plus(x []float64, bias []float32) []float64 {
	for i, b := range bias {
		x[i] += float64(b)
	}
	return x
}

func scaled(x []float64, by float64) []float64 {
	for i := range x {
		x[i] *= by
	}
	return x
}

func widen(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}
