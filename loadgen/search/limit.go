package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/llmctl/llmctl/reports/stats"
)

// Limit is the largest load that meets the objective.
type Limit struct {
	Load      float64 // where the attainment crosses its target
	Low, High float64 // 95 % interval, see Find; or the bracket
	Holds     float64 // the largest load tried that met the objective
	Misses    float64 // the smallest load tried above it that did not; 0 when every load held
	// AtLeast means that no load tried missed the objective, so that Load is the
	// largest of them and the limit lies above.
	AtLeast bool
	// NotOffered means that the search ended at a load that could not be offered,
	// not at one that the target could not serve: the limit lies above.
	NotOffered bool
	// Bracket means that Low and High are Holds and Misses, since one of the two
	// was measured only once, of which no interval can be told.
	Bracket bool
}

// resamples is the number of draws behind an interval.
const resamples = 500

// Find estimates the limit from all runs of a search; ok is false when no load
// met the objective. The interval holds the bracket and the middle 95 % of the
// limits of resampled searches: of each load as many of its runs are drawn as it
// had, and of each run as many good requests as a binomial of its attainment gives. Requests of
// one run depend on each other, which only repeats can show: with a single run on
// one side of the limit it is told as lying between the two loads.
func Find(points []Point, seed uint64) (limit Limit, ok bool) {
	ls := levels(points)
	holds, misses := bracket(ls)
	if holds < 0 {
		return Limit{}, false
	}
	limit.Holds = ls[holds].load
	if misses < 0 {
		limit.Load, limit.Low, limit.High, limit.AtLeast = limit.Holds, limit.Holds, limit.Holds, true
		return limit, true
	}
	limit.Misses = ls[misses].load
	limit.NotOffered = ls[misses].missing
	limit.Load = crossing(ls[holds], ls[misses])
	if min(len(ls[holds].margins), len(ls[misses].margins)) < 2 {
		limit.Low, limit.High, limit.Bracket = limit.Holds, limit.Misses, true
		return limit, true
	}
	r := rand.New(rand.NewPCG(seed, 0x5ea4c4))
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, byLoad)
	sorted = believed(sorted)
	again := make([]level, len(ls)) // the same loads with other margins
	draws := make([]float64, resamples)
	for k := range draws {
		at := 0
		for i, l := range ls {
			n := len(l.margins)
			again[i].load = l.load
			again[i].margins = again[i].margins[:0]
			for range n {
				p := sorted[at+r.IntN(n)]
				p.Attainment = binomialShare(p.Attainment, p.Counted, r)
				again[i].margins = append(again[i].margins, p.margin())
			}
			at += n
		}
		fit(again)
		switch low, high := bracket(again); {
		case low < 0:
			draws[k] = again[0].load
		case high < 0:
			draws[k] = again[low].load
		default:
			draws[k] = crossing(again[low], again[high])
		}
	}
	slices.Sort(draws)
	limit.Low = min(stats.Percentile(draws, 2.5), limit.Holds)
	limit.High = max(stats.Percentile(draws, 97.5), limit.Misses)
	return limit, true
}

// binomialShare draws the share of n trials that succeed with chance p. Beyond
// the sizes where the normal limit is poor it is drawn from that limit.
func binomialShare(p float64, n int, r *rand.Rand) float64 {
	if n == 0 || p <= 0 || p >= 1 {
		return p
	}
	if mean := float64(n) * min(p, 1-p); mean > 20 {
		return min(max(p+r.NormFloat64()*math.Sqrt(p*(1-p)/float64(n)), 0), 1)
	}
	// Count the rarer outcome by the gaps between its occurrences, which takes
	// as many draws as there are occurrences.
	rare := min(p, 1-p)
	scale := -1 / math.Log1p(-rare)
	count, at := 0, 0
	for {
		at += 1 + int(r.ExpFloat64()*scale)
		if at > n {
			break
		}
		count++
	}
	share := float64(count) / float64(n)
	if p > 0.5 {
		share = 1 - share
	}
	return share
}
