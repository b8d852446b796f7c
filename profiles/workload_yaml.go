package profiles

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
)

// ParseWorkload reads a workload in YAML, as it stands under `workload:` in a
// scenario.
func ParseWorkload(data []byte) (*Workload, error) {
	node, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	if node == nil {
		return nil, fmt.Errorf("workload is empty")
	}
	var w Workload
	if err := w.readYAML(node); err != nil {
		return nil, at(node, err)
	}
	return &w, nil
}

// readYAML reads a workload, or the name of a built-in one. A workload that is
// spelled out but has no name is called custom.
func (w *Workload) readYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		name, err := scalar(node)
		if err != nil {
			return err
		}
		builtin, err := builtinWorkload(name)
		if err != nil {
			return err
		}
		*w = *builtin
		return nil
	}
	err := readMapping(node, "a workload",
		key{"name", into(&w.Name, parseClass)},
		key{"arrival", w.Arrival.readYAML},
		key{"input", w.Input.readYAML},
		key{"output", w.Output.readYAML},
		key{"prefix", w.Prefix.readYAML},
		key{"classes", func(n *yaml.Node) (err error) { w.Classes, err = readClasses(n); return err }},
		key{"tenants", into(&w.Tenants, whole)},
	)
	if err != nil {
		return err
	}
	if w.Name == "" {
		w.Name = "custom"
	}
	return w.Validate()
}

// readYAML reads an arrival process. With a rate and no process it is Poisson,
// with a concurrency it is closed.
func (a *Arrival) readYAML(node *yaml.Node) error {
	err := readMapping(node, "arrival",
		key{"process", into(&a.Process, parseProcess)},
		key{"rate", into(&a.RatePerS, units.ParseRate)},
		key{"concurrency", into(&a.Concurrency, whole)},
	)
	if err != nil {
		return err
	}
	if a.Process == "" {
		switch {
		case a.Concurrency > 0:
			a.Process = Closed
		case a.RatePerS > 0:
			a.Process = Poisson
		}
	}
	return a.Validate()
}

func parseProcess(s string) (ArrivalProcess, error) {
	switch p := ArrivalProcess(s); p {
	case Constant, Poisson, Closed:
		return p, nil
	}
	known := []string{string(Constant), string(Poisson), string(Closed)}
	return "", unknown("arrival process", s, known, "expected one of "+strings.Join(known, ", "))
}

// Validate reports the first value of an arrival process that makes no sense.
// The zero Arrival means "not said".
func (a Arrival) Validate() error {
	switch {
	case math.IsNaN(a.RatePerS) || a.RatePerS < 0 || a.RatePerS > 1e7:
		return fmt.Errorf("rate %v/s is outside 0 to 10,000,000/s", a.RatePerS)
	case a.Concurrency < 0 || a.Concurrency > 10_000_000:
		return fmt.Errorf("concurrency %d is outside 0 to 10,000,000", a.Concurrency)
	case a.Process == Closed && a.RatePerS > 0:
		return fmt.Errorf("a closed process has a concurrency, not a rate")
	case a.Process != Closed && a.Concurrency > 0:
		return fmt.Errorf("a %s process has a rate, not a concurrency", a.Process)
	}
	return nil
}

func readClasses(node *yaml.Node) (map[string]float64, error) {
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("expected classes and shares, got %s", nodeText(node))
	}
	classes := map[string]float64{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, err := parseClass(node.Content[i].Value)
		if err != nil {
			return nil, at(node.Content[i], err)
		}
		var share float64
		if err := into(&share, number)(follow(node.Content[i+1])); err != nil {
			return nil, at(node.Content[i+1], err)
		}
		classes[name] = share
	}
	return classes, nil
}

// Validate reports the first part of a workload that makes no sense. Input and
// output may be left out, which means "not said".
func (w Workload) Validate() error {
	if w.Input.Kind != "" {
		if err := w.Input.Validate(); err != nil {
			return fmt.Errorf("input: %w", err)
		}
	}
	if w.Output.Kind != "" {
		if err := w.Output.Validate(); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	if err := w.Prefix.Validate(); err != nil {
		return fmt.Errorf("prefix: %w", err)
	}
	if err := w.Arrival.Validate(); err != nil {
		return fmt.Errorf("arrival: %w", err)
	}
	if w.Tenants < 0 || w.Tenants > 10_000_000 {
		return fmt.Errorf("tenants %d is outside 0 to 10,000,000", w.Tenants)
	}
	sum := 0.0
	for name, share := range w.Classes {
		if !(share > 0 && share <= 1) {
			return fmt.Errorf("share %v of class %s is outside 0 to 1", share, name)
		}
		sum += share
	}
	if len(w.Classes) > 0 && math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("the shares of the classes add up to %v, not 1", sum)
	}
	return nil
}
