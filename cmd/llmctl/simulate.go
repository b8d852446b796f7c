package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

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
the cost model of size says. Without --replicas the cluster is the one that size
plans for the load.`,
		Example: `  llmctl simulate --model llama-3.1-8b --rps 200
  llmctl simulate --model llama-3.1-8b --concurrency 64 --isl 1024 --osl 512`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.resolve(cmd, s); err != nil {
				return usage(err)
			}
			return f.run(cmd.Context(), s)
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
	request  study.Request
}

func (f *simulateFlags) add(cmd *cobra.Command) {
	f.scenario.add(cmd)
	f.trace.add(cmd)
	f.output.add(cmd)
	f.sizes.add(cmd)
	r := &f.request
	addEngineSettings(cmd, &r.Sizing)
	flags := cmd.Flags()
	flags.DurationVar(&r.Duration, "duration", 5*time.Minute, "virtual time that is measured")
	countVar(flags, &r.Requests, "requests", "measure this many requests in place of a duration")
	flags.DurationVar(&r.Warmup, "warmup", 30*time.Second, "virtual time before it in which requests do not count")
	flags.DurationVar(&r.Drain, "drain", 10*time.Minute, "virtual time that requests in flight have to end after sending has")
	flags.Uint64Var(&r.Seed, "seed", 1, "seed of all that is left to chance")
}

// resolve reads all that was said into the request.
func (f *simulateFlags) resolve(cmd *cobra.Command, s *iostreams.IO) error {
	sizing.Preload()
	sc, err := f.scenario.resolve(cmd, s)
	if err != nil {
		return err
	}
	if sc.Model == "" {
		return errors.New("--model is missing, expected a name such as llama-3.1-8b (see llmctl profiles models) or a config.json")
	}
	r := &f.request
	standard, err := profiles.LoadWorkloadProfile("chat")
	if err != nil {
		return err
	}
	if sc.Workload.Trace == (profiles.Trace{}) {
		sc.Workload = sc.Workload.Over(standard.Workload)
	}
	r.Run.SLODefault = len(sc.SLO) == 0
	if len(sc.SLO) == 0 {
		sc.SLO = []profiles.SLO{profiles.DefaultSLO(sc.Workload.Name)}
	}
	r.Run.SLO = study.SLOs(sc.SLO)
	r.Sizing.Scenario, r.Sizing.Today = sc, time.Now()
	if err := f.trace.check(cmd, sc.Workload); err != nil {
		return err
	}
	if r.Sizing.Recorded, err = recordedSessions(s, &f.trace, sc.Workload); err != nil {
		return err
	}
	if err := f.sizes.apply(cmd, &r.Sizing); err != nil {
		return err
	}
	if r.Sizing.Calibration, err = readCalibration(r.Sizing.CalibrationFile); err != nil {
		return err
	}
	if cmd.Flags().Changed("requests") && cmd.Flags().Changed("duration") {
		return errors.New("--duration and --requests both bound the run; give one of them")
	}
	r.Run.Asked = fmt.Sprintf("%s, %s arrivals", sc.Workload.Name, sc.Workload.Arrival.Process)
	r.Run.Target = record.Target{Model: sc.Model, Device: sc.Accelerator}
	return nil
}

func (f *simulateFlags) run(ctx context.Context, s *iostreams.IO) error {
	st, err := study.New(f.request)
	if err != nil {
		return usage(err)
	}
	report, err := st.Run(ctx, f.request.Seed)
	if err != nil {
		return err
	}
	if err := f.output.writeForms(s, report, forms{
		table: func() error { return reports.WriteText(s.Out, report, reports.TextOptions{Width: s.Width}) },
	}); err != nil {
		return err
	}
	return judge(report.Verdict(), nil)
}
