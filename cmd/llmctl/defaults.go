package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// defaults are what nobody said and yet shapes an answer, each with the flag that
// changes it.
type defaults []record.Default

func (d *defaults) assume(name, value, flag string) {
	*d = append(*d, record.Default{Name: name, Value: value, Flag: flag})
}

// workload fills in what a workload of single requests or sessions leaves unsaid.
// It reports whether the load was said, too.
func (d *defaults) workload(w *profiles.Workload, standard profiles.Workload) (loaded bool) {
	if w.Input == (profiles.Distribution{}) {
		d.assume("workload", standard.Name, "--workload")
	}
	if w.Output == (profiles.Distribution{}) && w.Input != (profiles.Distribution{}) {
		d.assume("output tokens", standard.Output.String(), "--osl")
	}
	said := w.Arrival
	*w = w.Over(standard)
	return said.RatePerS > 0 || said.Process != "" && !said.Process.Takes("rate")
}

// trace lets requests come as recorded unless something else is said.
func (d *defaults) trace(w *profiles.Workload) {
	if w.Name == "" {
		w.Name = "custom"
	}
	if w.Arrival == (profiles.Arrival{}) {
		w.Arrival = profiles.Arrival{Process: profiles.TraceArrival}
		d.assume("arrival", string(profiles.TraceArrival), "--arrival, --concurrency or --users")
	}
}

// slo is the objective of a scenario, the workload's default when none was given.
func (d *defaults) slo(sc profiles.Scenario) (slos []profiles.SLO, given bool) {
	if len(sc.SLO) > 0 {
		return sc.SLO, true
	}
	slos = []profiles.SLO{profiles.DefaultSLO(sc.Workload.Name)}
	d.assume("SLO", slos[0].String(), "--slo")
	return slos, false
}

// checkClasses refuses an objective on a class that no request has.
func checkClasses(sc profiles.Scenario) error {
	workloads := append([]profiles.Workload{sc.Workload}, sc.Also...)
	known := map[string]bool{}
	for _, w := range workloads {
		if w.Trace.File != "" {
			return nil // whose classes are not known yet
		}
		for name := range w.Classes {
			known[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(known))
	for _, o := range sc.SLO {
		if o.Class != "" && !known[o.Class] {
			return fmt.Errorf("the objective %s is on a class that the workload does not have%s", o, profiles.DidYouMean(o.Class, names))
		}
	}
	return nil
}
