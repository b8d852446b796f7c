package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing"
)

func newSize(s *iostreams.IO) *cobra.Command {
	var (
		scenario scenarioFlags
		output   outputFlag
		request  sizing.Request
		sizes    memoryFlags
		explain  bool
		emit     emitFlag
		fleet    fleetFlags
		money    moneyFlags
		search   searchFlags
	)
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
			sc, err := scenario.resolve(cmd, s)
			if err != nil {
				return err
			}
			if sc.Model == "" {
				return usagef("--model is missing, expected a name such as llama-3.1-8b (see llmctl profiles models) or a config.json")
			}
			if err := emit.check(output, explain); err != nil {
				return usage(err)
			}
			if err := checkNumbers(cmd, request); err != nil {
				return usage(err)
			}
			request.Scenario, request.Today = sc, time.Now()
			if err := sizes.apply(cmd, &request); err != nil {
				return usage(err)
			}
			if request.Calibration, err = readCalibration(request.CalibrationFile); err != nil {
				return usage(err)
			}
			if err := fleet.apply(cmd, &request); err != nil {
				return err
			}
			if err := money.apply(cmd, &request); err != nil {
				return err
			}
			if names, ok := search.accelerators(sc.Accelerator); ok {
				if explain {
					return usagef("--explain explains one plan: add it to a command that the search prints")
				}
				return runSearch(cmd, s, &output, sizing.SearchRequest{Request: request, Accelerators: names})
			}
			plan, err := sizing.Compute(request)
			if err != nil {
				return usage(err)
			}
			if emit.target != "" && plan.Feasible {
				return emit.write(s, plan, sc.Model)
			}
			err = output.writeForms(s, plan, forms{
				table:    func() error { return reports.WritePlan(s.Out, plan, explain) },
				csv:      func() error { return reports.PlanTable(plan, explain).WriteCSV(s.Out) },
				markdown: func() error { return reports.WritePlanMarkdown(s.Out, plan, explain) },
			})
			if err == nil && !plan.Feasible {
				err = silent(exitNotHeld)
			}
			return err
		},
	}
	scenario.add(cmd, "model", "accelerator", "engine", "tp", "pp", "ep", "dp", "workload", "isl", "osl", "prefix",
		"rps", "concurrency", "slo", "price")
	output.add(cmd, "csv", "markdown")
	money.add(cmd)
	search.add(cmd)
	fleet.add(cmd, &request)
	flags := cmd.Flags()
	flags.StringVar(&request.WeightDType, "weight-dtype", "", "weight format: bf16, fp16, fp8, int8, int4, awq, gptq, … (default: the model's own)")
	flags.StringVar(&request.KVDType, "kv-dtype", "", "KV cache format: bf16, fp16, fp32, fp8, int8, nvfp4 (default: as the checkpoint declares, else that of the activations)")
	flags.StringVar(&request.PrefixCaching, "prefix-caching", "", "whether the engine keeps prompts for requests that begin alike: auto, on or off (default auto: as the engine does)")
	flags.Float64Var(&request.GPUMemoryUtilization, "gpu-memory-utilization", 0, "share of memory that the engine may use (default: the engine's)")
	countVar(flags, &request.BlockSize, "block-size", "tokens per KV block (default: the engine's)")
	countVar(flags, &request.MaxModelLen, "max-model-len", "tokens of prompt and output together (default: the model's window)")
	countVar(flags, &request.MaxNumSeqs, "max-num-seqs", "requests running at once (default: the engine's)")
	countVar(flags, &request.MaxNumBatchedTokens, "max-num-batched-tokens", "token budget of one step (default: the engine's)")
	sizes.add(cmd)
	flags.Float64Var(&request.TargetUtilization, "target-utilization", 0, "share of a replica's largest rate to load it with (default 0.8)")
	flags.Var(&emit, "emit", "write the plan as: vllm, sglang or llmctl (start-up command), autoscaler, alerts, all")
	flags.StringVar(&request.CalibrationFile, "calibration", "", "a file of llmctl calibrate, whose constants of the step model go before the built-in ones")
	flags.BoolVar(&explain, "explain", false, "show how each number was reached")
	return cmd
}

// checkNumbers refuses what was said and makes no sense; Compute takes a zero
// for "not said".
func checkNumbers(cmd *cobra.Command, r sizing.Request) error {
	for _, n := range []struct {
		flag  string
		value float64
	}{
		{"gpu-memory-utilization", r.GPUMemoryUtilization}, {"target-utilization", r.TargetUtilization},
	} {
		if cmd.Flags().Changed(n.flag) && !(n.value >= 0.01) {
			return fmt.Errorf("--%s %s must be at least 0.01", n.flag, cmd.Flags().Lookup(n.flag).Value)
		}
	}
	return nil
}
