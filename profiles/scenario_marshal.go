package profiles

import "go.yaml.in/yaml/v3"

// MarshalYAML writes the scenario as ParseScenario reads it. What was not said
// is left out.
func (s Scenario) MarshalYAML() (any, error) {
	out := mapping{}
	out.text("model", s.Model)
	out.text("accelerator", s.Accelerator)
	out.text("engine", s.Engine)
	out.nested("parallel", s.Parallel.yaml())
	out.nested("workload", s.Workload.yaml())
	if len(s.Also) > 0 {
		also := &yaml.Node{Kind: yaml.SequenceNode}
		for _, w := range s.Also {
			also.Content = append(also.Content, w.yaml().node())
		}
		out.value("also", also)
	}
	out.nested("serving", sectionMapping(&s.Serving))
	out.nested("cluster", sectionMapping(&s.Cluster))
	out.nested("compare", compareYAML(s.Compare))
	switch len(s.SLO) {
	case 0:
	case 1:
		out.nested("slo", s.SLO[0].yaml())
	default:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, slo := range s.SLO {
			list.Content = append(list.Content, slo.yaml().node())
		}
		out = append(out, pair{"slo", list})
	}
	price := mapping{}
	price.number("usd_per_accelerator_hour", s.Price.USDPerAcceleratorHour)
	out.nested("price", price)
	out.text("experiment", s.Experiment)
	out.nested("run", sectionMapping(&s.Run))
	return out.node(), nil
}

// MarshalYAML writes the workload as ParseWorkload reads it.
func (w Workload) MarshalYAML() (any, error) { return w.yaml().node(), nil }

func (p Parallel) yaml() mapping {
	out := mapping{}
	out.number("tensor", float64(p.Tensor))
	out.number("pipeline", float64(p.Pipeline))
	out.number("expert", float64(p.Expert))
	out.number("data", float64(p.Data))
	return out
}

func (w Workload) yaml() mapping {
	out := mapping{}
	out.text("name", w.Name)
	out.nested("arrival", w.Arrival.yaml())
	out.nested("input", w.Input.yaml())
	out.nested("output", w.Output.yaml())
	out.nested("prefix", w.Prefix.yaml())
	if w.Prefix.None {
		out.text("prefix", w.Prefix.String())
	}
	out.nested("session", w.Session.yaml())
	out.nested("cancel", w.Cancel.yaml())
	out.nested("classes", sharesYAML(w.Classes))
	out.number("tenants", float64(w.Tenants))
	out.text("tenant", w.Tenant)
	out.nested("models", sharesYAML(w.Models))
	out.number("tools", w.Tools)
	out.number("json_schema", w.Schema)
	out.nested("trace", w.Trace.yaml())
	return out
}

func sharesYAML(shares map[string]float64) mapping {
	out := mapping{}
	for _, name := range sortedKeys(shares) {
		out.number(name, shares[name])
	}
	return out
}

func (p Prefix) yaml() mapping {
	out := mapping{}
	out.number("groups", float64(p.Groups))
	out.number("tokens", float64(p.Tokens))
	if p.Popularity > 0 {
		out.text("popularity", formatPopularity(p.Popularity))
	}
	return out
}

func (a Arrival) yaml() mapping {
	out := mapping{}
	out.text("process", string(a.Process))
	for _, name := range arrivalNames {
		switch {
		case name == "steps" && a.Curve != nil:
			out.value(name, a.Curve.yaml())
		case name != "steps" && a.Said(name):
			out.value(name, scalarNode(a.text(name)))
		}
	}
	return out
}

func (d Distribution) yaml() mapping {
	out := mapping{}
	if d.Kind == "" {
		return out
	}
	switch d.Kind {
	case Fixed:
		out.number("fixed", d.Mean)
		return out
	case Empirical:
		out.value(string(Empirical), d.Samples.yaml())
		return out
	}
	parameters := mapping{}
	for _, name := range distributionParameters[d.Kind] {
		// A standard deviation of 0 is said, not left out.
		parameters = append(parameters, pair{name, scalarNode(formatNumber(*d.parameter(name)))})
	}
	out.nested(string(d.Kind), parameters)
	return out
}

func (s SLO) yaml() mapping {
	out := mapping{}
	out.text("class", s.Class)
	for _, name := range sloClauses {
		if d := *s.bound(name); d > 0 {
			out.text(name, d.String())
		}
	}
	out.number("attainment", s.Attainment)
	return out
}
