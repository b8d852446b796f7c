package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator/study"
	"github.com/llmctl/llmctl/sizing"
)

// cheapestRepeats is how often each cluster is simulated when nobody says.
const cheapestRepeats = 3

// runCheapest searches the cheapest cluster that meets the objective: plans first,
// then simulations of the cheapest of them.
func (sim *simulation) runCheapest(ctx context.Context, c *course) error {
	search := sizing.SearchRequest{Request: sim.request.Sizing}
	search.Accelerators, _ = (&searchFlags{}).accelerators(search.Scenario.Accelerator)
	search.Scenario.Cluster.Replicas, search.Count = 0, 0
	if search.Scenario.Workload.Arrival.RatePerS == 0 {
		return usagef("--optimize cost looks for the cheapest cluster at a rate; give one with --rps")
	}
	found, err := sim.plans(ctx, c, search)
	if c.stop.used() {
		return sim.showCheapest(&reports.Optimum{
			Schema: reports.OptimumSchema, Trials: []reports.Trial{}, Environment: sim.request.Run.Environment, Warnings: []record.Warning{}, Interrupted: true,
			Asked: "the cheapest cluster at " + search.Scenario.Workload.Arrival.Words() + ", of which nothing was simulated yet",
		})
	}
	if err != nil {
		return err
	}
	if len(found.Options) > 0 && len(found.PerKind) == 0 {
		return usagef("--optimize cost compares prices, and none is known of %s; give one with --price", strings.Join(found.Inputs.Accelerators, ", "))
	}
	o := &reports.Optimum{
		Schema: reports.OptimumSchema, Trials: []reports.Trial{}, Environment: sim.request.Run.Environment, Warnings: []record.Warning{},
		Asked: "the cheapest cluster that meets " + objectives(sim.slos(found)) + " at " + search.Scenario.Workload.Arrival.Words(),
	}
	if n := sim.request.Sizing.Count; n > 0 {
		o.Asked += fmt.Sprintf(", with --count %d", n)
	}
	t := &clusterTrials{sim: sim, course: c, search: search, view: sim.newBatchView(c, 0), optimum: o, warnings: map[clusterKey][]record.Warning{}}
	market := study.Market{
		Found: found, Accelerators: sim.request.Sizing.Count,
		Least: func(o sizing.Option) int { return study.Least(search.For(o.Configuration), found.Inputs.RPS) },
	}
	sim.request.Run.SLO = study.SLOs(sim.slos(found))
	o.Trials, err = study.Cheapest(ctx, market, t.try)
	t.view.close()
	if err != nil {
		return err
	}
	if o.Trials == nil {
		o.Trials = []reports.Trial{}
	}
	if o.Interrupted = c.stop.used(); c.late.Load() {
		o.Ended = fmt.Sprintf("%s of this machine's time were over (--max-time)", c.longest)
	}
	plan, _ := market.Planned()
	o.Settle(plan.Option.Configuration, plan.Replicas)
	t.warn(found)
	return sim.showCheapest(o)
}

// showCheapest prints what was found, or tried until the user stopped it.
func (sim *simulation) showCheapest(o *reports.Optimum) error {
	if err := sim.flags.output.writeForms(sim.io, o, forms{
		table: func() error {
			return reports.WriteOptimum(sim.io.Out, o, reports.TextOptions{Color: sim.io.Color, Width: min(sim.io.Width, 100)})
		},
		csv:      func() error { return reports.OptimumTable(o).WriteCSV(sim.io.Out) },
		markdown: func() error { return reports.WriteOptimumMarkdown(sim.io.Out, o) },
	}); err != nil {
		return err
	}
	switch {
	case o.Interrupted:
		return silent(exitInterrupted)
	case !o.Feasible:
		return silent(exitNotHeld)
	}
	return nil
}

// plans searches in closed form.
func (sim *simulation) plans(ctx context.Context, c *course, r sizing.SearchRequest) (*sizing.Search, error) {
	ctx, release := c.stop.cancels(ctx)
	defer release()
	p := newProgress(sim.io, time.Now)
	found, err := sizing.Explore(ctx, r, func(done, all int) {
		if sim.screen.kind() != "none" {
			p.say("planning: %d%%", done*100/all)
		}
	})
	p.clear()
	return found, usage(err)
}

// slos are the objectives that clusters are judged by: a default one that nothing
// meets is raised as the plans raised it.
func (sim *simulation) slos(found *sizing.Search) []profiles.SLO {
	sc := sim.request.Sizing.Scenario
	if in := found.Inputs.SLO; len(sc.SLO) == 0 {
		return []profiles.SLO{{
			TTFT: time.Duration(in.TTFT * 1e9), TPOT: time.Duration(in.TPOT * 1e9), E2E: time.Duration(in.E2E * 1e9), Attainment: in.Attainment,
		}}
	}
	return sc.SLO
}

// clusterTrials simulates clusters, each with several seeds.
type clusterTrials struct {
	sim     *simulation
	course  *course
	search  sizing.SearchRequest
	view    *batchView
	optimum *reports.Optimum

	warnings map[clusterKey][]record.Warning // of each cluster that was simulated
}

// clusterKey names a cluster.
type clusterKey struct {
	configuration sizing.Configuration
	replicas      int
}

// warn says what there is to know of the answer, and of an objective that was raised
// for all.
func (t *clusterTrials) warn(found *sizing.Search) {
	for _, w := range found.Warnings {
		if w.Code == "default-slo" {
			t.optimum.Warnings = append(t.optimum.Warnings, record.Warning{Code: w.Code, Text: w.Text})
		}
	}
	if c := t.optimum.Cheapest; c != nil {
		t.optimum.Warnings = append(t.optimum.Warnings, t.warnings[clusterKey{c.Configuration, c.Replicas}]...)
	}
}

// try simulates each cluster with its first seed, and those that may do with the
// others.
func (t *clusterTrials) try(ctx context.Context, clusters []study.Cluster) ([]reports.Trial, error) {
	studies := make([]*study.Study, len(clusters))
	for i, cluster := range clusters {
		r := t.sim.request
		r.Sizing = t.search.For(cluster.Option.Configuration)
		r.Sizing.Scenario.Cluster.Replicas = cluster.Replicas
		st, err := t.sim.study(r)
		if err != nil {
			return nil, err
		}
		studies[i] = st.Unjudged()
		run, err := studies[i].Facts(t.sim.flags.seed)
		if err != nil {
			return nil, err
		}
		t.warnings[clusterKey{cluster.Option.Configuration, cluster.Replicas}] = run.Warnings
	}
	if t.optimum.Scenario == nil {
		run, err := studies[0].Facts(t.sim.flags.seed)
		if err != nil {
			return nil, err
		}
		t.optimum.Scenario = run.Scenario
		t.optimum.Defaults = slices.DeleteFunc(run.Defaults, func(d record.Default) bool { return d.Name == "price" }) // each has its own
	}
	runs := make([][]*reports.Report, len(clusters))
	if err := t.simulate(ctx, studies, runs, 0, 1, func(int) bool { return true }); err != nil {
		return nil, err
	}
	if t.course.over() {
		return t.settled(clusters, runs), nil
	}
	promising := func(i int) bool { return reports.NewTrial(clusters[i].Option, 1, runs[i]).Meets }
	var wanted []bool
	for i := range clusters {
		wanted = append(wanted, promising(i))
	}
	err := t.simulate(ctx, studies, runs, 1, t.sim.flags.repeat, func(i int) bool { return wanted[i] })
	if err != nil {
		return nil, err
	}
	if t.course.over() {
		return t.settled(clusters, runs), nil
	}
	trials := make([]reports.Trial, len(clusters))
	for i, cluster := range clusters {
		trials[i] = reports.NewTrial(cluster.Option, cluster.Replicas, runs[i])
	}
	return trials, nil
}

// aborted reports whether a run did not come to its end by itself.
func aborted(r *reports.Report) bool {
	return slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == record.Aborted })
}

// settled are the trials of the clusters that were judged when the search was stopped:
// those of which every seed was simulated, or whose first one did not do.
func (t *clusterTrials) settled(clusters []study.Cluster, runs [][]*reports.Report) (trials []reports.Trial) {
	for i, cluster := range clusters {
		cut := slices.ContainsFunc(runs[i], func(r *reports.Report) bool { return r == nil || r.Interrupted || t.course.late.Load() && aborted(r) })
		if cut || len(runs[i]) == 0 {
			continue
		}
		trial := reports.NewTrial(cluster.Option, cluster.Replicas, runs[i])
		if len(runs[i]) == t.sim.flags.repeat || !trial.Meets {
			trials = append(trials, trial)
		}
	}
	return trials
}

// simulate adds the runs of the seeds from ≤ seed < to of the wanted clusters.
func (t *clusterTrials) simulate(ctx context.Context, studies []*study.Study, runs [][]*reports.Report, from, to int, wanted func(int) bool) error {
	var batch []study.Variant
	var of []int
	for i, st := range studies {
		for seed := from; seed < to && wanted(i); seed++ {
			batch = append(batch, study.Variant{Study: st, Seed: t.sim.flags.seed + uint64(seed), Taps: t.view.taps(st, nil)})
			of = append(of, i)
		}
	}
	all, err := study.All(ctx, batch, t.view.done)
	if err != nil {
		return err
	}
	for n, r := range all {
		runs[of[n]] = append(runs[of[n]], r)
	}
	return nil
}
