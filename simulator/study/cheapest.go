package study

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing"
)

// Candidate is a kind of replica that a plan believes to serve the load, and the
// numbers of it that were or may be simulated.
type Candidate struct {
	Option sizing.Option // as planned
	at     int           // replicas to try next
}

// Bounds of a search for the cheapest cluster.
const (
	mostKinds    = 16  // of replicas, the cheapest by plan
	mostClusters = 200 // that are simulated at all
	waveSize     = 4   // clusters that are simulated at once, on any number of cores
	fewest       = 0.5 // share of the planned replicas to begin with
	mostReplicas = 3   // times the planned ones, and then no more
)

// Cheapest looks for the cheapest cluster that meets the objective of a request in
// simulation: kinds of replicas from a search of plans, each with as few replicas
// as may do and then with more, in order of price. Clusters are tried a few at a
// time, so that the answer does not depend on the number of processors.
//
// try simulates clusters and returns one trial each; it may return fewer when it
// was stopped.
func Cheapest(ctx context.Context, found *sizing.Search, try func(context.Context, []Cluster) ([]reports.Trial, error)) ([]reports.Trial, error) {
	kinds := kindsOf(found)
	var trials []reports.Trial
	for len(trials) < mostClusters {
		wave := nextWave(kinds)
		if len(wave) == 0 {
			return trials, nil
		}
		clusters := make([]Cluster, len(wave))
		for i, k := range wave {
			clusters[i] = Cluster{Option: k.Option, Replicas: k.at}
		}
		got, err := try(ctx, clusters)
		if err != nil {
			return trials, err
		}
		for i, t := range got {
			trials = append(trials, t)
			if t.Meets {
				return trials, nil
			}
			wave[i].advance(t)
		}
		if len(got) < len(wave) {
			return trials, nil
		}
	}
	return trials, nil
}

// Cluster is a number of equal replicas to simulate.
type Cluster struct {
	Option   sizing.Option
	Replicas int
}

// kindsOf are the kinds of replicas that a search found: of each accelerator and
// division of the model the cheapest, with weights as published unless someone asked
// for others.
func kindsOf(found *sizing.Search) []*Candidate {
	type kind struct {
		accelerator        string
		tp, pp, dp, ep     int
		weightDType, cache string
	}
	best := map[kind]int{}
	var kinds []*Candidate
	for _, o := range found.Options {
		if o.USDPerHour <= 0 || len(o.Quality) > 0 {
			continue
		}
		k := kind{o.Accelerator, o.TensorParallel, o.PipelineParallel, o.DataParallel, o.ExpertParallel, o.WeightDType, o.KVDType}
		i, known := best[k]
		switch {
		case !known:
			best[k] = len(kinds)
			kinds = append(kinds, &Candidate{Option: o})
		case cmp.Or(cmp.Compare(o.USDPerHour, kinds[i].Option.USDPerHour), cmp.Compare(kinds[i].Option.MaxRPS, o.MaxRPS)) < 0:
			kinds[i].Option = o
		}
	}
	slices.SortStableFunc(kinds, func(a, b *Candidate) int { return cmp.Compare(a.Option.USDPerHour, b.Option.USDPerHour) })
	kinds = kinds[:min(len(kinds), mostKinds)]
	for _, k := range kinds {
		k.at = max(1, int(math.Ceil(fewest*float64(k.Option.Replicas))))
	}
	return kinds
}

// price is that of the cluster to try next.
func (c *Candidate) price() float64 {
	return c.Option.USDPerHour / float64(c.Option.Replicas) * float64(c.at)
}

// nextWave is the cheapest clusters that are left, at most one of each kind.
func nextWave(kinds []*Candidate) []*Candidate {
	var open []*Candidate
	for _, k := range kinds {
		if k.at <= mostReplicas*k.Option.Replicas {
			open = append(open, k)
		}
	}
	slices.SortStableFunc(open, func(a, b *Candidate) int { return cmp.Compare(a.price(), b.price()) })
	return open[:min(len(open), waveSize)]
}

// advance goes on with more replicas after some were too few. A cluster that
// completed much less than was asked of it needs at least in proportion more.
func (c *Candidate) advance(t reports.Trial) {
	next := c.at + 1
	if t.Completed > 0 && t.Completed < overrun {
		next = max(next, int(float64(c.at)/t.Completed*overrun))
	}
	c.at = next
}

// overrun is the share of the requests that a cluster completes in time below which
// it is certain that it was overrun.
const overrun = 0.9
