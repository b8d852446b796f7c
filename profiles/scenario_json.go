package profiles

import (
	"encoding/json"
	"time"
)

// MarshalJSON writes the scenario for reports: snake_case keys with the unit in
// the key, and nothing for what was not said.
func (s Scenario) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Model       string       `json:"model,omitempty"`
		Accelerator string       `json:"accelerator,omitempty"`
		Engine      string       `json:"engine,omitempty"`
		Parallel    Parallel     `json:"parallel,omitzero"`
		Workload    Workload     `json:"workload,omitzero"`
		Also        []Workload   `json:"also,omitempty"`
		Serving     Serving      `json:"serving,omitzero"`
		Cluster     Cluster      `json:"cluster,omitzero"`
		Compare     []Comparison `json:"compare,omitempty"`
		SLO         []SLO        `json:"slo,omitempty"`
		Price       *jsonPrice   `json:"price,omitempty"`
		Experiment  string       `json:"experiment,omitempty"`
		Run         Run          `json:"run,omitzero"`
	}{s.Model, s.Accelerator, s.Engine, s.Parallel, s.Workload, s.Also, s.Serving, s.Cluster, s.Compare, s.SLO, newJSONPrice(s.Price), s.Experiment, s.Run})
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
		w.Prefix == Prefix{} && w.Session == Session{} && w.Cancel == Cancel{} && w.Tenants == 0 && w.Tenant == "" && len(w.Classes) == 0 &&
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
		Arrival Arrival            `json:"arrival,omitzero"`
		Input   Distribution       `json:"input_tokens,omitzero"`
		Output  Distribution       `json:"output_tokens,omitzero"`
		Prefix  *prefix            `json:"prefix,omitempty"`
		Turns   Distribution       `json:"turns,omitzero"`
		Think   Delay              `json:"think_s,omitzero"`
		Cancel  Cancel             `json:"cancel,omitzero"`
		Tenants int                `json:"tenants,omitempty"`
		Tenant  string             `json:"tenant,omitempty"`
		Classes map[string]float64 `json:"classes,omitempty"`
		Models  map[string]float64 `json:"models,omitempty"`
		Tools   float64            `json:"tools,omitempty"`
		Schema  float64            `json:"json_schema,omitempty"`
		Trace   Trace              `json:"trace,omitzero"`
	}{w.Name, w.Arrival, w.Input, w.Output, shared, w.Session.Turns, w.Session.Think, w.Cancel, w.Tenants, w.Tenant, w.Classes, w.Models, w.Tools, w.Schema, w.Trace})
}

// MarshalJSON writes the process and its parameters with units in the keys.
func (a Arrival) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Process     ArrivalProcess `json:"process,omitempty"`
		Rate        float64        `json:"rate_per_s,omitempty"`
		CV          float64        `json:"cv,omitempty"`
		From        *float64       `json:"from_per_s,omitempty"`
		To          float64        `json:"to_per_s,omitempty"`
		Over        float64        `json:"over_s,omitempty"`
		Steps       []jsonStep     `json:"steps,omitempty"`
		Amplitude   float64        `json:"amplitude_per_s,omitempty"`
		Period      float64        `json:"period_s,omitempty"`
		Speed       float64        `json:"speed,omitempty"`
		Concurrency int            `json:"concurrency,omitempty"`
		Count       int            `json:"users,omitempty"`
		Ramp        float64        `json:"ramp_s,omitempty"`
	}{
		a.Process, a.RatePerS, a.CV, a.from(), a.ToPerS, a.Over.Seconds(), a.Curve.json(), a.AmplitudePerS, a.Period.Seconds(), a.Speed,
		a.Concurrency, a.Count, a.RampUp.Seconds(),
	})
}

// from is where a ramp begins, which may be 0; nil for other processes.
func (a Arrival) from() *float64 {
	if a.Process != Ramp {
		return nil
	}
	return &a.FromPerS
}

// MarshalJSON writes the kind and its parameters: of values from a file their
// number and range, since the file has the rest.
func (d Distribution) MarshalJSON() ([]byte, error) {
	out := map[string]any{"kind": d.Kind}
	for _, name := range distributionParameters[d.Kind] {
		out[name] = *d.parameter(name)
	}
	if s := d.Samples; s != nil && s.File == "" {
		out["values"] = s.Values
	} else if s != nil {
		out["file"] = s.File
		if n := len(s.Values); n > 0 {
			out["n"], out["mean"], out["min"], out["max"] = n, s.mean(), s.Values[0], s.Values[n-1]
		}
	}
	return json.Marshal(out)
}

// MarshalJSON writes the kind and its parameters in seconds.
func (d Delay) MarshalJSON() ([]byte, error) {
	out := map[string]any{"kind": d.Kind}
	for _, name := range delayParameters[d.Kind] {
		out[name] = d.parameter(name).Seconds()
	}
	return json.Marshal(out)
}

// MarshalJSON writes the share and the time in seconds.
func (c Cancel) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Fraction float64 `json:"fraction"`
		After    Delay   `json:"after_s"`
	}(c))
}

// MarshalJSON writes the file and its layout.
func (t Trace) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		File   string `json:"file"`
		Format string `json:"format,omitempty"`
	}(t))
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
