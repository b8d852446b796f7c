package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing"
)

func newSize(s *iostreams.IO) *cobra.Command {
	var f sizeFlags
	cmd := &cobra.Command{
		Use:   "size",
		Short: "Plan a deployment: what fits, how many replicas, what it costs",
		Long: `Plan a deployment in closed form. Everything that is not said has a default,
and each default is printed with the flag that changes it. --explain shows how
each number was reached.

--search, --accelerator all or a list of accelerators searches for the cheapest
plan that meets the objective, and for those that are better in latency.`,
		Example: `  llmctl size --model llama-3.1-8b --rps 200
  llmctl size --model llama-3.1-70b --tp 4 --accelerator h200-sxm-141gb --rps 20 --explain
  llmctl size --model llama-3.1-8b --rps 200 --load-profile office --api-price in=0.15,out=0.60
  llmctl size --model llama-3.1-8b --rps 200 --accelerator all
  llmctl size --model llama-3.1-8b --rps 200 --emit all
  llmctl size --model ./my-model/config.json --isl 4096 --osl 512 --rps 5 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// One plan is over before collecting its garbage pays; a search comes to
			// the limit.
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
			sc, err := f.resolve(cmd, s)
			if err != nil {
				return err
			}
			if names, ok := f.search.accelerators(sc.Accelerator); ok {
				if f.explain {
					return usagef("--explain explains one plan: add it to a command that the search prints")
				}
				if f.emit.target != "" {
					return usagef("--emit writes one plan: add it to a command that the search prints")
				}
				return runSearch(s, &f.output, f.quiet, sizing.SearchRequest{Request: f.request, Accelerators: names})
			}
			return f.plan(s, sc.Model)
		},
	}
	f.add(cmd)
	return cmd
}

// sizeFlags are what size was asked.
type sizeFlags struct {
	scenario scenarioFlags
	trace    traceFlags
	output   outputFlag
	request  sizing.Request
	sizes    memoryFlags
	explain  bool
	quiet    bool
	emit     emitFlag
	fleet    fleetFlags
	money    moneyFlags
	search   searchFlags
}

// sizeGroups are the headings of the help.
var sizeGroups = []flagGroup{
	{"What to plan", []string{"model", "accelerator", "gpu", "engine", "tp", "pp", "ep", "dp", "weight-dtype", "kv-dtype", "file"}},
	{"Load and objective", []string{"rps", "concurrency", "users", "arrival", "workload", "isl", "osl", "prefix", "turns", "think", "trace", "trace-format", "trace-speed", "trace-strict", "trace-start", "trace-duration", "slo", "target-utilization"}},
	{"Engine settings", []string{
		"gpu-memory-utilization", "max-model-len", "max-num-seqs", "max-num-batched-tokens", "block-size", "kv-cache-memory", "accelerator-memory", "prefix-caching", "calibration",
	}},
	{"Fleet", []string{"count", "spare", "disaggregate", "transfer-bandwidth"}},
	{"Money", []string{"price", "load-profile", "api-price"}},
	{"Search and hand-over", []string{"search", "emit"}},
	{"Output", []string{"output", "explain", "quiet"}},
}

func (f *sizeFlags) add(cmd *cobra.Command) {
	f.scenario.add(cmd, slices.Concat([]string{"model", "accelerator", "engine", "tp", "pp", "ep", "dp", "workload", "isl", "osl", "prefix",
		"turns", "think", "trace", "trace-format", "trace-speed", "rps", "concurrency", "users", "arrival", "slo", "price"}, flagsOf(engineSettings))...)
	f.trace.add(cmd)
	f.output.add(cmd, "csv", "markdown")
	f.money.add(cmd)
	f.search.add(cmd)
	f.sizes.add(cmd)
	r := &f.request
	f.fleet.add(cmd, r)
	flags := cmd.Flags()
	addEngineSettings(cmd, r)
	flags.Float64Var(&r.TargetUtilization, "target-utilization", 0, "share of a replica's largest rate to load it with (default 0.8)")
	flags.Var(&f.emit, "emit", "write the plan as: vllm, sglang or llmctl (start-up command), autoscaler, alerts, all")
	flags.BoolVar(&f.explain, "explain", false, "show how each number was reached")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress of a search")
	groupFlags(cmd, sizeGroups)
}

// resolve reads all that was said into the request.
func (f *sizeFlags) resolve(cmd *cobra.Command, s *iostreams.IO) (sc profiles.Scenario, err error) {
	sizing.Preload()
	if sc, err = f.scenario.resolve(cmd, s); err != nil {
		return sc, err
	}
	if sc.Model == "" {
		return sc, usagef("--model is missing, expected a name such as llama-3.1-8b (see llmctl profiles models) or a config.json")
	}
	r := &f.request
	if err := f.emit.check(f.output, f.explain); err != nil {
		return sc, usage(err)
	}
	if err := checkNumbers(cmd, *r); err != nil {
		return sc, usage(err)
	}
	r.Scenario, r.Today = sc, time.Now()
	if err := f.trace.check(cmd, sc.Workload); err != nil {
		return sc, usage(err)
	}
	r.TraceStart, r.TraceDuration = f.trace.start, f.trace.duration
	if r.Recorded, err = recordedSessions(s, &f.trace, sc.Workload); err != nil {
		return sc, usage(err)
	}
	if err := f.sizes.apply(cmd, r); err != nil {
		return sc, usage(err)
	}
	if r.Calibration, err = readCalibration(r.CalibrationFile); err != nil {
		return sc, usage(err)
	}
	if err := f.fleet.apply(cmd, r); err != nil {
		return sc, err
	}
	return sc, f.money.apply(cmd, r)
}

// plan computes one plan and writes it.
func (f *sizeFlags) plan(s *iostreams.IO, model string) error {
	plan, err := sizing.Compute(f.request)
	if err != nil {
		return usage(err)
	}
	if f.emit.target != "" && plan.Feasible {
		return f.emit.write(s, plan, model)
	}
	err = f.output.writeForms(s, plan, forms{
		table:    func() error { return reports.WritePlan(s.Out, plan, f.explain) },
		csv:      func() error { return reports.PlanTable(plan, f.explain).WriteCSV(s.Out) },
		markdown: func() error { return reports.WritePlanMarkdown(s.Out, plan, f.explain) },
	})
	if err == nil && !plan.Feasible {
		err = silent(exitNotHeld)
	}
	return err
}

// checkNumbers refuses what was said and makes no sense; Compute takes a zero
// for "not said".
func checkNumbers(cmd *cobra.Command, r sizing.Request) error {
	if flag := cmd.Flags().Lookup("target-utilization"); flag.Changed && !(r.TargetUtilization >= 0.01) {
		return fmt.Errorf("--target-utilization %s must be at least 0.01", flag.Value)
	}
	return nil
}
