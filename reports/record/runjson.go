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
	Target       Target          `json:"target"`
	Environment  Environment     `json:"environment"`
	Window       windowJSON      `json:"window"`
	SLO          []sloJSON       `json:"slo,omitempty"`
	SLODefault   bool            `json:"slo_default,omitempty"`
	Cost         *costJSON       `json:"cost,omitempty"`
	Client       clientJSON      `json:"client"`
	Server       []sampleJSON    `json:"server,omitempty"`
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

type clientJSON struct {
	CPUFraction *float64 `json:"cpu_fraction,omitempty"`
	GCPauseP99  seconds  `json:"gc_pause_p99_s"`
	MaxLag      seconds  `json:"max_lag_s,omitempty"`
}

type sampleJSON struct {
	At               seconds  `json:"at_s"`
	Running          *float64 `json:"running,omitempty"`
	Waiting          *float64 `json:"waiting,omitempty"`
	KVUsage          *float64 `json:"kv_usage,omitempty"`
	Preemptions      *float64 `json:"preemptions,omitempty"`
	PrefixQueries    *float64 `json:"prefix_queries,omitempty"`
	PrefixHits       *float64 `json:"prefix_hits,omitempty"`
	PromptTokens     *float64 `json:"prompt_tokens,omitempty"`
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
}

// MarshalJSON writes the run's facts; what is unknown (NaN, a negative CPU
// fraction, a price of 0) is left out.
func (r Run) MarshalJSON() ([]byte, error) {
	out := runJSON{
		Kind: r.Kind, ID: r.ID, Scenario: r.Scenario, Asked: r.Asked, Defaults: r.Defaults,
		Target: r.Target, Environment: r.Environment,
		Window:     windowJSON{seconds(r.Window.Start), seconds(r.Window.End)},
		SLODefault: r.SLODefault,
		Client: clientJSON{
			GCPauseP99: seconds(r.Client.GCPauseP99),
			MaxLag:     seconds(r.Client.MaxLag),
		},
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
	if r.Client.CPUFraction >= 0 {
		out.Client.CPUFraction = known(r.Client.CPUFraction)
	}
	if r.Cost != (Cost{}) {
		out.Cost = &costJSON{r.Cost.USDPerHour, r.Cost.Source}
	}
	for _, s := range r.SLO {
		out.SLO = append(out.SLO, sloJSON{s.Class, seconds(s.TTFT), seconds(s.TPOT), seconds(s.E2E), seconds(s.TTFO), s.Attainment})
	}
	for _, s := range r.Server {
		out.Server = append(out.Server, sampleJSON{
			seconds(s.At), known(s.Running), known(s.Waiting), known(s.KVUsage), known(s.Preemptions),
			known(s.PrefixQueries), known(s.PrefixHits), known(s.PromptTokens), known(s.GenerationTokens),
		})
	}
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
		Kind: in.Kind, ID: in.ID, Scenario: in.Scenario, Asked: in.Asked, Defaults: in.Defaults,
		Target: in.Target, Environment: in.Environment,
		Window:     Window{time.Duration(in.Window.Start), time.Duration(in.Window.End)},
		SLODefault: in.SLODefault,
		Client: Client{
			CPUFraction: -1,
			GCPauseP99:  time.Duration(in.Client.GCPauseP99),
			MaxLag:      time.Duration(in.Client.MaxLag),
		},
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
	if in.Client.CPUFraction != nil {
		r.Client.CPUFraction = *in.Client.CPUFraction
	}
	if in.Cost != nil {
		r.Cost = Cost{in.Cost.USDPerHour, in.Cost.Source}
	}
	for _, s := range in.SLO {
		r.SLO = append(r.SLO, SLO{s.Class, time.Duration(s.TTFT), time.Duration(s.TPOT), time.Duration(s.E2E), time.Duration(s.TTFO), s.Attainment})
	}
	for _, s := range in.Server {
		r.Server = append(r.Server, ServerSample{
			time.Duration(s.At), orNaN(s.Running), orNaN(s.Waiting), orNaN(s.KVUsage), orNaN(s.Preemptions),
			orNaN(s.PrefixQueries), orNaN(s.PrefixHits), orNaN(s.PromptTokens), orNaN(s.GenerationTokens),
		})
	}
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
