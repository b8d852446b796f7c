package cpu

import (
	"math"

	"github.com/llmctl/llmctl/engine/model"
)

// reference computes the logits after the last of tokens, straight from the
// definition of the transformer, in float64: no cache, no blocks, no tiles, no
// code shared with the executor.
func reference(w *model.Weights, tokens []int32) []float64 {
	x := make([][]float64, len(tokens))
	for t, token := range tokens {
		x[t] = widen(w.Embedding.Floats()[int(token)*w.Hidden : (int(token)+1)*w.Hidden])
	}
	for _, l := range w.Layers {
		var q, k, v [][]float64
		for t := range x {
			h := refNorm(x[t], l.AttentionNorm, float64(w.NormEpsilon))
			q = append(q, refRotate(w, refMul(l.Query, h), t))
			k = append(k, refRotate(w, refMul(l.Key, h), t))
			v = append(v, refMul(l.Value, h))
		}
		for t := range x {
			mixed := make([]float64, w.Queries())
			for h := range w.Heads {
				refAttend(w, mixed[h*w.HeadDim:(h+1)*w.HeadDim], q[t], k[:t+1], v[:t+1], h)
			}
			refAdd(x[t], refMul(l.Output, mixed))
		}
		for t := range x {
			h := refNorm(x[t], l.MLPNorm, float64(w.NormEpsilon))
			gated, up := refMul(l.Gate, h), refMul(l.Up, h)
			for i, g := range gated {
				gated[i] = g / (1 + math.Exp(-g)) * up[i]
			}
			refAdd(x[t], refMul(l.Down, gated))
		}
	}
	logits := refMul(w.Head, refNorm(x[len(x)-1], w.FinalNorm, float64(w.NormEpsilon)))
	if w.Offsets != nil {
		refAdd(logits, widen(w.Offsets))
	}
	return logits
}

func refAttend(w *model.Weights, out, q []float64, k, v [][]float64, head int) {
	shared := head / (w.Heads / w.KVHeads) * w.HeadDim
	weights, sum := make([]float64, len(k)), 0.0
	for p := range k {
		for d := range w.HeadDim {
			weights[p] += q[head*w.HeadDim+d] * k[p][shared+d]
		}
		weights[p] = math.Exp(weights[p] / math.Sqrt(float64(w.HeadDim)))
		sum += weights[p]
	}
	for p := range v {
		for d := range out {
			out[d] += weights[p] / sum * v[p][shared+d]
		}
	}
}

func refRotate(w *model.Weights, x []float64, position int) []float64 {
	out := make([]float64, len(x))
	half := w.HeadDim / 2
	for i := range x {
		head, d := i-i%w.HeadDim, i%w.HeadDim
		angle := float64(position) * w.Ropes[0].Frequencies[d%half]
		if d < half {
			out[i] = x[i]*math.Cos(angle) - x[head+d+half]*math.Sin(angle)
		} else {
			out[i] = x[i]*math.Cos(angle) + x[head+d-half]*math.Sin(angle)
		}
	}
	return out
}

func refMul(m model.Matrix, x []float64) []float64 {
	w, out := m.Floats(), make([]float64, m.Rows)
	for o := range out {
		for i, v := range x {
			out[o] += v * float64(w[o*len(x)+i])
		}
	}
	return out
}

func refNorm(x []float64, weight []float32, epsilon float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v / math.Sqrt(sum/float64(len(x))+epsilon) * float64(weight[i])
	}
	return out
}

func refAdd(dst, x []float64) {
	for i := range dst {
		dst[i] += x[i]
	}
}

func widen(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}
