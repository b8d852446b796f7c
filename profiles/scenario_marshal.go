package profiles

import (
	"encoding/json"
	"time"

	"go.yaml.in/yaml/v3"
)

// MarshalYAML writes the scenario as ParseScenario reads it. What was not said
// is left out.
func (s Scenario) MarshalYAML() (any, error) {
	out := mapping{}
	out.text("model", s.Model)
	out.text("accelerator", s.Accelerator)
	out.text("engine", s.Engine)
	out.nested("parallel", s.Parallel.yaml())
	out.nested("workload", s.Workload.yaml())
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
	arrival := mapping{}
	arrival.text("process", string(w.Arrival.Process))
	if w.Arrival.RatePerS > 0 {
		arrival.text("rate", formatNumber(w.Arrival.RatePerS)+"/s")
	}
	arrival.number("concurrency", float64(w.Arrival.Concurrency))
	out.nested("arrival", arrival)
	out.nested("input", w.Input.yaml())
	out.nested("output", w.Output.yaml())
	if w.Prefix.None {
		out.text("prefix", w.Prefix.String())
	}
	prefix := mapping{}
	prefix.number("groups", float64(w.Prefix.Groups))
	prefix.number("tokens", float64(w.Prefix.Tokens))
	if w.Prefix.Popularity > 0 {
		prefix.text("popularity", formatPopularity(w.Prefix.Popularity))
	}
	out.nested("prefix", prefix)
	classes := mapping{}
	for _, name := range sortedKeys(w.Classes) {
		classes.number(name, w.Classes[name])
	}
	out.nested("classes", classes)
	out.number("tenants", float64(w.Tenants))
	return out
}

func (d Distribution) yaml() mapping {
	out := mapping{}
	if d.Kind == "" {
		return out
	}
	if d.Kind == Fixed {
		out.number("fixed", d.Mean)
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

// MarshalJSON writes the scenario for reports: snake_case keys with the unit in
// the key, and nothing for what was not said.
func (s Scenario) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Model       string     `json:"model,omitempty"`
		Accelerator string     `json:"accelerator,omitempty"`
		Engine      string     `json:"engine,omitempty"`
		Parallel    Parallel   `json:"parallel,omitzero"`
		Workload    Workload   `json:"workload,omitzero"`
		SLO         []SLO      `json:"slo,omitempty"`
		Price       *jsonPrice `json:"price,omitempty"`
		Experiment  string     `json:"experiment,omitempty"`
	}{s.Model, s.Accelerator, s.Engine, s.Parallel, s.Workload, s.SLO, newJSONPrice(s.Price), s.Experiment})
}

type jsonPrice struct {
	USDPerAcceleratorHour float64 `json:"usd_per_accelerator_hour"`
}

func newJSONPrice(p Price) *jsonPrice {
	if p.USDPerAcceleratorHour == 0 {
		return nil
	}
	return &jsonPrice{p.USDPerAcceleratorHour}
}

// IsZero reports a workload of which nothing was said.
func (w Workload) IsZero() bool {
	return w.Name == "" && w.Arrival == Arrival{} && w.Input == Distribution{} && w.Output == Distribution{} &&
		w.Prefix == Prefix{} && w.Session == Session{} && w.Cancel == Cancel{} && w.Tenants == 0 && len(w.Classes) == 0 &&
		len(w.Models) == 0 && w.Tools == 0 && w.Schema == 0 && w.Trace == Trace{}
}

// MarshalJSON writes the degrees that were said.
func (p Parallel) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Tensor   int `json:"tensor,omitempty"`
		Pipeline int `json:"pipeline,omitempty"`
		Expert   int `json:"expert,omitempty"`
		Data     int `json:"data,omitempty"`
	}(p))
}

// MarshalJSON writes the workload with units in the keys.
func (w Workload) MarshalJSON() ([]byte, error) {
	type arrival struct {
		Process     ArrivalProcess `json:"process,omitempty"`
		RatePerS    float64        `json:"rate_per_s,omitempty"`
		Concurrency int            `json:"concurrency,omitempty"`
	}
	type prefix struct {
		Groups     int     `json:"groups"`
		Tokens     int     `json:"tokens"`
		Popularity float64 `json:"zipf_exponent,omitempty"`
	}
	var shared *prefix // absent when nobody said whether prompts share anything
	if p := w.Prefix; p != (Prefix{}) {
		shared = &prefix{p.Groups, p.Tokens, p.Popularity}
	}
	return json.Marshal(struct {
		Name    string             `json:"name,omitempty"`
		Arrival arrival            `json:"arrival,omitzero"`
		Input   Distribution       `json:"input_tokens,omitzero"`
		Output  Distribution       `json:"output_tokens,omitzero"`
		Prefix  *prefix            `json:"prefix,omitempty"`
		Tenants int                `json:"tenants,omitempty"`
		Classes map[string]float64 `json:"classes,omitempty"`
	}{w.Name, arrival{w.Arrival.Process, w.Arrival.RatePerS, w.Arrival.Concurrency}, w.Input, w.Output, shared, w.Tenants, w.Classes})
}

// MarshalJSON writes the kind and its parameters.
func (d Distribution) MarshalJSON() ([]byte, error) {
	out := map[string]any{"kind": d.Kind}
	for _, name := range distributionParameters[d.Kind] {
		out[name] = *d.parameter(name)
	}
	return json.Marshal(out)
}

// MarshalJSON writes the bounds in seconds and the attainment that applies.
func (s SLO) MarshalJSON() ([]byte, error) {
	seconds := func(d time.Duration) float64 { return d.Seconds() }
	return json.Marshal(struct {
		Class      string  `json:"class,omitempty"`
		TTFT       float64 `json:"ttft_s,omitempty"`
		TPOT       float64 `json:"tpot_s,omitempty"`
		E2E        float64 `json:"e2e_s,omitempty"`
		TTFO       float64 `json:"ttfo_s,omitempty"`
		Attainment float64 `json:"attainment"`
	}{s.Class, seconds(s.TTFT), seconds(s.TPOT), seconds(s.E2E), seconds(s.TTFO), s.Target()})
}
