package search

import (
	"cmp"
	"math"
	"slices"
)

// Point is one run at one load.
type Point struct {
	Load float64 // requests per second offered, or requests in flight
	// Attainment is the share of requests that met the objective, and Target the
	// share that should: of several objectives, those of the one that is missed
	// the most.
	Attainment, Target float64
	Counted            int // requests that were judged
	// NotOffered means that the run says nothing about the target, because the
	// load did not reach it: the client was late, or nothing was due. It counts
	// where no run at its load or a larger one was offered either.
	NotOffered bool
}

func byLoad(a, b Point) int { return cmp.Compare(a.Load, b.Load) }

// margin is how far a run is from its objective: attainment − target. It is
// negative where the objective is missed, and at a load that could not be
// offered, which bounds a search as well.
func (p Point) margin() float64 {
	if p.NotOffered {
		return -p.Target
	}
	return p.Attainment - p.Target
}

// level is all runs at one load.
type level struct {
	load    float64
	margins []float64
	missing bool    // no run was offered
	fitted  float64 // margin that does not rise with the load
}

// levels groups points by load, ascending, and fits a margin that never rises
// with the load: more load does not make a server faster, so whatever says so
// is noise. The fit is the least-squares one (pool adjacent violators: Barlow,
// Bartholomew, Bremner and Brunk 1972), weighted by the number of runs.
func levels(points []Point) []level {
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, byLoad)
	var out []level
	for _, p := range believed(sorted) {
		if len(out) == 0 || out[len(out)-1].load != p.Load {
			out = append(out, level{load: p.Load, missing: p.NotOffered})
		}
		last := &out[len(out)-1]
		last.margins = append(last.margins, p.margin())
	}
	fit(out)
	return out
}

// believed leaves out, of points in order of their loads, the runs at a load that
// was not offered, where the same load or a larger one could be offered another
// time: the client was disturbed.
func believed(sorted []Point) []Point {
	largest := math.Inf(-1)
	for _, p := range sorted {
		if !p.NotOffered {
			largest = p.Load
		}
	}
	return slices.DeleteFunc(slices.Clone(sorted), func(p Point) bool { return p.NotOffered && p.Load <= largest })
}

func fit(ls []level) {
	type block struct {
		sum, weight float64
		n           int // levels
	}
	blocks := make([]block, 0, 64)
	for _, l := range ls {
		b := block{n: 1}
		for _, m := range l.margins {
			b.sum += m
			b.weight++
		}
		blocks = append(blocks, b)
		for k := len(blocks) - 1; k > 0 && blocks[k].sum/blocks[k].weight > blocks[k-1].sum/blocks[k-1].weight; k-- {
			blocks[k-1].sum += blocks[k].sum
			blocks[k-1].weight += blocks[k].weight
			blocks[k-1].n += blocks[k].n
			blocks = blocks[:k]
		}
	}
	i := 0
	for _, b := range blocks {
		for range b.n {
			ls[i].fitted = b.sum / b.weight
			i++
		}
	}
}

// bracket is the largest load that meets the objective and the smallest above
// it that does not, by the fit; −1 where there is none.
func bracket(ls []level) (holds, misses int) {
	holds, misses = -1, -1
	for i, l := range ls {
		if l.fitted >= 0 {
			holds = i
		} else if misses < 0 {
			misses = i
		}
	}
	return holds, misses
}

// crossing is the load at which the fitted margin is 0, between the two loads of
// the bracket: linear in the margin over the logarithm of the load.
func crossing(low, high level) float64 {
	span := low.fitted - high.fitted
	if span <= 0 {
		return low.load
	}
	return low.load * math.Pow(high.load/low.load, low.fitted/span)
}
