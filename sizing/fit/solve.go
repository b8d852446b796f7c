package fit

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/llmctl/llmctl/sizing/cost"
)

const (
	// pooledNoise is how far the logarithm of a point scatters about a good model,
	// over versions, settings and statistics that are not stated; ownNoise the same
	// within one user's points.
	pooledNoise, ownNoise = 0.10, 0.05
	// firstNoise is how much further that of a time to first token does: it depends
	// on the client, the web server and how a run starts too.
	firstNoise = 3
	// knee is where a residual, in units of noise, stops counting by its square
	// (Huber, Annals of Mathematical Statistics 35, 1964).
	knee = 1.5
	// step is the width of difference quotients, in logarithms of constants.
	step = 1e-4
)

// kinds of times that a point measures.
const (
	perToken = iota
	toFirst
	times
)

// residual is those of a point's times, log(predicted ÷ measured) in units of
// noise, and their slopes by the logarithms of its kind's constants. A time that
// was not measured has none.
type residual struct {
	value  [times]float64
	slopes [times][cost.Terms]float64
}

// values computes the residuals in units of the noise of a time per token.
func values(p *Point, c cost.Constants) (v [times]float64) {
	loop := p.predict(c)
	v[perToken] = math.Log(loop.TPOT / p.TPOT)
	if p.TTFT > 0 && !p.StartGuessed {
		v[toFirst] = math.Log(loop.TTFT/p.TTFT) / firstNoise
	}
	return v
}

// linearize computes the residuals and their slopes.
func linearize(p *Point, logs [cost.Terms]float64, kept [cost.Terms]bool) residual {
	r := residual{value: values(p, fromLogs(logs))}
	for i := range logs {
		if kept[i] || p.without(i) {
			continue // a slope of 0 leaves it where it is
		}
		moved := logs
		moved[i] += step
		for t, v := range values(p, fromLogs(moved)) {
			r.slopes[t][i] = (v - r.value[t]) / step
		}
	}
	return r
}

// without reports whether a constant has no part in the time of a point: those of
// experts, latent attention and collectives, where there are none.
func (p *Point) without(term int) bool {
	switch f := &p.Facts; cost.TermNames[term] {
	case "latent_layer_us":
		return f.LatentLayers == 0
	case "expert_layer_us", "expert_memory_factor", "expert_compute_factor":
		return f.ExpertLayers == 0
	case "exchange_us", "link_factor":
		return f.Tensor*f.Pipeline*f.Data == 1
	}
	return false
}

// weights lessen the say of models with many points: n points of one model are
// worth √n, since what they are off by is mostly the same.
func weights(points []Point) []float64 {
	count := map[string]int{}
	for i := range points {
		count[points[i].Facts.Shape()]++
	}
	w := make([]float64, len(points))
	for i := range points {
		w[i] = 1 / math.Sqrt(float64(count[points[i].Facts.Shape()]))
	}
	return w
}

// objective is the penalized robust sum of squares that a fit minimizes, with
// its gradient and its Gauss–Newton matrix at the last place that was asked for.
type objective struct {
	pool    *pool
	points  []Point
	weights []float64
	noise   float64

	at        []float64
	residuals []residual
}

func newObjective(p *pool, points []Point) *objective {
	o := &objective{pool: p, points: points, weights: make([]float64, len(points)), noise: ownNoise, residuals: make([]residual, len(points))}
	for i := range o.weights {
		o.weights[i] = float64(max(1, points[i].count)) // a user's points are all of what is asked about
	}
	if !p.single {
		o.weights, o.noise = weights(points), pooledNoise
	}
	return o
}

func (o *objective) visit(x []float64) {
	if o.at != nil && slices.Equal(o.at, x) {
		return
	}
	o.at = append(o.at[:0], x...)
	for i := range o.points {
		o.residuals[i] = linearize(&o.points[i], o.pool.logs(x, o.points[i].kind()), o.pool.kept)
	}
}

func (o *objective) value(x []float64) float64 {
	sum := 0.0
	for i := range o.points {
		for _, v := range values(&o.points[i], o.pool.constants(x, o.points[i].kind())) {
			r := math.Abs(v) / o.noise
			loss := r * r / 2
			if r > knee {
				loss = knee * (r - knee/2)
			}
			sum += o.weights[i] * loss
		}
	}
	for i, v := range x {
		sum += v * v / (2 * o.pool.width(i) * o.pool.width(i))
	}
	return sum
}

// pull is the derivative of a point's loss by its residual, over the residual.
func (o *objective) pull(r float64) float64 {
	r = math.Abs(r) / o.noise
	if r > knee {
		return knee / r
	}
	return 1
}

func (o *objective) gradient(grad, x []float64) {
	o.visit(x)
	for i, v := range x {
		grad[i] = v / (o.pool.width(i) * o.pool.width(i))
	}
	for i, r := range o.residuals {
		groups := o.pool.sums(o.points[i].kind())
		for t, v := range r.value {
			scale := o.weights[i] * o.pull(v) * v / (o.noise * o.noise)
			for _, g := range groups {
				for k, slope := range r.slopes[t] {
					grad[g*cost.Terms+k] += scale * slope
				}
			}
		}
	}
}

func (o *objective) hessian(h *mat.SymDense, x []float64) {
	o.visit(x)
	h.Zero()
	for i := range x {
		h.SetSym(i, i, 1/(o.pool.width(i)*o.pool.width(i)))
	}
	for i, r := range o.residuals {
		products := o.products(i, r)
		groups := o.pool.sums(o.points[i].kind())
		for _, g := range groups {
			for _, k := range groups {
				for s := range products {
					for t, v := range products[s] {
						if m, n := g*cost.Terms+s, k*cost.Terms+t; m <= n {
							h.SetSym(m, n, h.At(m, n)+v)
						}
					}
				}
			}
		}
	}
}

// products are a point's part of the Gauss–Newton matrix of one kind.
func (o *objective) products(i int, r residual) (sum [cost.Terms][cost.Terms]float64) {
	for t, v := range r.value {
		scale := o.weights[i] * o.pull(v) / (o.noise * o.noise)
		for a, x := range r.slopes[t] {
			if x == 0 {
				continue
			}
			for b, y := range r.slopes[t] {
				sum[a][b] += scale * x * y
			}
		}
	}
	return sum
}

// solve finds the effects that fit the points best, from a first guess.
func (p *pool) solve(points []Point, start []float64) ([]float64, error) {
	o := newObjective(p, points)
	problem := optimize.Problem{Func: o.value, Grad: o.gradient, Hess: o.hessian}
	settings := &optimize.Settings{GradientThreshold: 1e-3, MajorIterations: 60, Concurrent: 1}
	result, err := optimize.Minimize(problem, slices.Clone(start), settings, &optimize.Newton{})
	if result == nil {
		return nil, fmt.Errorf("fitting %d points: %w", len(points), err)
	}
	// A line search that finds no better place has arrived, as far as difference
	// quotients can tell.
	return result.X, nil
}
