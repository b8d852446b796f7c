package study

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing"
)

// relax raises the bounds of a default objective that not even lone requests meet
// to what size plans for in their place: what can not be met on any load tells
// nothing about one.
func (s *Study) relax() {
	run := &s.request.Run
	if !run.SLODefault || len(run.SLO) != 1 {
		return
	}
	o := run.SLO[0]
	var broken, instead []string
	for _, b := range s.raised() {
		bound := map[string]*time.Duration{"TTFT": &o.TTFT, "TPOT": &o.TPOT, "E2E": &o.E2E}[b.Name]
		if bound == nil || *bound != inTime(b.Default) {
			continue // somebody has raised it already
		}
		*bound = inTime(b.Planned)
		broken = append(broken, b.String())
		instead = append(instead, fmt.Sprintf("%s %s", b.Name, units.Seconds(b.Planned)))
	}
	if len(broken) == 0 {
		return
	}
	run.SLO = []record.SLO{o}
	run.Defaults = slices.Clone(run.Defaults)
	for i := range run.Defaults {
		if run.Defaults[i].Flag == "--slo" {
			run.Defaults[i].Value = s.Objectives()[0].String()
		}
	}
	s.warnings = append(s.warnings, record.Warning{Code: "default-slo", Text: fmt.Sprintf(
		"%s at p%g: judged by %s instead; --slo sets yours", strings.Join(broken, "; "), 100*s.Objectives()[0].Target(), strings.Join(instead, " and "))})
}

// raised are the bounds that lone requests break at every pool that they are of,
// each as it is at the slowest of these.
func (s *Study) raised() (all []sizing.RelaxedBound) {
	for _, name := range []string{"TTFT", "TPOT", "E2E"} {
		var most *sizing.RelaxedBound
		met := false
		for i, p := range s.pools {
			if name == "TTFT" && p.Kind.Role == "decode" || name == "TPOT" && p.Kind.Role == "prefill" {
				continue
			}
			bounds := s.served[i].Relaxed()
			at := slices.IndexFunc(bounds, func(b sizing.RelaxedBound) bool { return b.Name == name })
			if at < 0 {
				met = true
			} else if most == nil || bounds[at].Planned > most.Planned {
				most = &bounds[at]
			}
		}
		if most != nil && !met {
			all = append(all, *most)
		}
	}
	return all
}

func inTime(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

// Objectives are those that a simulation is judged by.
func (s *Study) Objectives() (slos []profiles.SLO) {
	for _, o := range s.request.Run.SLO {
		slos = append(slos, profiles.SLO{Class: o.Class, TTFT: o.TTFT, TPOT: o.TPOT, E2E: o.E2E, TTFO: o.TTFO, Attainment: o.Attainment})
	}
	return slos
}
