package search

import (
	"fmt"
	"math"
)

// Options bound a search. All must be given.
type Options struct {
	Start     float64 // the first load to try
	Min, Max  float64 // loads beyond which nothing is tried
	Whole     bool    // loads are whole numbers
	Tolerance float64 // width of the answer's interval, as a share of the answer, that is tight enough
	Repeats   int     // runs at each of the two loads next to the limit, at least
	MaxRuns   int     // after which the search ends with what it has
	Seed      uint64  // of the resampling behind the interval
}

// Validate reports the first option that makes no sense.
func (o Options) Validate() error {
	switch {
	case !(o.Min > 0) || !(o.Max >= o.Min) || math.IsInf(o.Max, 0):
		return fmt.Errorf("searching between %g and %g: expected loads above 0, the smaller one first", o.Min, o.Max)
	case !(o.Start >= o.Min && o.Start <= o.Max):
		return fmt.Errorf("searching from %g: expected a load between %g and %g", o.Start, o.Min, o.Max)
	case !(o.Tolerance > 0 && o.Tolerance < 1):
		return fmt.Errorf("searching to a tolerance of %g: expected more than 0 and less than 1", o.Tolerance)
	case o.Repeats < 1 || o.MaxRuns < 1:
		return fmt.Errorf("searching with %d repeats and at most %d runs: expected at least 1 of each", o.Repeats, o.MaxRuns)
	}
	return nil
}

// Step is what to do next: to run at Load, or nothing more.
type Step struct {
	Done bool
	Load float64
	Why  string // in a few words, for people
}

// growth is the factor between loads while nothing is known above or below.
const growth = 2

// tries is how often a load is tried before it is believed that it can not be
// offered: a machine that does other things is late at times.
const tries = 3

// Next decides what follows from the points so far, in any order. The load is
// doubled until the objective is missed and halved until it is met, then the
// gap between the two is halved (in the logarithm) until it is within the
// tolerance; the two loads at its ends are then repeated until the interval of
// the answer is within it too.
func Next(points []Point, o Options) Step {
	if len(points) == 0 {
		return Step{Load: o.Start, Why: "the first load"}
	}
	if len(points) >= o.MaxRuns {
		return Step{Done: true, Why: fmt.Sprintf("%d runs were made, which is the most allowed", len(points))}
	}
	ls := levels(points)
	for _, l := range ls {
		if l.missing && len(l.margins) < tries {
			return Step{Load: l.load, Why: "once more: the load was not offered"}
		}
	}
	holds, misses := bracket(ls)
	switch {
	case misses < 0 && ls[holds].load >= o.Max:
		return repeatEdge(ls[holds], o, "the largest load allowed meets the objective")
	case misses < 0:
		return Step{Load: o.rounded(min(ls[holds].load*growth, o.Max)), Why: "the objective still holds"}
	case holds < 0 && ls[misses].load <= o.Min:
		return repeatEdge(ls[misses], o, "not even the smallest load meets the objective")
	case holds < 0:
		return Step{Load: o.rounded(max(ls[misses].load/growth, o.Min)), Why: "the objective is missed so far"}
	}
	low, high := ls[holds], ls[misses]
	if middle := o.rounded(math.Sqrt(low.load * high.load)); high.load/low.load > 1+o.Tolerance && middle > low.load && middle < high.load {
		return Step{Load: middle, Why: "between the largest load that holds and the smallest that does not"}
	}
	return o.repeat(points, low, high)
}

// repeat asks for one more run at an end of the bracket, until there are enough
// of them and the interval is tight.
func (o Options) repeat(points []Point, low, high level) Step {
	fewest := low
	if len(high.margins) < len(low.margins) {
		fewest = high
	}
	if len(fewest.margins) < o.Repeats {
		return Step{Load: fewest.load, Why: fmt.Sprintf("repeat %d of %d next to the limit", len(fewest.margins)+1, o.Repeats)}
	}
	limit, _ := Find(points, o.Seed)
	if width := (limit.High - limit.Low) / limit.Load; width > widest*o.Tolerance && !o.Whole {
		return Step{Load: fewest.load, Why: fmt.Sprintf("one more: the interval is %.0f %% wide, and %.0f %% is wanted", 100*width, 100*o.Tolerance)}
	}
	return Step{Done: true, Why: "the interval is tight enough"}
}

// repeatEdge repeats a load that ends the search on its own.
func repeatEdge(l level, o Options, why string) Step {
	if len(l.margins) < o.Repeats {
		return Step{Load: l.load, Why: why}
	}
	return Step{Done: true, Why: why}
}

// widest is the width of an interval that is tight enough, in tolerances: the
// bracket alone is one wide.
const widest = 2

func (o Options) rounded(load float64) float64 {
	if o.Whole {
		return math.Round(load)
	}
	if load <= o.Min || load >= o.Max {
		return min(max(load, o.Min), o.Max) // the bounds are as someone gave them
	}
	return min(max(threeDigits(load), o.Min), o.Max)
}

// threeDigits rounds a load to what people say, compare and type again.
func threeDigits(load float64) float64 {
	scale := math.Pow(10, 2-math.Floor(math.Log10(load)))
	return math.Round(load*scale) / scale
}
