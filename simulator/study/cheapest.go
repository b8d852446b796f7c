package study

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing"
)

// Market is what a search for the cheapest cluster chooses from.
type Market struct {
	Found        *sizing.Search // kinds of replicas that plans believe to serve the load
	Accelerators int            // at hand; 0 is as many as it takes
	// Least is the fewest replicas of a kind that may serve the load at all: fewer
	// are not simulated. One, when nil.
	Least func(sizing.Option) int
}

// Cluster is a number of equal replicas to simulate.
type Cluster struct {
	Option   sizing.Option
	Replicas int
}

// Bounds of a search for the cheapest cluster.
const (
	waveSize     = 4 // clusters that are simulated at once, on any number of cores
	mostReplicas = 3 // times the planned ones, and then no more
	// overrun is the share of the requests that a cluster completes in time below
	// which it is certain that it was overrun.
	overrun = 0.9
	// samePrice is how far prices are apart, as a share, that sums of the same
	// numbers may be by rounding.
	samePrice = 1e-9
)

// Cheapest looks for the cheapest cluster that meets the objective of a request in
// simulation, and returns all that it tried. Each kind of replica begins with as many
// as its plan takes, and goes up after a miss, else down by bisection; it is given up
// once no number of it that is left costs less than the cheapest cluster that meets.
// So the answer is the cheapest of all kinds and numbers, up to mostReplicas times the
// planned ones, provided that more replicas of a kind are never worse than fewer.
// Clusters are tried a few at a time, so that the answer does not depend on the number
// of processors.
//
// try simulates clusters and returns one trial each, in their order; it may return
// those of only some when it was stopped, which ends the search.
func Cheapest(ctx context.Context, m Market, try func(context.Context, []Cluster) ([]reports.Trial, error)) ([]reports.Trial, error) {
	kinds := m.kinds()
	best := math.Inf(1) // dollars per hour
	var trials []reports.Trial
	for {
		wave, of := nextWave(kinds, best)
		if len(wave) == 0 {
			return trials, nil
		}
		got, err := try(ctx, wave)
		if err != nil {
			return trials, err
		}
		trials = append(trials, got...)
		if len(got) < len(wave) {
			return trials, nil
		}
		for i, t := range got {
			n := wave[i].Replicas
			if of[i].learn(n, t); t.Meets {
				best = min(best, of[i].price(n))
			}
		}
	}
}

// Planned is the cluster that plans alone would buy: the cheapest by plan that can be
// had.
func (m Market) Planned() (Cluster, bool) {
	for _, k := range m.kinds() {
		if k.planned() <= k.most {
			return Cluster{k.option, k.planned()}, true
		}
	}
	return Cluster{}, false
}

// candidate is a kind of replica, and what is known of how many of it meet the
// objective.
type candidate struct {
	option sizing.Option // as planned
	least  int           // replicas that may serve the load
	most   int           // replicas to try
	misses int           // the most that do not, or are sure not to
	meets  int           // the fewest that do; 0 is unknown
}

// kinds are the kinds of replicas that a search found, cheapest plan first: of each
// accelerator and division of the model the cheapest, with weights as published unless
// someone asked for others.
func (m Market) kinds() []*candidate {
	type kind struct {
		accelerator        string
		tp, pp, dp, ep     int
		weightDType, cache string
	}
	best := map[kind]int{}
	var kinds []*candidate
	for _, o := range m.Found.Options {
		if o.USDPerHour <= 0 || len(o.Quality) > 0 {
			continue
		}
		k := kind{o.Accelerator, o.TensorParallel, o.PipelineParallel, o.DataParallel, o.ExpertParallel, o.WeightDType, o.KVDType}
		i, known := best[k]
		switch {
		case !known:
			best[k] = len(kinds)
			kinds = append(kinds, &candidate{option: o})
		case cmp.Or(cmp.Compare(o.USDPerHour, kinds[i].option.USDPerHour), cmp.Compare(kinds[i].option.MaxRPS, o.MaxRPS)) < 0:
			kinds[i].option = o
		}
	}
	for _, k := range kinds {
		k.least, k.most = 1, mostReplicas*k.planned()
		if m.Accelerators > 0 {
			k.most = min(k.most, m.Accelerators/max(1, k.option.Accelerators/k.planned()))
		}
		if m.Least != nil {
			k.least = min(max(1, m.Least(k.option)), k.planned())
		}
		k.misses = k.least - 1
	}
	slices.SortStableFunc(kinds, func(a, b *candidate) int { return cmp.Compare(a.option.USDPerHour, b.option.USDPerHour) })
	return kinds
}

func (c *candidate) planned() int { return max(1, c.option.Replicas) }

// price is that of a number of replicas, in dollars per hour.
func (c *candidate) price(replicas int) float64 {
	return c.option.USDPerHour / float64(c.planned()) * float64(replicas)
}

// next is the number of replicas to try, false when none is left that may meet the
// objective and costs less than best.
func (c *candidate) next(best float64) (replicas int, left bool) {
	high := c.most
	if c.meets > 0 {
		high = c.meets - 1
	}
	dearest := high // of those that cost less than best
	if !math.IsInf(best, 1) {
		dearest = int(min(float64(high), math.Ceil(best*(1-samePrice)/c.price(1))-1))
	}
	switch {
	case dearest <= c.misses:
		return 0, false
	case c.meets > 0 && dearest == high:
		return (c.misses + c.meets + 1) / 2, true
	case c.meets > 0 || dearest <= c.planned():
		return dearest, true // if it misses, so do all that cost less
	case c.misses < c.planned():
		return c.planned(), true
	}
	return min(2*c.misses-c.planned()+1, dearest), true // one more than planned, then 3, 7, …
}

// learn takes in what a number of replicas did. A cluster that completed much less
// than was asked of it needs at least in proportion more.
func (c *candidate) learn(replicas int, t reports.Trial) {
	if t.Meets {
		if c.meets = replicas; replicas <= c.least {
			c.least, c.misses = 1, 0 // what was said of fewer is not to be trusted
		}
		return
	}
	c.misses = max(c.misses, replicas)
	if t.Completed > 0 && t.Completed < overrun {
		c.misses = max(c.misses, int(float64(replicas)/t.Completed*overrun)-1)
	}
}

// nextWave is the clusters to try next, of those that are left the ones that cost
// least: at most one of each kind, with its candidate beside it.
func nextWave(kinds []*candidate, best float64) (wave []Cluster, of []*candidate) {
	type offer struct {
		kind     *candidate
		replicas int
	}
	var open []offer
	for _, k := range kinds {
		if n, left := k.next(best); left {
			open = append(open, offer{k, n})
		}
	}
	slices.SortStableFunc(open, func(a, b offer) int { return cmp.Compare(a.kind.price(a.replicas), b.kind.price(b.replicas)) })
	for _, o := range open[:min(len(open), waveSize)] {
		wave, of = append(wave, Cluster{o.kind.option, o.replicas}), append(of, o.kind)
	}
	return wave, of
}
