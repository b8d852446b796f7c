package fit

import (
	"math"
	"slices"

	"github.com/llmctl/llmctl/sizing/cost"
)

// term is what is believed of a constant before any point is seen: its value in
// the unit of cost.TermNames, and the standard deviation of its logarithm.
type term struct{ value, spread float64 }

// beliefs are broad, and centred on what profiles of engines show: tens of µs of
// launches per layer, some more where a layer has more kernels, memory traffic
// near the ideal, matrix products at half of the peak, collectives of some µs
// per round (NCCL) at half of the link's rate.
var beliefs = [cost.Terms]term{
	{300, 1},   // step
	{35, 0.5},  // layer
	{30, 0.7},  // latent layer
	{20, 0.7},  // expert layer
	{40, 1},    // prompt layer
	{8, 1},     // sequence
	{6, 0.6},   // exchange
	{1.1, 0.2}, // memory
	{1.4, 0.4}, // expert memory
	{1.6, 0.4}, // compute
	{3, 0.7},   // expert compute
	{1.8, 0.5}, // link
	{2e4, 1},   // request
}

// deviation is the spread of the logarithm of a constant between engines, between
// families, between kinds and between models.
const deviation = 0.25

// requestDeviation is the same between engines for the time of a request outside
// of its steps: their web servers are different programs.
const requestDeviation = 1

// requestTerm is its place in cost.TermNames.
var requestTerm = slices.Index(cost.TermNames[:], "request_us")

// pool lays out the effects as one vector: the general values, then the
// deviations of mixtures of experts, of each engine, each family and each model.
type pool struct {
	centre   [cost.Terms]float64 // logarithms
	spread   [cost.Terms]float64
	engines  []string
	families []string
	shapes   []string
	single   bool             // one group for all points
	kept     [cost.Terms]bool // constants that are not fitted
}

func newPool(points []Point) *pool {
	p := &pool{}
	for i, b := range beliefs {
		p.centre[i], p.spread[i] = math.Log(b.value), b.spread
	}
	for _, x := range points {
		if !slices.Contains(p.engines, x.Engine) {
			p.engines = append(p.engines, x.Engine)
		}
		if !slices.Contains(p.families, x.Family) {
			p.families = append(p.families, x.Family)
		}
		if shape := x.Facts.Shape(); !slices.Contains(p.shapes, shape) {
			p.shapes = append(p.shapes, shape)
		}
	}
	slices.Sort(p.engines)
	slices.Sort(p.families)
	slices.Sort(p.shapes)
	return p
}

// groups is how many vectors of effects there are.
func (p *pool) groups() int {
	if p.single {
		return 1
	}
	return 2 + len(p.engines) + len(p.families) + len(p.shapes)
}

func (p *pool) size() int { return cost.Terms * p.groups() }

// sums are the groups whose effects add up to the constants of a kind.
func (p *pool) sums(k kind) []int {
	if p.single {
		return []int{0}
	}
	groups := []int{0}
	if k.moe {
		groups = append(groups, 1)
	}
	if i := slices.Index(p.engines, k.engine); i >= 0 {
		groups = append(groups, 2+i)
	}
	if i := slices.Index(p.families, k.family); i >= 0 {
		groups = append(groups, 2+len(p.engines)+i)
	}
	if i := slices.Index(p.shapes, k.shape); i >= 0 {
		groups = append(groups, 2+len(p.engines)+len(p.families)+i)
	}
	return groups
}

// logs are the logarithms of the constants of a kind.
func (p *pool) logs(x []float64, k kind) [cost.Terms]float64 {
	v := p.centre
	for _, g := range p.sums(k) {
		for i := range v {
			v[i] += x[g*cost.Terms+i]
		}
	}
	return v
}

func fromLogs(v [cost.Terms]float64) cost.Constants {
	for i := range v {
		v[i] = math.Exp(v[i])
	}
	return cost.FromVector(v)
}

// constants of a kind; one that was not measured has the general values.
func (p *pool) constants(x []float64, k kind) cost.Constants { return fromLogs(p.logs(x, k)) }

// width is the spread of one effect.
func (p *pool) width(i int) float64 {
	if i < cost.Terms {
		return p.spread[i]
	}
	if g := i / cost.Terms; i%cost.Terms == requestTerm && g >= 2 && g < 2+len(p.engines) {
		return requestDeviation
	}
	return deviation
}
