package study

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/sizing"
)

// Request is a scenario to simulate and how long.
type Request struct {
	Sizing   sizing.Request // the scenario, and settings of its engine that go before its own
	Seed     uint64
	Warmup   time.Duration
	Duration time.Duration
	Drain    time.Duration
	Requests int // in the place of Duration

	Run record.Run // what the caller knows of it: defaults, assertions, environment
}

// Study is a resolved request.
type Study struct {
	request Request
	pools   []simulator.Pool
	served  []*sizing.Served
}

// CannotServe is the error of a scenario that can not run at all.
type CannotServe struct{ Reasons []string }

func (e *CannotServe) Error() string { return strings.Join(e.Reasons, "; ") }

// New resolves a request. Its errors are bad input, or a *CannotServe.
func New(r Request) (*Study, error) {
	s := &Study{request: r}
	if err := s.resolve(); err != nil {
		return nil, err
	}
	return s, nil
}

// Run simulates the scenario with a seed.
func (s *Study) Run(ctx context.Context, seed uint64) (*reports.Report, error) {
	r := s.request
	stream, err := workload.New(r.Sizing.Scenario.Workload, workload.Options{Seed: seed, Recorded: r.Sizing.Recorded})
	if err != nil {
		return nil, err
	}
	run, err := s.facts(seed)
	if err != nil {
		return nil, err
	}
	run.Window = record.Window{Start: r.Warmup, End: 1 << 62}
	collector := reports.NewCollector(run)
	result, err := simulator.Run(ctx, simulator.Config{
		Pools: s.pools, Streams: []*workload.Stream{stream}, Cluster: r.Sizing.Scenario.Cluster, Seed: seed,
		Warmup: r.Warmup, Duration: r.Duration, Requests: r.Requests, Drain: r.Drain,
	}, func(w record.Window) {
		run.Window = w
		collector.SetRun(run)
	}, collector.Add)
	if err != nil {
		return nil, err
	}
	run.Server, run.Spent = result.Server, result.Spent
	run.Cost.USDPerHour = result.USDPerHour
	collector.SetRun(run)
	return collector.Report(), nil
}

// facts is what is known of a run before it begins.
func (s *Study) facts(seed uint64) (record.Run, error) {
	run := s.request.Run
	sc := s.request.Sizing.Scenario
	scenario, err := json.Marshal(sc)
	if err != nil {
		return run, fmt.Errorf("encoding the scenario: %w", err)
	}
	run.Kind, run.Scenario = "simulate", scenario
	run.ClosedLoop = sc.Workload.Arrival.ClosedLoop()
	run.SharedPrefix = sc.Workload.Prefix.Groups > 0
	run.Client.CPUFraction = -1
	for i, p := range s.pools {
		run.Cost.USDPerHour += float64(p.Replicas) * p.Kind.USDPerHour
		run.Cost.Source = s.served[i].Inputs.PriceSource
	}
	if sc.Workload.Arrival.Process.Takes("rate") {
		run.AskedRPS = sc.Workload.Arrival.RatePerS
	}
	run.Setup = fmt.Sprintf("seed %d", seed)
	return run, nil
}

// SLOs are the objectives of a scenario as a record has them.
func SLOs(slos []profiles.SLO) (out []record.SLO) {
	for _, o := range slos {
		out = append(out, record.SLO{Class: o.Class, TTFT: o.TTFT, TPOT: o.TPOT, E2E: o.E2E, TTFO: o.TTFO, Attainment: o.Attainment})
	}
	return out
}
