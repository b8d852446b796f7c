package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/sizing"
)

// Request is a scenario to simulate and how long.
type Request struct {
	Sizing sizing.Request       // the scenario, and settings of its engine that go before its own
	Also   [][]workload.Session // recorded sessions of Scenario.Also, by its index; absent where there are none
	Length Length

	// UniquePrefixes gives each request a prefix of its own where the workload would
	// share one.
	UniquePrefixes bool
	// EndSaturated ends sending early once it is certain that a steady load is more
	// than twice of what the cluster serves.
	EndSaturated bool

	Run record.Run // what the caller knows of it: defaults, objectives, assertions, environment
}

// Study is a resolved request.
type Study struct {
	request  Request
	pools    []simulator.Pool
	served   []*sizing.Served
	assumed  []sizing.Assumption // of the load and the cluster
	chosen   []sizing.Assumption // of the length
	warnings []record.Warning
	planned  bool // the replicas are as many as size has for the load
	rampSaid bool // over which clients of a closed loop come in
}

// CannotServe is the error of a scenario that can not run at all.
type CannotServe struct{ Reasons []string }

func (e *CannotServe) Error() string { return strings.Join(e.Reasons, "; ") }

// New resolves a request. Its errors are bad input, or a *CannotServe.
func New(r Request) (*Study, error) {
	s := &Study{request: r, rampSaid: r.Sizing.Scenario.Workload.Arrival.RampUp > 0}
	if err := s.load(); err != nil {
		return nil, err
	}
	if err := s.resolve(); err != nil {
		return nil, err
	}
	if c := r.Sizing.Scenario.Cluster; c.Replicas == 0 && len(c.Pools) == 0 && r.Sizing.Count == 0 {
		s.assume("replicas", fmt.Sprint(s.Replicas()), "--replicas")
	}
	if c := r.Sizing.Scenario.Cluster; c.Router.Policy == "" && (s.Replicas() > 1 || c.Autoscale.Max > 1) {
		s.assume("router", "least_loaded", "--router")
	}
	s.relax()
	var err error
	if s.request.Length, err = r.Length.complete(s); err != nil {
		return nil, err
	}
	for _, w := range s.served[0].Warnings {
		s.warnings = append(s.warnings, record.Warning{Code: w.Code, Text: w.Text})
	}
	return s, nil
}

func (s *Study) assume(name, value, flag string) {
	s.assumed = append(s.assumed, sizing.Assumption{Name: name, Value: value, Flag: flag})
}

// Defaults are what nobody said and yet shapes the simulation: of the caller, of
// the engine, of the load and of the length.
func (s *Study) Defaults() []record.Default {
	all := slices.Clone(s.request.Run.Defaults)
	add := func(a sizing.Assumption) {
		same := func(d record.Default) bool { return d.Name == a.Name || d.Flag == a.Flag }
		if !slices.ContainsFunc(all, same) {
			all = append(all, record.Default{Name: a.Name, Value: a.Value, Flag: a.Flag})
		}
	}
	for _, a := range slices.Concat(s.assumed, s.chosen) {
		add(a)
	}
	for _, served := range s.served[:min(1, len(s.served))] {
		for _, a := range served.Assumptions {
			switch a.Name {
			case "load": // the plan's, not the simulation's
				continue
			case "target utilization":
				if !s.planned {
					continue
				}
				a.Flag = "--replicas, or llmctl size --target-utilization" // the plan's, which simulate asks for a number
			}
			add(a)
		}
	}
	return all
}

// Replicas are those of all pools at the start.
func (s *Study) Replicas() (n int) {
	for _, p := range s.pools {
		n += p.Replicas
	}
	return n
}

// Scenario is what is simulated, with the names that were filled in.
func (s *Study) Scenario() profiles.Scenario {
	sc := s.request.Sizing.Scenario
	if in := s.served[0].Inputs; len(sc.Cluster.Pools) == 0 {
		sc.Accelerator, sc.Engine = in.Accelerator, in.Engine
	}
	return sc
}

// Facts is what is known of a run before it begins.
func (s *Study) Facts(seed uint64) (record.Run, error) {
	run := s.request.Run
	sc := s.Scenario()
	scenario, err := json.Marshal(sc)
	if err != nil {
		return run, fmt.Errorf("encoding the scenario: %w", err)
	}
	run.Kind, run.Scenario = "simulate", scenario
	run.Target = record.Target{Model: sc.Model, Device: sc.Accelerator}
	run.ClosedLoop = sc.Workload.Arrival.ClosedLoop()
	stream, err := s.stream(0, seed)
	if err != nil {
		return run, err
	}
	run.SharedPrefix = stream.Shares()
	run.Client.CPUFraction = -1
	run.Defaults = s.Defaults()
	run.Warnings = append(slices.Clone(run.Warnings), s.warnings...)
	if w := s.inStep(); w != nil {
		run.Warnings = append(run.Warnings, *w)
	}
	for i, p := range s.pools {
		run.Cost.USDPerHour += float64(float64(p.Replicas) * p.Kind.USDPerHour)
		run.Cost.Source = strings.TrimSpace(s.served[i].Inputs.PriceSource + " " + s.served[i].Inputs.PriceDate)
	}
	if run.Cost.USDPerHour == 0 {
		run.Cost.Source = ""
	}
	run.Target.Cluster = s.simulated()
	switch a := sc.Workload.Arrival; a.Process {
	case profiles.Constant, profiles.Poisson, profiles.Gamma:
		if len(sc.Also) == 0 {
			run.AskedRPS = a.RatePerS
		}
	}
	l := s.request.Length
	run.Requests = l.Requests
	run.Setup = fmt.Sprintf("seed %d, length %s, warm-up %s, drain %s", seed, l.Words(), l.Warmup, l.Drain)
	run.Asked = s.asked()
	run.Window = record.Window{Start: l.Warmup, End: endOpen}
	return run, nil
}

// asked says in one line what is sent.
func (s *Study) asked() string {
	w, l := s.request.Sizing.Scenario.Workload, s.request.Length
	if w.Trace.File != "" {
		return fmt.Sprintf("requests of %s, %s for %s", w.Trace.File, w.Arrival.Words(), l.Words())
	}
	words := fmt.Sprintf("%s, %s for %s; %s", w.Name, w.Arrival.Words(), l.Words(), w.RequestWords())
	if n := len(s.request.Sizing.Scenario.Also); n > 0 {
		words += fmt.Sprintf("; %d more at the same time", n)
	}
	return words
}

// endOpen is the end of a window that is not known yet: behind all moments.
const endOpen = time.Duration(1) << 62

// SLOs are the objectives of a scenario as a record has them.
func SLOs(slos []profiles.SLO) (out []record.SLO) {
	for _, o := range slos {
		out = append(out, record.SLO{Class: o.Class, TTFT: o.TTFT, TPOT: o.TPOT, E2E: o.E2E, TTFO: o.TTFO, Attainment: o.Attainment})
	}
	return out
}
