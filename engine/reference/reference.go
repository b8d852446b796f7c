package reference

import (
	"math"

	"github.com/llmctl/llmctl/engine/model"
)

// Logits are those after each of tokens, which must be in the vocabulary. It takes
// time that grows with the square of their number, and decodes all weights.
func Logits(w *model.Weights, tokens []int32) [][]float64 {
	m := decode(w)
	x := make([][]float64, len(tokens))
	for t, token := range tokens {
		x[t] = scaled(m.embedding.row(int(token)), orOne(float64(w.EmbeddingScale)))
	}
	for i := range m.layers {
		m.attention(i, x)
		for t := range x {
			l := &m.layers[i]
			h := norm(x[t], l.MLPNorm, m.epsilon)
			add(x[t], norm(m.feedForward(i, h), l.PostMLPNorm, m.epsilon))
		}
	}
	logits := make([][]float64, len(x))
	for t := range x {
		logits[t] = m.head.times(norm(x[t], w.FinalNorm, m.epsilon))
		for i, v := range logits[t] {
			logits[t][i] = capped(v, float64(w.LogitCap))
		}
		if w.Offsets != nil {
			add(logits[t], widen(w.Offsets))
		}
	}
	return logits
}

// attention adds layer i's attention to the residual stream x.
func (m *decoded) attention(i int, x [][]float64) {
	l, kind := &m.layers[i], m.Kind(i)
	rope := m.Ropes[kind.Rope]
	var q, k, v [][]float64
	for t := range x {
		h := norm(x[t], l.AttentionNorm, m.epsilon)
		q = append(q, m.turned(plus(l.query.times(h), l.QueryBias), l.QueryNorm, rope, t))
		k = append(k, m.turned(plus(l.key.times(h), l.KeyBias), l.KeyNorm, rope, t))
		v = append(v, plus(l.value.times(h), l.ValueBias))
	}
	for t := range x {
		first := 0
		if kind.Window > 0 {
			first = max(0, t-kind.Window+1)
		}
		mixed := make([]float64, m.Queries())
		for head := range m.Heads {
			m.attend(mixed[head*m.HeadDim:][:m.HeadDim], q[t], k[first:t+1], v[first:t+1], head)
		}
		add(x[t], norm(l.output.times(mixed), l.PostAttentionNorm, m.epsilon))
	}
}

// attend adds one head's attention of q over k and v to out.
func (m *decoded) attend(out, q []float64, k, v [][]float64, head int) {
	scale := float64(m.QueryScale)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(m.HeadDim))
	}
	shared := head / (m.Heads / m.KVHeads) * m.HeadDim
	scores := make([]float64, len(k))
	for p := range k {
		for d := range m.HeadDim {
			scores[p] += q[head*m.HeadDim+d] * k[p][shared+d]
		}
		scores[p] = capped(scores[p]*scale, float64(m.ScoreCap))
	}
	softmax(scores)
	for p := range v {
		for d := range out {
			out[d] += scores[p] * v[p][shared+d]
		}
	}
}

// turned normalizes each head of x, if it has a weight for that, and rotates it.
func (m *decoded) turned(x []float64, weight []float32, rope model.Rope, position int) []float64 {
	out := make([]float64, 0, len(x))
	pairs, magnitude := len(rope.Frequencies), orOne(rope.Magnitude)
	for at := 0; at < len(x); at += m.HeadDim {
		head := norm(x[at:at+m.HeadDim], weight, m.epsilon)
		for i, f := range rope.Frequencies {
			sin, cos := math.Sincos(float64(position) * f)
			a, b := head[i], head[i+pairs]
			head[i] = magnitude * (a*cos - b*sin)
			head[i+pairs] = magnitude * (b*cos + a*sin)
		}
		out = append(out, head...)
	}
	return out
}

// feedForward is layer i's MLP, or its mixture of experts.
func (m *decoded) feedForward(i int, h []float64) []float64 {
	l := &m.layers[i]
	if len(l.experts) == 0 {
		return l.mlp.of(h, m.Activation)
	}
	weights := l.router.times(h)
	softmax(weights)
	picked, sum := m.pick(weights)
	if !m.Shape.Experts.Normalize {
		sum = 1
	}
	out := make([]float64, m.Hidden)
	for _, e := range picked {
		add(out, scaled(l.experts[e].of(h, m.Activation), weights[e]/sum))
	}
	return out
}

// pick returns the experts with the largest weights, and the sum of those. Of equal
// ones the first count.
func (m *decoded) pick(weights []float64) (picked []int, sum float64) {
	taken := make([]bool, len(weights))
	for range m.Shape.Experts.PerToken {
		best := -1
		for e, w := range weights {
			if !taken[e] && (best < 0 || w > weights[best]) {
				best = e
			}
		}
		taken[best] = true
		picked = append(picked, best)
		sum += weights[best]
	}
	return picked, sum
}

func (f *mlp) of(h []float64, activation model.Activation) []float64 {
	gated, up := f.gate.times(h), f.up.times(h)
	for i, g := range gated {
		gated[i] = activate(activation, g) * up[i]
	}
	return f.down.times(gated)
}

func activate(a model.Activation, x float64) float64 {
	if a == model.GELUTanh {
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	return x / (1 + math.Exp(-x))
}
