package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/buildinfo"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator/study"
	"github.com/llmctl/llmctl/sizing"
)

func newSimulate(s *iostreams.IO) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:     "simulate",
		Aliases: []string{"sim"},
		Short:   "Simulate a deployment: queues, tails, cache hits, failures",
		Long: `Simulate a deployment in virtual time: the scheduler and the block manager of
the bundled engine and the policies of the gateway, with steps that last as long as
the cost model of size says. Everything that is not said has a default, and each
default is printed with the flag that changes it. Without --replicas the cluster is
the one that size plans for the load; without a load, the load is the one that size
recommends for one replica.

The same scenario and seed give the same result on any machine. Ctrl-C once ends
sending and reports what was simulated; twice cuts what is in flight, too.`,
		Example: `  llmctl simulate --model llama-3.1-8b --rps 200
  llmctl simulate --model llama-3.1-8b --concurrency 64 --isl 1024 --osl 512
  llmctl simulate --model llama-3.1-8b --rps 20 --replicas 2 --repeat 5
  llmctl simulate --model llama-3.1-8b --replicas 2 --find-goodput
  llmctl simulate --model llama-3.1-8b --replicas 1 --sweep rate=1..32
  llmctl simulate --model llama-3.1-8b --rps 20 --compare replicas=2,3,4
  llmctl simulate --model llama-3.1-8b --rps 20 --optimize cost`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sim, err := f.resolve(cmd, s)
			if err != nil {
				return usage(err)
			}
			return sim.tellInfeasible(sim.run(cmd.Context()))
		},
	}
	f.add(cmd)
	return cmd
}

// simulateFlags are what simulate was asked.
type simulateFlags struct {
	scenario scenarioFlags
	trace    traceFlags
	output   outputFlag
	sizes    memoryFlags
	curve    curveFlags
	request  sizing.Request
	length   study.Length
	variants variantFlags
	steps    stepsFlag

	repeat                int
	seed                  uint64
	save, maxFailures, ui string
	asserts               []string
	quiet, noAbort        bool
	maxTime               time.Duration
	optimize              string
}

// simulateGroups are the headings of the help.
var simulateGroups = []flagGroup{
	{"What is simulated", []string{"model", "accelerator", "gpu", "engine", "tp", "pp", "ep", "dp", "file", "count", "accelerator-memory", "calibration"}},
	{"Load and objective", []string{
		"rps", "concurrency", "users", "concurrency-ramp", "arrival", "workload", "isl", "osl", "prefix", "turns", "think", "cancel", "trace", "trace-format", "trace-speed",
		"trace-strict", "trace-start", "trace-duration", "slo", "experiment",
	}},
	{"Engine settings", flagsOf(slices.Concat(engineSettings, schedulingSettings))},
	{"Cluster", flagsOf(clusterSettings)},
	{"Length and chance", []string{"duration", "requests", "warmup", "drain", "seed", "repeat", "no-abort", "max-time"}},
	{"Several simulations", []string{"sweep", "find-goodput", "search-max", "search-tolerance", "search-repeats", "search-runs", "optimize", "compare"}},
	{"Result", []string{"output", "save", "trace-out", "assert", "max-failures", "price", "ui", "quiet"}},
	{"Other", nil},
}

func (f *simulateFlags) add(cmd *cobra.Command) {
	f.scenario.add(cmd)
	f.trace.add(cmd)
	f.output.add(cmd, "csv", "markdown")
	f.sizes.add(cmd)
	f.curve.add(cmd)
	f.variants.add(cmd)
	f.steps.add(cmd)
	addEngineSettings(cmd, &f.request)
	flags := cmd.Flags()
	countVar(flags, &f.request.Count, "count", "accelerators at hand, which make as many replicas as fit")
	flags.DurationVar(&f.length.Duration, "duration", 0, "virtual time that is measured (default: as long as 5000 requests take to come, at least 2m)")
	countVar(flags, &f.length.Requests, "requests", "measure this many requests in place of a duration (default in a closed loop: 5000, or 20 for each in flight)")
	flags.DurationVar(&f.length.Warmup, "warmup", 0, "virtual time before it in which requests do not count (default: a twentieth of the duration, at least 30s and at most 10m, and twice the ramp of clients; none for a trace, a ramp, steps, or more than is served)")
	flags.DurationVar(&f.length.Drain, "drain", 10*time.Minute, "virtual time that requests in flight have to end after sending has")
	seedVar(flags, &f.seed, 1, "seed of all that is left to chance")
	flags.IntVar(&f.repeat, "repeat", 1, "simulate this many times, with seeds from --seed on, and tell the 95% interval of each number")
	flags.BoolVar(&f.noAbort, "no-abort", false, "simulate a load to its end that is more than twice of what the cluster serves, or has more requests in flight than fit")
	flags.DurationVar(&f.maxTime, "max-time", 0, "end after this much time of this machine, and report what was simulated (default: never)")
	flags.StringVar(&f.optimize, "optimize", "", "rate finds the largest rate that the cluster serves within the objective, cost the cheapest cluster that serves the rate so")
	flags.StringVar(&f.save, "save", "", "folder to keep the run in; must not hold one yet")
	flags.StringArrayVar(&f.asserts, "assert", nil, "condition that must hold, e.g. 'p99(ttft) < 800ms'; repeatable")
	flags.StringVar(&f.maxFailures, "max-failures", "1%", "share of failed requests above which the run is not trusted")
	flags.StringVar(&f.ui, "ui", "auto", "progress: auto, tui, plain or none")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	_ = cmd.RegisterFlagCompletionFunc("optimize", cobra.FixedCompletions([]string{"rate", "cost"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	groupFlags(cmd, simulateGroups)
}

// simulation is one resolved call of the command.
type simulation struct {
	io       *iostreams.IO
	flags    *simulateFlags
	request  study.Request
	sloGiven bool
	screen   screen
}

// resolve reads all that was said; its errors are mistakes of the caller.
func (f *simulateFlags) resolve(cmd *cobra.Command, s *iostreams.IO) (*simulation, error) {
	sizing.Preload()
	if err := f.steps.check(cmd, &f.scenario); err != nil {
		return nil, err
	}
	sc, err := f.scenario.resolve(cmd, s)
	if err != nil {
		return nil, err
	}
	var unused []string
	if f.curve.find || f.optimize == "rate" {
		unused = []string{"repeat"} // a search decides what to repeat
	}
	if err := applyRun(cmd.Flags(), &sc.Run, unused...); err != nil {
		return nil, err
	}
	if !cmd.Flags().Changed("warmup") {
		f.length.Warmup = -1 // by the length
	}
	sim := &simulation{io: s, flags: f, screen: screen{s, f.ui, f.quiet}}
	sim.request.Sizing = f.request
	for _, check := range []func() error{
		func() error { return f.checkGiven(cmd, sc) },
		f.checkNumbers,
		func() error { return f.checkSeveral(cmd, &sc) },
		func() error { return f.trace.check(cmd, sc.Workload) },
		func() error { return sim.complete(sc) },
		func() error { return f.sizes.apply(cmd, &sim.request.Sizing) },
		func() error { return sim.files() },
		func() error { return sim.facts() },
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if !cmd.Flags().Changed("seed") {
		sim.assume("seed", fmt.Sprint(f.seed), "--seed")
	}
	if !cmd.Flags().Changed("repeat") {
		sim.chooseRepeats()
	}
	return sim, nil
}

// chooseRepeats is how often each variant or cluster is simulated when nobody says.
func (sim *simulation) chooseRepeats() {
	f := sim.flags
	switch {
	case f.variants.wanted():
		f.repeat = variantRepeats
	case f.optimize == "cost":
		f.repeat = cheapestRepeats
	default:
		return
	}
	sim.assume("repeat", fmt.Sprint(f.repeat), "--repeat")
}

// assume notes what nobody said and yet shapes the answer.
func (sim *simulation) assume(name, value, flag string) {
	all := &sim.request.Run.Defaults
	*all = append(slices.Clip(*all), record.Default{Name: name, Value: value, Flag: flag})
}

// checkGiven refuses flags that are empty, missing or contradict each other.
func (f *simulateFlags) checkGiven(cmd *cobra.Command, sc profiles.Scenario) error {
	given := cmd.Flags().Changed
	for _, name := range []string{"save", "model"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return fmt.Errorf("--%s is empty; leave it out, or is a variable not set?", name)
		}
	}
	switch {
	case sc.Model == "":
		return errors.New("--model is missing, expected a name such as llama-3.1-8b (see llmctl profiles models) or a config.json")
	case given("requests") && given("duration"):
		return errors.New("--duration and --requests both bound the run; give one of them")
	case given("replicas") && given("count"):
		return errors.New("--replicas and --count both say how large the cluster is; give one of them")
	case given("warmup") && f.length.Warmup < 0:
		return fmt.Errorf("--warmup %s is negative", f.length.Warmup)
	case given("duration") && f.length.Duration <= 0:
		return fmt.Errorf("a run of %s measures nothing, expected more than 0 (--duration)", f.length.Duration)
	}
	return f.screenCheck()
}

func (f *simulateFlags) screenCheck() error { return screen{ui: f.ui, quiet: f.quiet}.check() }

func (f *simulateFlags) checkNumbers() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"--drain", f.length.Drain}, {"--max-time", f.maxTime}} {
		if d.value < 0 {
			return fmt.Errorf("%s %s is negative", d.flag, d.value)
		}
	}
	if f.repeat < 1 || f.repeat > maxRepeats {
		return fmt.Errorf("--repeat %d: expected 1 to %d", f.repeat, maxRepeats)
	}
	return nil
}

// maxRepeats bounds how often one thing is simulated or measured.
const maxRepeats = 1000

// complete fills in the scenario's defaults.
func (sim *simulation) complete(sc profiles.Scenario) error {
	var filled defaults
	name := "chat"
	if sc.Model == builtinModel {
		name = builtinModel // as bench takes
	}
	standard, err := profiles.LoadWorkloadProfile(name)
	if err != nil {
		return err
	}
	if w := &sc.Workload; w.Trace != (profiles.Trace{}) {
		filled.trace(w)
	} else {
		filled.workload(w, standard.Workload)
	}
	sc.Also = filled.further(sc.Also, standard.Workload)
	run := &sim.request.Run
	var slos []profiles.SLO
	slos, sim.sloGiven = filled.slo(sc)
	run.SLODefault, run.SLO = !sim.sloGiven, study.SLOs(slos)
	run.Defaults = filled
	if err := checkClasses(sc); err != nil {
		return err
	}
	sim.request.Sizing.Scenario, sim.request.Sizing.Today = sc, time.Now()
	return nil
}

// files reads what the scenario and the flags name.
func (sim *simulation) files() (err error) {
	r, f := &sim.request, sim.flags
	sc := r.Sizing.Scenario
	if r.Sizing.Recorded, err = recordedSessions(sim.io, &f.trace, sc.Workload); err != nil {
		return err
	}
	r.Sizing.TraceStart, r.Sizing.TraceDuration = f.trace.start, f.trace.duration
	for _, w := range sc.Also {
		sessions, err := recordedSessions(sim.io, &traceFlags{strict: f.trace.strict}, w)
		if err != nil {
			return err
		}
		r.Also = append(r.Also, sessions)
	}
	r.Sizing.Calibration, err = readCalibration(r.Sizing.CalibrationFile)
	return err
}

// facts are what a run keeps of the call.
func (sim *simulation) facts() (err error) {
	r, f := &sim.request, sim.flags
	if r.Run.MaxFailures, err = parseShare("--max-failures", f.maxFailures); err != nil {
		return err
	}
	if err := checkAsserts(f.asserts); err != nil {
		return err
	}
	r.Run.Asserts = f.asserts
	r.Run.Environment = record.Environment{Version: buildinfo.Version()} // and nothing of this machine
	r.Length, r.EndSaturated = f.length, !f.noAbort
	return nil
}

// study resolves a request, and refuses what can not run.
func (sim *simulation) study(r study.Request) (*study.Study, error) {
	st, err := study.New(r)
	var can *study.CannotServe
	switch {
	case errors.As(err, &can):
		told, hint := &cannotServe{can, nearest(r)}, ""
		if told.nearest != "" {
			hint = "the nearest that does is with " + told.nearest
		}
		return nil, &failure{code: exitNotHeld, err: fmt.Errorf("no feasible plan: %w", told), hint: hint}
	case err != nil:
		return nil, usage(err)
	}
	return st, usage(st.Check())
}

// nearest is the smallest change that size knows of with which a scenario runs.
func nearest(r study.Request) string {
	plan, err := sizing.Compute(r.Sizing)
	if err != nil || len(plan.Alternatives) == 0 {
		return ""
	}
	return plan.Alternatives[0].Change
}

// cannotServe is the error of a scenario that can not run, and what would.
type cannotServe struct {
	*study.CannotServe
	nearest string
}

// tellInfeasible writes a document of what can not run where one was asked for.
func (sim *simulation) tellInfeasible(err error) error {
	var can *cannotServe
	if format := sim.flags.output.format; !errors.As(err, &can) || format != "json" && format != "yaml" {
		return err
	}
	return errors.Join(err, sim.flags.output.write(sim.io, reports.NewInfeasible(can.Reasons, can.nearest), nil))
}
