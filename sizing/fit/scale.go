package fit

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// nominal reports whether the rates of a family's accelerators are no datasheet's,
// so that points may say that the machine is faster or slower as a whole before they
// say anything else.
func nominal(family string) bool { return family == profiles.CPU }

// scaled calibrates with points that can not tell the constants apart, on a family
// whose rates are nominal. A time per token says by what factor the machine is slower
// as a whole; what is then missing to the first token is put into the steps that carry
// prompts, since on such a machine they are what takes the time. How far off that is at
// other loads nobody has seen: the error stays the built-in one.
func scaled(k kind, points []Point) Calibration {
	unique, of := merged(points)
	prior := priorOf(k, points)
	fitted, speed := prior, 1.0
	for range rounds {
		speed = middle(unique, perToken, func(v float64) cost.Constants {
			c := slower(prior, v)
			c.PromptS = fitted.PromptS
			return c
		})
		prompt := fitted.PromptS
		fitted = slower(prior, speed)
		fitted.PromptS = prompt
		if first := middle(unique, toFirst, func(v float64) cost.Constants { return prompts(fitted, v) }); first > 0 {
			fitted = prompts(fitted, first)
		}
	}
	out := Calibration{Points: len(points), Scaled: speed, After: prior.Error}
	for i, name := range cost.TermNames {
		out.Terms = append(out.Terms, Term{Name: name, Prior: prior.Vector()[i], Fitted: fitted.Vector()[i]})
	}
	out.Before = errorNormal(each(points, of, errorAll(unique, prior)), prior.Error)
	out.Entry = cost.Entry{Engine: k.engine, Family: k.family, MoE: k.moe, Constants: rounded(fitted), Error: prior.Error}
	out.Entry.Source = fmt.Sprintf("built-in constants, %.3g times as slow by %s", speed, measured(len(points)))
	for _, p := range unique {
		out.Entry.Rows = append(out.Entry.Rows, p.ID)
	}
	return out
}

// rounds is how often the two factors are found in turn; each moves the other's time
// a little.
const rounds = 20

// middle is the median, over the points that have a time of a kind, of the value with
// which constants give just that time; 0 without points. A time grows with the value.
func middle(points []Point, of int, constants func(float64) cost.Constants) float64 {
	var found []float64
	for i := range points {
		p := &points[i]
		measured := [times]float64{perToken: p.TPOT, toFirst: p.TTFT}[of]
		if measured == 0 {
			continue
		}
		low, high := math.Log(1e-3), math.Log(1e4)
		for range 40 { // halving, in logarithms
			half := (low + high) / 2
			loop := p.predict(constants(math.Exp(half)))
			if [times]float64{perToken: loop.TPOT, toFirst: loop.TTFT}[of] < measured {
				low = half
			} else {
				high = half
			}
		}
		found = append(found, math.Exp((low+high)/2))
	}
	if len(found) == 0 {
		return 0
	}
	return quantile(found, 0.5)
}

// slower makes all times a factor longer.
func slower(c cost.Constants, factor float64) cost.Constants {
	v := c.Vector()
	for i := range v {
		v[i] *= factor
	}
	return cost.FromVector(v)
}

// prompts has another time of steps that carry prompts, as a multiple of that of any
// step per layer.
func prompts(c cost.Constants, of float64) cost.Constants {
	c.PromptS = c.LayerS * of
	return c
}

// alike reports whether points are too few, or too much alike, to tell constants
// apart.
func alike(points []Point) bool {
	return len(points) < fewestPoints || len(loadsOf(points)) < fewestLoads
}

// measured is a number of points in words.
func measured(points int) string {
	if points == 1 {
		return "1 measured point"
	}
	return fmt.Sprintf("%d measured points", points)
}
