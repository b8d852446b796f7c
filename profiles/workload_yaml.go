package profiles

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// ParseWorkload reads a workload in YAML, as it stands under `workload:` in a
// scenario. Files that it names are not read; LoadWorkload does that.
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
	class := ""
	err := readMapping(node, "a workload",
		key{"name", into(&w.Name, parseClass)},
		key{"arrival", w.Arrival.readYAML},
		key{"input", w.Input.readYAML},
		key{"output", w.Output.readYAML},
		key{"prefix", w.Prefix.readYAML},
		key{"session", w.Session.readYAML},
		key{"cancel", w.Cancel.readYAML},
		key{"classes", func(n *yaml.Node) (err error) { w.Classes, err = readShares(n, "classes", parseClass); return err }},
		key{"class", into(&class, parseClass)},
		key{"tenants", into(&w.Tenants, whole)},
		key{"tenant", into(&w.Tenant, parseTenant)},
		key{"models", func(n *yaml.Node) (err error) { w.Models, err = readShares(n, "models", parseModelName); return err }},
		key{"tools", into(&w.Tools, number)},
		key{"json_schema", into(&w.Schema, number)},
		key{"trace", w.Trace.readYAML},
	)
	if err != nil {
		return err
	}
	switch {
	case class != "" && len(w.Classes) > 0:
		return atPart(node, &partError{"class", errors.New("all sessions are of this class, which contradicts classes; leave one of them out")})
	case class != "":
		w.Classes = map[string]float64{class: 1}
	}
	if w.Name == "" {
		w.Name = "custom"
	}
	return atPart(node, w.check())
}

// partError is an error about one key of a workload.
type partError struct {
	part string
	err  error
}

func (e *partError) Error() string { return e.part + ": " + e.err.Error() }
func (e *partError) Unwrap() error { return e.err }

// atPart adds the line of the key that an error is about.
func atPart(node *yaml.Node, err error) error {
	var part *partError
	if !errors.As(err, &part) {
		return err
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == part.part {
			return at(node.Content[i], err)
		}
	}
	return err
}

// readYAML reads an arrival process. With a rate and no process it is Poisson,
// with a concurrency it is closed, with a count users.
func (a *Arrival) readYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return into(a, ParseArrival)(node)
	}
	keys := []key{{"process", into(&a.Process, parseProcess)}}
	for _, name := range arrivalNames {
		if name == "steps" {
			keys = append(keys, key{name, func(n *yaml.Node) (err error) { a.Curve, err = readCurve(n); return err }})
			continue
		}
		keys = append(keys, key{name, func(n *yaml.Node) error {
			text, err := scalar(n)
			if err != nil {
				return err
			}
			return a.set(name, text)
		}})
	}
	if err := readMapping(node, "arrival", keys...); err != nil {
		return err
	}
	if a.Process == "" {
		switch {
		case a.Concurrency > 0:
			a.Process = Closed
		case a.Count > 0:
			a.Process = Users
		case a.RatePerS > 0:
			a.Process = Poisson
		}
	}
	return a.Validate()
}

// Validate reports the first part of a workload that makes no sense or that
// contradicts another. Input and output may be left out, which means "not said".
func (w Workload) Validate() error {
	if err := w.check(); err != nil {
		return err
	}
	for _, d := range []struct {
		part string
		Distribution
	}{{"input", w.Input}, {"output", w.Output}, {"session", w.Session.Turns}} {
		if d.Distribution == (Distribution{}) {
			continue
		}
		if err := d.Validate(); err != nil {
			return &partError{d.part, err}
		}
	}
	return nil
}

// check is Validate where files need not have been read yet.
func (w Workload) check() error {
	for _, c := range []struct {
		part  string
		check func() error
	}{
		{"input", w.Input.checkSaid},
		{"output", w.Output.checkSaid},
		{"prefix", w.Prefix.Validate},
		{"arrival", w.Arrival.Validate},
		{"session", w.Session.check},
		{"cancel", w.Cancel.Validate},
		{"classes", func() error { return checkShares(w.Classes, parseClass) }},
		{"models", func() error { return checkShares(w.Models, parseModelName) }},
		{"tools", func() error { return checkShare(w.Tools) }},
		{"json_schema", func() error { return checkShare(w.Schema) }},
		{"trace", w.Trace.Validate},
	} {
		if err := c.check(); err != nil {
			return &partError{c.part, err}
		}
	}
	if w.Tenant != "" {
		if _, err := parseTenant(w.Tenant); err != nil {
			return &partError{"tenant", err}
		}
	}
	if w.Tenants < 0 || w.Tenants > 10_000_000 {
		return fmt.Errorf("tenants %d is outside 0 to 10,000,000", w.Tenants)
	}
	return w.contradiction()
}

// checkLoad reports a workload that does not say how much of it there is, which
// has no default beside another one.
func (w Workload) checkLoad() error {
	a := w.Arrival
	switch {
	case w.Trace != Trace{} && a.Process == "":
		return nil
	case a.Process == "", a.Process.Takes("rate") && a.RatePerS == 0:
		return &partError{"arrival", errors.New("a further workload needs its load, such as { rate: 2/s }")}
	}
	return nil
}

// parseTenant reads the name of a tenant.
func parseTenant(s string) (string, error) {
	if !isName(s) {
		return "", fmt.Errorf("tenant %q is not a name of letters, digits, - and _", s)
	}
	return s, nil
}

// contradiction reports two parts of which one would have no effect.
func (w Workload) contradiction() error {
	process := w.Arrival.Process
	switch {
	case w.Tenant != "" && w.Tenants > 0:
		return &partError{"tenant", errors.New("all sessions are of this tenant, which contradicts tenants; leave one of them out")}
	case process == TraceArrival && w.Trace == Trace{}:
		return &partError{"arrival", errors.New("a trace process needs a trace, whose times it replays")}
	case w.Session.Think != Delay{} && w.Session.Single() && process != Users && process != "" && w.Trace == Trace{}:
		return &partError{"session", errors.New("think has no effect: sessions have one request; say turns, or let users send")}
	}
	if w.Trace == (Trace{}) {
		return nil
	}
	for _, own := range []struct {
		part string
		said bool
	}{
		{"input", w.Input != Distribution{}},
		{"output", w.Output != Distribution{}},
		{"prefix", w.Prefix != Prefix{}},
		{"session", w.Session.Turns != Distribution{} || w.Session.Think != Delay{} && process != Users},
	} {
		if own.said {
			return &partError{own.part, errors.New("the requests of a trace have their own; leave it out")}
		}
	}
	return nil
}
