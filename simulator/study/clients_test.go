package study

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

func warned(r *reports.Report, code string) bool {
	return slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == code })
}

// closed is a loop of equal requests.
func closed(clients int, ramp time.Duration) func(*Request) {
	return func(r *Request) {
		w := &r.Sizing.Scenario.Workload
		w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: clients, RampUp: ramp}
		w.Input.Mean, w.Output.Mean = 1024, 512
		r.Length = Length{Requests: 640, Warmup: -1, Drain: time.Minute}
	}
}

// TestClientsComeInOneByOne: equal requests of a closed loop have the times of
// clients that know nothing of each other, as size plans them, and not those of one
// burst at the start; which is warned of where somebody asks for it.
func TestClientsComeInOneByOne(t *testing.T) {
	run := func(ramp time.Duration) (*reports.Report, *Study) {
		s := newStudy(t, closed(64, ramp))
		r, err := s.Run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return r, s
	}
	spread, s := run(0)
	burst, _ := run(profiles.AtOnce)
	if a := s.Scenario().Workload.Arrival.RampUp; a < 5*time.Second || a > 12*time.Second {
		t.Errorf("clients come in over %s, and a request takes %.1f s", a, spread.E2E.P50)
	}
	if !slices.ContainsFunc(s.Defaults(), func(d record.Default) bool { return d.Flag == "--concurrency-ramp" }) {
		t.Error("the ramp is not among the defaults")
	}
	if spread.TTFT.P50 > 0.12 || burst.TTFT.P50 < 5*spread.TTFT.P50 {
		t.Errorf("ttft p50 of clients that come in one by one is %g s, at once %g s", spread.TTFT.P50, burst.TTFT.P50)
	}
	if warned(spread, "in_step") || !warned(burst, "in_step") {
		t.Errorf("warned of going in step: one by one %t, at once %t", warned(spread, "in_step"), warned(burst, "in_step"))
	}
}

// TestClientsRamp: a ramp that was said stays, that of a default follows the load,
// and single clients have none.
func TestClientsRamp(t *testing.T) {
	ramp := func(s *Study) time.Duration { return s.Scenario().Workload.Arrival.RampUp }
	if got := ramp(newStudy(t, closed(64, 3*time.Second))); got != 3*time.Second {
		t.Errorf("3s was said, %s it is", got)
	}
	if got := ramp(newStudy(t, closed(1, 0))); got != 0 {
		t.Errorf("one client comes in over %s", got)
	}
	s := newStudy(t, closed(4, 0))
	other, err := s.At(256, s.Length())
	if err != nil {
		t.Fatal(err)
	}
	if few, many := ramp(s), ramp(other); many < 2*few || ramp(s) != few {
		t.Errorf("4 clients come in over %s, 256 over %s", few, many)
	}
	users := newStudy(t, func(r *Request) {
		r.Sizing.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Users, Count: 10}
		r.Sizing.Scenario.Workload.Session.Think = profiles.Delay{Kind: profiles.Exponential, Mean: 20 * time.Second}
	})
	if got := ramp(users); got < 20*time.Second {
		t.Errorf("users who think for 20s come in over %s", got)
	}
}

// TestDefaultObjectiveIsRelaxed: what a lone request can not meet is no default
// objective; what was said is not touched.
func TestDefaultObjectiveIsRelaxed(t *testing.T) {
	run := func(slos []profiles.SLO) *reports.Report {
		r, err := newStudy(t, func(r *Request) {
			r.Sizing.Scenario.SLO = slos
			r.Sizing.Scenario.Workload.Input.Mean = 30000
			r.Sizing.Scenario.Workload.Arrival.RatePerS = 0.01
			r.Run.SLODefault, r.Run.SLO = slos == nil, SLOs([]profiles.SLO{{TTFT: 500 * time.Millisecond, TPOT: 50 * time.Millisecond, Attainment: 0.99}})
			r.Run.Defaults = []record.Default{{Name: "SLO", Value: "ttft=500ms", Flag: "--slo"}}
		}).Run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	relaxed := run(nil)
	if relaxed.SLO.OK == nil || !*relaxed.SLO.OK || !warned(relaxed, "default-slo") {
		t.Errorf("by default: %+v, warnings %v", relaxed.SLO, relaxed.Warnings)
	}
	if i := slices.IndexFunc(relaxed.Defaults, func(d record.Default) bool { return d.Flag == "--slo" }); i < 0 || !strings.Contains(relaxed.Defaults[i].Value, "tpot=50ms") || strings.Contains(relaxed.Defaults[i].Value, "500ms") {
		t.Errorf("defaults: %v", relaxed.Defaults)
	}
	given := run([]profiles.SLO{{TTFT: 500 * time.Millisecond}})
	if given.SLO.OK == nil || *given.SLO.OK || warned(given, "default-slo") {
		t.Errorf("as given: %+v, warnings %v", given.SLO, given.Warnings)
	}
}

// TestOverrunTellsOfTheServed: a load that is ended since it is hopeless has the
// times of those who were served, and the reason before all else.
func TestOverrunTellsOfTheServed(t *testing.T) {
	r, err := newStudy(t, func(r *Request) {
		r.Sizing.Scenario.Workload.Arrival.RatePerS = 400
		r.Sizing.Scenario.Workload.Output.Mean = 200
		r.Length = Length{Duration: time.Hour, Warmup: -1, Drain: time.Minute}
	}).Run(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) == 0 || r.Warnings[0].Code != record.Aborted || warned(r, "much_cut") {
		t.Errorf("warnings: %v", r.Warnings)
	}
	if r.TTFT == nil || r.E2E == nil || r.E2E.N < 1000 {
		t.Errorf("times of the served: ttft %v, e2e %v", r.TTFT, r.E2E)
	}
}
