package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/llmctl/llmctl/sizing/cost"
)

const (
	// fewestPoints and fewestLoads are what a calibration needs of an engine on a
	// family before it is worth a fit.
	fewestPoints, fewestLoads = 4, 2
	// freedom is the spread of the logarithm of a constant about the built-in one.
	freedom = 0.4
	// determined is the share of that spread that must be gone before a constant
	// counts as determined by the points.
	determined = 0.5
	// maxFolds bounds how many fits hold loads out; of more than manyPoints
	// configurations each fit is slow, and sure enough with a fifth held out.
	maxFolds, fewFolds, manyPoints = 10, 5, 200
	// disagreement is the median error on held-out points from which the points say
	// nothing that a plan could rest on.
	disagreement = 0.5
	// moved is how far the logarithm of a constant goes before it counts as another.
	moved = 0.05
)

// ErrNoPoints says that there is nothing to calibrate with.
var ErrNoPoints = errors.New("no points")

// Calibration is what points say of one engine on one family of accelerators with
// one kind of model.
type Calibration struct {
	Entry  cost.Entry
	Points int
	Terms  []Term
	Before cost.Error // of the built-in constants on the points
	After  cost.Error // of the fit on points that were held out
	Scaled float64    // the one factor on all times of steps, where the points could not tell them apart; else 0
}

// Term is one constant before and after, in the unit of its name. Known is the
// share of the prior's spread that the points removed; the rest is the prior.
type Term struct {
	Name          string
	Prior, Fitted float64
	Known         float64
	Determined    bool
	Kept          bool // only prompts tell, and the points say too little of them
}

// promptTerms are the constants that only prompts determine: in decodes they are
// small beside the time to read weights and cache, and what is wrong elsewhere
// would be put into them.
var promptTerms = []string{"prompt_layer_us", "compute_factor", "expert_compute_factor", "request_us"}

// lengths is the least ratio of the longest to the shortest prompt, in tokens that
// are not cached, from which times per token tell what prompts cost.
const lengths = 4

// kept are the constants that points say too little of to be fitted. Without a
// time to first token nothing tells the time outside of the steps.
func kept(points []Point) [cost.Terms]bool {
	firsts := false
	shortest, longest := math.Inf(1), 0.0
	for i := range points {
		p := &points[i]
		firsts = firsts || p.TTFT > 0
		shortest, longest = min(shortest, p.Load.Input-p.Load.Cached), max(longest, p.Load.Input-p.Load.Cached)
	}
	var out [cost.Terms]bool
	for i, name := range cost.TermNames {
		told := firsts || name != "request_us" && longest >= lengths*shortest
		out[i] = slices.Contains(promptTerms, name) && !told
	}
	return out
}

// Moved reports whether the constant is another one than the built-in.
func (t Term) Moved() bool { return math.Abs(math.Log(t.Fitted/t.Prior)) >= moved }

// FasterThanLimit reports whether the points make work faster than the hardware's
// rates allow: a factor is time over the ideal one.
func (t Term) FasterThanLimit() bool {
	return strings.HasSuffix(t.Name, "_factor") && t.Fitted < 1 && t.Fitted < t.Prior && t.Moved()
}

// Doubt says why the calibration should not be used; nil when nothing speaks
// against it.
func (c Calibration) Doubt() error {
	of := fmt.Sprintf("%s on %s", c.Entry.Engine, c.Entry.Family)
	switch {
	case c.Scaled > 0: // nothing was held out
		return nil
	case c.After.Relative > disagreement:
		return fmt.Errorf("%s: the points do not agree with each other: predicted from the others, they are %.1f%% off in the median", of, 100*c.After.Relative)
	case c.After.Relative > c.Before.Relative:
		return fmt.Errorf("%s: the points do not agree with each other as well as with the built-in constants: predicted from the others, they are %.1f%% off in the median, by the built-in constants %.1f%%",
			of, 100*c.After.Relative, 100*c.Before.Relative)
	}
	return nil
}

// Calibrate fits the constants of each engine, family and kind that the points
// are of, starting from the built-in ones: what the points can not tell stays.
// It refuses points that determine nothing, but for machines whose rates are
// nominal: what one load tells of them is how fast they are. progress, when it is not nil, is
// called before each fit.
func Calibrate(ctx context.Context, points []Point, progress func(done, all int)) ([]Calibration, error) {
	if len(points) == 0 {
		return nil, ErrNoPoints
	}
	groups := map[kind][]Point{}
	var order []kind
	for _, p := range points {
		k := p.kind()
		k.shape = ""
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	var out []Calibration
	for _, k := range order {
		c, err := calibrate(ctx, k, groups[k], progress)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// String words a kind for a reader.
func (k kind) String() string {
	models := "dense models"
	if k.moe {
		models = "mixtures of experts"
	}
	return fmt.Sprintf("%s on %s, %s", k.engine, k.family, models)
}

func calibrate(ctx context.Context, k kind, points []Point, progress func(done, all int)) (Calibration, error) {
	loads := loadsOf(points)
	if nominal(k.family) && alike(points) {
		return scaled(k, points), nil
	}
	switch {
	case len(points) < fewestPoints:
		return Calibration{}, fmt.Errorf("%d points can not determine the constants: at least %d are needed", len(points), fewestPoints)
	case len(loads) < fewestLoads:
		return Calibration{}, fmt.Errorf("all %d points are at one load (%s), which can not tell fixed costs from memory and compute: measure at other concurrencies too", len(points), loads[0])
	}
	unique, of := merged(points)
	if len(unique) > maxConfigurations {
		return Calibration{}, tooMany()
	}
	prior := priorOf(k, points)
	p := around(prior)
	p.kept = kept(points)
	x, err := p.solve(unique, make([]float64, p.size()))
	if err != nil {
		return Calibration{}, err
	}
	known := p.known(unique, x)
	c := Calibration{Points: len(points), Before: errorNormal(each(points, of, errorAll(unique, prior)), prior.Error)}
	fitted := p.constants(x, k)
	any := false
	for i, name := range cost.TermNames {
		t := Term{Name: name, Prior: prior.Vector()[i], Fitted: fitted.Vector()[i], Known: known[i], Determined: known[i] >= determined, Kept: p.kept[i]}
		any = any || t.Determined
		c.Terms = append(c.Terms, t)
	}
	if !any {
		return c, fmt.Errorf("the %d points determine none of the %d constants: measure at loads, lengths or degrees of parallelism that differ more", len(points), cost.Terms)
	}
	held, err := p.crossValidate(ctx, unique, loads, x, progress)
	if err != nil {
		return c, err
	}
	c.After = errorNormal(each(points, of, held), prior.Error)
	c.Entry = cost.Entry{Engine: k.engine, Family: k.family, MoE: k.moe, Constants: rounded(fitted), Error: c.After.Rounded()}
	for _, point := range unique {
		c.Entry.Rows = append(c.Entry.Rows, point.ID)
	}
	c.Entry.Source = fmt.Sprintf("calibrated with %s, from built-in constants", measured(len(points)))
	return c, nil
}

// priorOf is the built-in constants: those of the model, when the points are of
// one alone, else those of the kind.
func priorOf(k kind, points []Point) cost.Constants {
	facts := points[0].Facts
	for _, p := range points {
		if p.Facts.Shape() != facts.Shape() {
			facts = cost.Facts{MoE: k.moe}
			break
		}
	}
	return cost.Pick(cost.Table(), k.engine, k.family, facts)
}

// around is a pool of one group about given constants.
func around(prior cost.Constants) *pool {
	p := &pool{single: true}
	for i, v := range prior.Vector() {
		p.centre[i], p.spread[i] = math.Log(max(v, 1e-9)), freedom
	}
	return p
}

// known is, per constant, the share of its spread that the points removed: one
// less the deviation after, from the inverse of the Gauss–Newton matrix, over the
// one before.
func (p *pool) known(points []Point, x []float64) [cost.Terms]float64 {
	o := newObjective(p, points)
	h := mat.NewSymDense(p.size(), nil)
	o.hessian(h, x)
	var inverse mat.Dense
	var out [cost.Terms]float64
	if err := inverse.Inverse(h); err != nil {
		return out
	}
	for i := range out {
		out[i] = min(1, max(0, 1-math.Sqrt(max(0, inverse.At(i, i)))/p.spread[i]))
	}
	return out
}

func load(p *Point) string {
	if p.Rate > 0 {
		return fmt.Sprintf("%g requests/s", p.Rate)
	}
	return fmt.Sprintf("%g clients", p.Load.Concurrency)
}

func loadsOf(points []Point) []string {
	var loads []string
	seen := map[string]bool{}
	for i := range points {
		if l := load(&points[i]); !seen[l] {
			seen[l] = true
			loads = append(loads, l)
		}
	}
	return loads
}

// crossValidate predicts the points of each load from those at others: at all
// others, or, of more loads than maxFolds, at those of other folds. What it returns
// is in the order of the points.
func (p *pool) crossValidate(ctx context.Context, points []Point, loads []string, start []float64, progress func(done, all int)) ([]Held, error) {
	folds := min(len(loads), maxFolds)
	if len(points) > manyPoints {
		folds = min(folds, fewFolds)
	}
	fold := make(map[string]int, len(loads))
	for i, l := range loads {
		fold[l] = i % folds
	}
	held := make([]Held, len(points))
	for out := range folds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if progress != nil {
			progress(out, folds)
		}
		var rest []Point
		for j := range points {
			if fold[load(&points[j])] != out {
				rest = append(rest, points[j])
			}
		}
		x, err := p.solve(rest, start)
		if err != nil {
			return nil, err
		}
		for j := range points {
			if point := &points[j]; fold[load(point)] == out {
				c := p.constants(x, point.kind())
				held[j] = Held{point, point.predict(c), c}
			}
		}
	}
	return held, nil
}

func errorAll(points []Point, c cost.Constants) []Held {
	var held []Held
	for i := range points {
		held = append(held, Held{&points[i], points[i].predict(c), c})
	}
	return held
}

// each compares every measurement with what was predicted for the merged point
// that stands for it.
func each(points []Point, of []int, held []Held) []Held {
	all := make([]Held, len(points))
	for i := range points {
		all[i] = held[of[i]]
		all[i].Point = &points[i]
	}
	return all
}

// errorNormal is the errors of few points. A first token that no point has keeps
// the error of the prior.
func errorNormal(held []Held, prior cost.Error) cost.Error {
	e := cost.Error{Spread: normal(held, Held.Ratio), First: prior.First}
	if slices.ContainsFunc(held, func(h Held) bool { return h.FirstRatio() > 0 }) {
		e.First = normal(held, Held.FirstRatio)
	}
	return e
}

// normal is spread for few points: the interval is that of a normal
// distribution of the logarithm about 0, with the points' mean square and one
// degree of freedom less.
func normal(held []Held, ratio func(Held) float64) cost.Spread {
	var distance []float64
	square := 0.0
	for _, h := range held {
		if r := ratio(h); r > 0 {
			distance = append(distance, math.Abs(r-1))
			square += math.Pow(math.Log(r), 2)
		}
	}
	const tenth = 1.2816 // 90th percentile of the normal distribution
	width := tenth * math.Sqrt(square/float64(max(1, len(distance)-1)))
	return cost.Spread{Relative: quantile(distance, 0.5), Low: math.Exp(-width), High: math.Exp(width), Basis: cost.HeldLoad}
}
