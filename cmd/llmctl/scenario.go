package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/profiles"
)

// A setting is one thing that a scenario file and a flag can both say.
type setting struct {
	flag, alias string
	help        string
	repeatable  bool
	names       func() []string // for completion, nil when there are none
	apply       func(sc *profiles.Scenario, value string) error
}

// settings are applied in this order, so that --workload comes before the flags
// that change a part of it.
var settings = slices.Concat(loadSettings, engineSettings, schedulingSettings, clusterSettings)

// loadSettings say what is served, and what is sent to it.
var loadSettings = []setting{
	{flag: "model", names: profiles.ModelNames, help: "profile name, Hugging Face id, config.json, or a folder with one",
		apply: func(sc *profiles.Scenario, v string) error { sc.Model = v; return nil }},
	{flag: "accelerator", names: profiles.AcceleratorNames, alias: "gpu", help: "accelerator, e.g. h100-sxm-80gb",
		apply: func(sc *profiles.Scenario, v string) error { sc.Accelerator = v; return nil }},
	{flag: "engine", names: profiles.EngineNames, help: "serving engine and version, e.g. vllm@0.19",
		apply: func(sc *profiles.Scenario, v string) error { sc.Engine = v; return nil }},
	{flag: "tp", help: "tensor-parallel size of one replica",
		apply: func(sc *profiles.Scenario, v string) error { return parsePositive(v, &sc.Parallel.Tensor) }},
	{flag: "pp", help: "pipeline-parallel size of one replica",
		apply: func(sc *profiles.Scenario, v string) error { return parsePositive(v, &sc.Parallel.Pipeline) }},
	{flag: "ep", help: "ranks that divide whole experts: --tp × --dp, or 1 to divide the experts' width instead (vLLM: --enable-expert-parallel)",
		apply: func(sc *profiles.Scenario, v string) error { return parsePositive(v, &sc.Parallel.Expert) }},
	{flag: "dp", help: "data-parallel ranks of one replica: each has attention and a KV pool of its own, and all share the experts",
		apply: func(sc *profiles.Scenario, v string) error { return parsePositive(v, &sc.Parallel.Data) }},
	{flag: "workload", names: profiles.WorkloadNames, help: "built-in workload (see llmctl profiles workloads) or a YAML file",
		apply: applyWorkload},
	{flag: "trace", help: "replay the requests of this file at its times (ShareGPT, Mooncake, Azure, BurstGPT, or JSONL of bodies)",
		apply: applyTrace},
	{flag: "trace-format", names: func() []string { return profiles.TraceFormats }, help: "layout of the trace (default: told by its content)",
		apply: applyTraceFormat},
	{flag: "isl", help: "prompt tokens: a mean, or lognormal:mean=2048,p99=8000 (also uniform, normal, zipf, geometric, empirical:FILE)",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Workload.Input, err = profiles.LoadDistribution(v)
			return err
		}},
	{flag: "osl", help: "output tokens: a mean, or a distribution",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Workload.Output, err = profiles.LoadDistribution(v)
			return err
		}},
	{flag: "prefix", help: "shared prompt prefixes, e.g. groups=4,tokens=1024; groups=0 shares nothing",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Workload.Prefix, err = profiles.ParsePrefix(v)
			return err
		}},
	{flag: "turns", help: "requests of a session, each with what was said before: a number, or geometric:mean=3",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Workload.Session.Turns, err = profiles.LoadDistribution(v)
			return err
		}},
	{flag: "think", help: "time between an answer and the next request of a session or of a user: 8s, or exponential:mean=8s",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Workload.Session.Think, err = profiles.ParseDelay(v)
			return err
		}},
	{flag: "arrival", names: profiles.ArrivalProcesses, help: "arrival process: poisson, constant, gamma:cv=2, ramp:from=1,to=50,over=5m, steps:1/s*1m,5/s*2m, sine:amplitude=5,period=60s or trace",
		apply: applyArrival},
	{flag: "trace-speed", help: "how many times faster than recorded a trace is replayed",
		apply: applyTraceSpeed},
	{flag: "rps", help: "offered requests per second, e.g. 200 or 4/s (open loop)",
		apply: applyRate},
	{flag: "concurrency", help: "requests kept in flight (closed loop)",
		apply: applyConcurrency},
	{flag: "users", help: "users, each of whom has one request in flight or thinks (--think)",
		apply: applyUsers},
	{flag: "concurrency-ramp", help: "time over which --concurrency or --users grows from 1 (default: in simulate as long as a request takes, in bench 0s)",
		apply: applyRamp},
	{flag: "cancel", help: "users who leave early, e.g. fraction=0.02,after=2s",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Workload.Cancel, err = profiles.ParseCancel(v)
			return err
		}},
	{flag: "slo", help: "objective on each request, e.g. ttft=500ms,tpot=50ms or batch:e2e=60s; repeatable", repeatable: true,
		apply: func(sc *profiles.Scenario, v string) error {
			slo, err := profiles.ParseSLO(v)
			sc.SLO = append(sc.SLO, slo)
			return err
		}},
	{flag: "price", help: "dollars per accelerator and hour; replaces the list price",
		apply: func(sc *profiles.Scenario, v string) error {
			return parseMoney(v, &sc.Price.USDPerAcceleratorHour)
		}},
	{flag: "experiment", help: "shared-prefix runs the workload with and without sharing; none is one run",
		apply: func(sc *profiles.Scenario, v string) error { sc.Experiment = v; return nil }},
}

func applyWorkload(sc *profiles.Scenario, v string) error {
	workload, err := profiles.LoadWorkload(v)
	if err == nil {
		sc.Workload = *workload
	}
	return err
}

func parsePositive(v string, to *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<24 {
		return fmt.Errorf("%q is not a whole number of at least 1", v)
	}
	*to = n
	return nil
}

func parseMoney(v string, to *float64) error {
	usd, err := strconv.ParseFloat(v, 64)
	if err != nil || !(usd > 0) {
		return fmt.Errorf("%q is not a price in dollars above 0; without a price, the list price is taken", v)
	}
	if err := profiles.CheckHourlyPrice(usd); err != nil {
		return err
	}
	*to = usd
	return nil
}

// scenarioFlags are -f and the flags of the settings that a command takes.
type scenarioFlags struct {
	file   string
	values map[string]*[]string
}

// add registers -f and the named settings, all of them when none is named.
func (s *scenarioFlags) add(cmd *cobra.Command, names ...string) {
	cmd.Flags().StringVarP(&s.file, "file", "f", "", "scenario file (YAML)")
	s.values = map[string]*[]string{}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	for _, st := range settings {
		if len(names) > 0 && !wanted[st.flag] {
			continue
		}
		values := new([]string)
		s.values[st.flag] = values
		cmd.Flags().Var(&settingValue{values, st.repeatable}, st.flag, st.help)
		if st.alias != "" {
			cmd.Flags().Var(&settingValue{values, st.repeatable}, st.alias, "the same as --"+st.flag)
		}
		if st.names != nil {
			complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return st.names(), cobra.ShellCompDirectiveDefault // files serve too
			}
			for _, name := range []string{st.flag, st.alias} {
				_ = cmd.RegisterFlagCompletionFunc(name, complete) // fails only for the alias that is not there
			}
		}
	}
}

// resolve joins what was said, strongest first: flags (and the environment,
// which has already set flags), the scenario file, the user's configuration.
func (s *scenarioFlags) resolve(cmd *cobra.Command, io *iostreams.IO) (profiles.Scenario, error) {
	config, err := userConfig(cmd.Root(), io.Env)
	if err != nil {
		return profiles.Scenario{}, usage(err)
	}
	if err := checkLoad(func(name string) string { return config[name] }); err != nil {
		return profiles.Scenario{}, usagef("reading the user configuration: %w", err)
	}
	if err := checkFleet(func(name string) string { return config[name] }); err != nil {
		return profiles.Scenario{}, usagef("reading the user configuration: %w", err)
	}
	var sc profiles.Scenario
	for _, st := range settings {
		value, ok := config[st.flag]
		if !ok && st.alias != "" {
			value, ok = config[st.alias]
		}
		if !ok || s.values[st.flag] == nil {
			continue
		}
		if err := st.apply(&sc, value); err != nil {
			return sc, usagef("reading the user configuration, %s: %w", st.flag, err)
		}
	}
	if s.file != "" {
		file, err := profiles.LoadScenario(s.file)
		if err != nil {
			return sc, usage(err)
		}
		sc = file.Over(sc)
	}
	if err := s.applyFlags(&sc); err != nil {
		return sc, usage(err)
	}
	return sc, usage(sc.Validate())
}

func (s *scenarioFlags) applyFlags(sc *profiles.Scenario) error {
	if err := checkLoad(s.last); err != nil {
		return err
	}
	if err := checkFleet(s.last); err != nil {
		return err
	}
	if len(s.get("slo")) > 0 {
		sc.SLO = nil
	}
	if len(s.get("failure")) > 0 {
		sc.Cluster.Failures = nil
	}
	for _, st := range settings {
		for _, value := range s.get(st.flag) {
			if err := st.apply(sc, value); err != nil {
				return fmt.Errorf("--%s: %w", st.flag, err)
			}
		}
	}
	return nil
}

func (s *scenarioFlags) get(name string) []string {
	if v := s.values[name]; v != nil {
		return *v
	}
	return nil
}

// last is the value of a flag that counts, "" when it was not given.
func (s *scenarioFlags) last(name string) string {
	if v := s.get(name); len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// settingValue collects the values of one flag; the last one counts unless the
// flag is repeatable.
type settingValue struct {
	values     *[]string
	repeatable bool
}

// String implements pflag.Value.
func (v *settingValue) String() string {
	if v.values == nil || len(*v.values) == 0 {
		return ""
	}
	return (*v.values)[len(*v.values)-1]
}

// Set implements pflag.Value.
func (v *settingValue) Set(value string) error {
	if !v.repeatable {
		*v.values = nil
	}
	*v.values = append(*v.values, value)
	return nil
}

// Type implements pflag.Value.
func (v *settingValue) Type() string { return "value" }
