package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// runJSON is Run as run.json keeps it under "facts": seconds as exact decimals,
// what is unknown left out.
type runJSON struct {
	Kind         string          `json:"kind"`
	ID           string          `json:"id,omitempty"`
	Scenario     json.RawMessage `json:"scenario,omitempty"`
	Asked        string          `json:"asked,omitempty"`
	Setup        string          `json:"setup,omitempty"`
	Requests     int             `json:"asked_requests,omitempty"`
	AskedRPS     float64         `json:"asked_rps,omitempty"`
	Target       Target          `json:"target"`
	Environment  Environment     `json:"environment"`
	Window       windowJSON      `json:"window"`
	SLO          []sloJSON       `json:"slo,omitempty"`
	SLODefault   bool            `json:"slo_default,omitempty"`
	Cost         *costJSON       `json:"cost,omitempty"`
	Client       clientJSON      `json:"client"`
	Server       []ServerSample  `json:"server,omitempty"`
	GPUs         []gpuJSON       `json:"gpu,omitempty"`
	Spent        []spentJSON     `json:"spent,omitempty"`
	Gateway      *Gateway        `json:"gateway,omitempty"`
	Interrupted  bool            `json:"interrupted,omitempty"`
	Warnings     []Warning       `json:"warnings,omitempty"`
	ClosedLoop   bool            `json:"closed_loop,omitempty"`
	SharedPrefix bool            `json:"shared_prefix,omitempty"`
	Shard        *int            `json:"shard,omitempty"`
	Shards       int             `json:"shards,omitempty"`
	StartAt      time.Time       `json:"start_at,omitzero"`
	Defaults     []Default       `json:"defaults,omitempty"`
	MaxFailures  float64         `json:"max_failures,omitempty"`
	Asserts      []string        `json:"asserts,omitempty"`
	Records      *int            `json:"records,omitempty"`
}

type windowJSON struct {
	Start seconds `json:"start_s"`
	End   seconds `json:"end_s"`
}

type sloJSON struct {
	Class      string  `json:"class,omitempty"`
	TTFT       seconds `json:"ttft_s,omitempty"`
	TPOT       seconds `json:"tpot_s,omitempty"`
	E2E        seconds `json:"e2e_s,omitempty"`
	TTFO       seconds `json:"ttfo_s,omitempty"`
	Attainment float64 `json:"attainment,omitempty"`
}

type costJSON struct {
	USDPerHour float64 `json:"usd_per_hour"`
	Source     string  `json:"source,omitempty"`
}

// MarshalJSON writes the run's facts; what is unknown (NaN, a negative CPU
// fraction, a price of 0) is left out.
func (r Run) MarshalJSON() ([]byte, error) {
	out := runJSON{
		Kind: r.Kind, ID: r.ID, Scenario: r.Scenario, Asked: r.Asked, Setup: r.Setup, Requests: r.Requests, AskedRPS: r.AskedRPS, Defaults: r.Defaults,
		Target: r.Target, Environment: r.Environment,
		Window:      windowJSON{seconds(r.Window.Start), seconds(r.Window.End)},
		SLODefault:  r.SLODefault,
		Client:      clientToJSON(r.Client),
		Interrupted: r.Interrupted, Warnings: r.Warnings,
		ClosedLoop: r.ClosedLoop, SharedPrefix: r.SharedPrefix,
		MaxFailures: r.MaxFailures, Asserts: r.Asserts, StartAt: r.StartAt,
	}
	if r.Shards > 0 {
		out.Shard, out.Shards = &r.Shard, r.Shards
	}
	if n, ok := r.Records.Value(); ok {
		out.Records = &n
	}
	if r.Cost != (Cost{}) {
		out.Cost = &costJSON{r.Cost.USDPerHour, r.Cost.Source}
	}
	for _, s := range r.SLO {
		out.SLO = append(out.SLO, sloJSON{s.Class, seconds(s.TTFT), seconds(s.TPOT), seconds(s.E2E), seconds(s.TTFO), s.Attainment})
	}
	out.Server, out.GPUs, out.Spent, out.Gateway = r.Server, gpusToJSON(r.GPUs), spentToJSON(r.Spent), r.Gateway
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Run) UnmarshalJSON(text []byte) error {
	in := runJSON{}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.Scenario != nil {
		var compact bytes.Buffer // run.json is indented, the scenario was not
		if err := json.Compact(&compact, in.Scenario); err != nil {
			return err
		}
		in.Scenario = compact.Bytes()
	}
	*r = Run{
		Kind: in.Kind, ID: in.ID, Scenario: in.Scenario, Asked: in.Asked, Setup: in.Setup, Requests: in.Requests, AskedRPS: in.AskedRPS, Defaults: in.Defaults,
		Target: in.Target, Environment: in.Environment,
		Window:      Window{time.Duration(in.Window.Start), time.Duration(in.Window.End)},
		SLODefault:  in.SLODefault,
		Client:      clientFromJSON(in.Client),
		Interrupted: in.Interrupted, Warnings: in.Warnings,
		ClosedLoop: in.ClosedLoop, SharedPrefix: in.SharedPrefix,
		MaxFailures: in.MaxFailures, Asserts: in.Asserts, StartAt: in.StartAt,
	}
	if in.Shard != nil {
		if *in.Shard < 0 || *in.Shard >= in.Shards {
			return fmt.Errorf("shard %d of %d, expected one from 0 on and below %d", *in.Shard, in.Shards, in.Shards)
		}
		r.Shard, r.Shards = *in.Shard, in.Shards
	}
	if in.Records != nil {
		if *in.Records < 0 {
			return fmt.Errorf("records %d is negative", *in.Records)
		}
		r.Records = Counted(*in.Records)
	}
	if in.Cost != nil {
		r.Cost = Cost{in.Cost.USDPerHour, in.Cost.Source}
	}
	for _, s := range in.SLO {
		r.SLO = append(r.SLO, SLO{s.Class, time.Duration(s.TTFT), time.Duration(s.TPOT), time.Duration(s.E2E), time.Duration(s.TTFO), s.Attainment})
	}
	r.Server, r.GPUs, r.Spent, r.Gateway = in.Server, gpusFromJSON(in.GPUs), spentFromJSON(in.Spent), in.Gateway
	return nil
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
