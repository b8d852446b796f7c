package profiles

import (
	"fmt"
	"maps"
	"slices"
)

// Validate reports parts of a scenario that contradict each other, once all sources
// have said theirs: settings, ranges, pools of which each completes the scenario's
// settings, and classes that no request has.
func (s Scenario) Validate() error {
	if err := s.Serving.Validate(); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	if err := s.Cluster.Validate(); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := s.Run.Validate(); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	for i, p := range s.Cluster.Pools {
		serving := p.Serving.Over(s.Serving)
		if err := serving.Validate(); err != nil {
			return fmt.Errorf("cluster: pool %s: %w", or(p.Name, fmt.Sprint(i)), err)
		}
		if err := s.checkClasses(serving.Priorities); err != nil {
			return err
		}
	}
	for _, w := range s.Also {
		if err := w.checkLoad(); err != nil {
			return fmt.Errorf("also: %w", err)
		}
	}
	return s.checkClasses(s.Serving.Priorities)
}

// checkClasses refuses a rank of a class that no request has. A trace has classes of
// its own.
func (s Scenario) checkClasses(ranks map[string]int) error {
	known := map[string]float64{}
	for _, w := range slices.Concat([]Workload{s.Workload}, s.Also) {
		if w.Trace != (Trace{}) {
			return nil
		}
		maps.Copy(known, w.Classes)
	}
	for _, class := range sortedKeys(ranks) {
		if _, ok := known[class]; !ok {
			return unknown("class", class, sortedKeys(known), "serving: priorities rank a class that no workload has: say its share in classes")
		}
	}
	return nil
}

// Of is the scenario of one pool: what the pool leaves unsaid is as in s.
func (s Scenario) Of(p Pool) Scenario {
	s.Accelerator = or(p.Accelerator, s.Accelerator)
	s.Engine = or(p.Engine, s.Engine)
	s.Parallel = p.Parallel.Over(s.Parallel)
	s.Serving = p.Serving.Over(s.Serving)
	return s
}
