package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/request"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// experimentSharedPrefix runs the workload twice, with its shared prefixes and
// with as many tokens that nobody shares.
const (
	experimentSharedPrefix = "shared-prefix"
	experimentUnique       = "unique" // its other half
)

// defaultConcurrency loads an endpoint of unknown speed when no rate is given: a
// closed loop can not overrun it.
const defaultConcurrency = 4

// bench is one resolved call of the command.
type bench struct {
	io    *iostreams.IO
	id    string // unique; salts the prompts, so that no run finds another one's in a cache
	flags *benchFlags

	scenario    profiles.Scenario
	sloGiven    bool
	defaults    defaults
	headers     http.Header
	maxFailures float64
	asserts     []string
	requests    int // of this shard, when a number of them bounds the run
	cost        record.Cost
	lengths     request.Lengths  // of prompts at the target
	warnings    []record.Warning // found before the run
	live        *livePage        // nil unless asked for

	shared *view // of the curve that this run is a part of; nil for a run on its own
}

// bundled reports whether the target is the stack that bench starts itself.
func (b *bench) bundled() bool { return b.flags.endpoint == "" }

// complete fills in the scenario's defaults and checks what can be checked
// before anything is started.
func (b *bench) complete(sc profiles.Scenario, cmd *cobra.Command) error {
	name := "chat"
	if b.bundled() {
		name = builtinModel
		if sc.Model == "" {
			sc.Model = builtinModel
			b.assume("model", builtinModel, "--model")
		}
		accelerator, isModeled := strings.CutPrefix(b.flags.engine.device, deviceModeled)
		switch {
		case isModeled:
			sc.Accelerator = cmp.Or(sc.Accelerator, accelerator)
		case sc.Model != builtinModel:
			return fmt.Errorf("the bundled engine serves %s only; name a server of %q with --endpoint, or let --device %sACCELERATOR serve it modeled", builtinModel, sc.Model, deviceModeled)
		}
		if sc.Model != builtinModel {
			name = "chat"
		}
		if !isModeled { // what calibrate and compare need to know
			sc.Accelerator, sc.Engine = cmp.Or(sc.Accelerator, profiles.CPU), cmp.Or(sc.Engine, profiles.BundledEngine)
		}
	}
	standard, err := profiles.LoadWorkloadProfile(name)
	if err != nil {
		return err
	}
	b.completeWorkload(&sc, standard.Workload)
	sc.SLO, b.sloGiven = b.defaults.slo(sc)
	b.scenario = sc
	b.completeWarmup(cmd.Flags().Changed("warmup"))
	if lasts := b.lasts(); lasts > 0 && !cmd.Flags().Changed("duration") {
		b.assume("duration", lasts.String(), "--duration")
	}
	if err := sc.Workload.Validate(); err != nil {
		return err
	}
	if a := sc.Workload.Arrival; a.Process.Takes("rate") && a.RatePerS == 0 {
		return fmt.Errorf("%s arrivals need a rate; give one with --rps", a.Process)
	}
	if err := checkClasses(sc); err != nil {
		return err
	}
	if sc.Experiment == experimentSharedPrefix && sc.Workload.Prefix.Groups == 0 {
		return fmt.Errorf("the shared-prefix experiment needs a workload with shared prefixes, e.g. --prefix groups=4,tokens=256")
	}
	if err := b.divide(); err != nil {
		return err
	}
	if err := b.flags.prompts.checkWorkload(&sc.Workload, client.API(b.flags.api), b.bundled()); err != nil {
		return err
	}
	return b.price(sc)
}

// completeWarmup says how long the warm-up is. Arrivals that have a shape in time
// have none unless someone asks for it: it would take their beginning away, and a
// trace may be shorter than any.
func (b *bench) completeWarmup(given bool) {
	if given {
		return
	}
	switch b.scenario.Workload.Arrival.Process {
	case profiles.TraceArrival, profiles.Ramp, profiles.Steps:
		b.flags.warmup = 0
	}
	b.assume("warm-up", b.flags.warmup.String(), "--warmup")
}

// warnOfServing says that what a scenario has of its engines and its cluster sets up
// nothing here.
func (b *bench) warnOfServing() {
	var parts []string
	if !b.scenario.Serving.IsZero() {
		parts = append(parts, "serving")
	}
	if !b.scenario.Cluster.IsZero() {
		parts = append(parts, "cluster")
	}
	if len(b.scenario.Compare) > 0 {
		parts = append(parts, "compare")
	}
	if len(parts) > 0 {
		b.warn("not_set_up", "bench measures the target as it is: %s of the scenario describe what llmctl simulate runs", strings.Join(parts, ", "))
	}
}

func (b *bench) assume(name, value, flag string) { b.defaults.assume(name, value, flag) }

func (b *bench) completeWorkload(sc *profiles.Scenario, standard profiles.Workload) {
	w := &sc.Workload
	if w.Trace != (profiles.Trace{}) {
		b.defaults.trace(w)
		return
	}
	if b.defaults.workload(w, standard) {
		return
	}
	if standard.Arrival.RatePerS == 0 && w.Arrival.Process != profiles.Poisson && w.Arrival.Process != "" {
		return // a process that someone asked for: its rate has no default
	}
	if standard.Arrival.RatePerS == 0 {
		w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: defaultConcurrency}
		b.assume("concurrency", fmt.Sprint(defaultConcurrency), "--concurrency or --rps")
		return
	}
	w.Arrival.RatePerS = standard.Arrival.RatePerS
	b.assume("rate", fmt.Sprintf("%g/s", w.Arrival.RatePerS), "--rps")
}

// price is what the target's hardware costs, when that can be known.
func (b *bench) price(sc profiles.Scenario) error {
	usd, source := sc.Price.USDPerAcceleratorHour, "as given"
	if sc.Accelerator != "" {
		device, err := profiles.LoadAccelerator(sc.Accelerator)
		if err != nil {
			return err
		}
		if usd == 0 {
			usd, source = device.USDPerHour, strings.TrimSpace(device.PriceSource+" "+device.PriceDate)
		}
	}
	b.cost = record.Cost{USDPerHour: usd * float64(b.flags.count), Source: source}
	if b.cost.USDPerHour == 0 {
		b.cost.Source = ""
	}
	return nil
}

// stream is a shard's part of the workload's requests.
func (b *bench) stream(unique bool, shard workShare) (*workload.Stream, error) {
	recorded, err := b.recorded()
	if err != nil {
		return nil, err
	}
	return workload.New(b.scenario.Workload, workload.Options{
		Seed: b.flags.seed, UniquePrefixes: unique, Recorded: recorded, Shard: shard.i, Shards: shard.n,
	})
}

// asked says in one line what the run does.
func (b *bench) asked() string {
	w := b.scenario.Workload
	length := b.lasts().String()
	switch {
	case b.flags.requests > 0:
		length = fmt.Sprintf("%d requests", b.flags.requests)
	case b.lasts() == 0:
		length = "as long as the trace"
	}
	if w.Trace.File != "" {
		return fmt.Sprintf("requests of %s, %s for %s", w.Trace.File, w.Arrival.Words(), length)
	}
	return fmt.Sprintf("%s, %s for %s; %s%s", w.Name, w.Arrival.Words(), length, w.RequestWords(), b.apiText())
}

// apiText names the dialect, unless it is the usual one.
func (b *bench) apiText() string {
	if b.flags.api == string(client.Chat) {
		return ""
	}
	return "; by " + b.flags.api
}

// setup is what shapes the requests of a run beside its scenario. Runs that are to
// be put together must agree on it.
func (b *bench) setup() string {
	f := b.flags
	length := b.lasts().String()
	if f.requests > 0 {
		length = fmt.Sprintf("%d requests", f.requests) // of all shards together
	}
	parts := []string{
		fmt.Sprintf("seed %d", f.seed), "api " + f.api, "length " + length, "warm-up " + f.warmup.String(), "drain " + f.drain.String(),
		fmt.Sprintf("exact output %v", f.ignoreEOS), fmt.Sprintf("cap %d", f.maxInFlight), fmt.Sprintf("retries %d", f.client.retries),
	}
	if f.prompts.extra != "" {
		parts = append(parts, "extra body "+f.prompts.extra)
	}
	if f.prompts.cacheSalt {
		parts = append(parts, "cache salt")
	}
	if f.trace.start > 0 || f.trace.duration > 0 {
		parts = append(parts, fmt.Sprintf("trace from %s for %s", f.trace.start, f.trace.duration))
	}
	return strings.Join(parts, ", ")
}

// askedRPS is the rate that this shard should offer; 0 where none lasts.
func (b *bench) askedRPS() float64 {
	switch a := b.scenario.Workload.Arrival; a.Process {
	case profiles.Constant, profiles.Poisson, profiles.Gamma:
		return a.RatePerS / float64(max(1, b.flags.phases.shard.n))
	}
	return 0
}

// facts adds to a run what the caller of the load generator knows about it.
func (b *bench) facts(run *record.Run, v variant, t target) error {
	scenario, err := json.Marshal(b.scenario)
	if err != nil {
		return fmt.Errorf("encoding the scenario: %w", err)
	}
	run.Kind = "bench"
	run.ID = v.id
	run.Scenario = scenario
	run.Target = record.Target{Endpoint: client.PublicEndpoint(t.endpoint), Endpoints: b.flags.client.public(), Model: t.model, Bundled: t.bundled, Device: t.device}
	run.Environment = environment(run.Environment.Start)
	run.Asked = b.asked() + "; " + b.lengths.String()
	run.AskedRPS = b.askedRPS()
	run.Setup = b.setup()
	run.Defaults = b.defaults
	run.SLODefault = !b.sloGiven
	run.SLO = nil
	for _, o := range b.scenario.SLO {
		run.SLO = append(run.SLO, record.SLO{Class: o.Class, TTFT: o.TTFT, TPOT: o.TPOT, E2E: o.E2E, TTFO: o.TTFO, Attainment: o.Attainment})
	}
	run.Cost = b.cost
	run.Warnings = append(slices.Clone(b.warnings), run.Warnings...)
	run.Client.MaxLag = b.flags.maxLag
	run.MaxFailures = b.maxFailures
	run.Asserts = b.asserts
	return nil
}
