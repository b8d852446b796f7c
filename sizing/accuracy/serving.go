package accuracy

import (
	"strings"

	"github.com/llmctl/llmctl/sizing"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/fit"
)

// Run is a runnable row of serving_measured.csv: how an engine was loaded, and what
// was measured.
type Run struct {
	ID       string
	Subject  string         // model, accelerator and engine, for a reader
	Request  sizing.Request // with the mean lengths as fixed ones
	Kind     string         // of the load, as the row has it
	Load     float64        // clients or requests per second that were asked for; 0 where the row has none
	Source   string
	Notes    string
	MoE      bool
	Measured map[string]float64 // milliseconds or tokens per second, by column; what the row lacks, or may not be tested, is absent
	Shown    map[string]float64 // stated, and not to be tested
}

// figures are the columns of measurements, with the name that the column checks has
// for them.
var figures = map[string]string{
	"ttft_ms_mean": "ttft", "ttft_ms_median": "ttft", "ttft_ms_p99": "ttft_p99",
	"tpot_ms_mean": "tpot", "tpot_ms_median": "tpot", "tpot_ms_p99": "tpot_p99",
	"e2e_ms_mean": "e2e", "e2e_ms_p99": "e2e", "output_tok_s": "output_tok_s",
}

// Runs are the runnable rows that repeat no other, and those that are refused.
func Runs(d Data) (runs []Run, left []Exclusion, err error) {
	rows, err := d.table(servingFile)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		if !r.runnable() || r["duplicate_of"] != "" {
			continue
		}
		run, err := d.run(r)
		if err != nil {
			left = append(left, Exclusion{r["id"], subject(r), err.Error()})
			continue
		}
		runs = append(runs, run)
	}
	return runs, left, nil
}

func (d Data) run(r record) (Run, error) {
	run := Run{
		ID: r["id"], Subject: subject(r), Kind: r["load_kind"], Source: r["source"], Notes: r["notes"],
		Measured: map[string]float64{}, Shown: map[string]float64{},
	}
	model, err := d.model(r["model_key"])
	if err != nil {
		return run, err
	}
	if run.Request, err = fit.NewRow(r).Request(model); err != nil {
		return run, err
	}
	memory, _ := r.number("memory_bytes")
	run.Request.AcceleratorMemory = int64(memory)
	run.Load, _ = r.number("load_value")
	served, err := sizing.Serve(run.Request)
	if err != nil {
		return run, err
	}
	run.MoE = served.Facts.MoE
	for column, name := range figures {
		v, ok := r.number(column)
		switch {
		case !ok:
		case r.checks(name):
			run.Measured[column] = v
		default:
			run.Shown[column] = v
		}
	}
	return run, nil
}

// HeldOut are the constants for each measured point, by its row, from a fit that
// did not see it: neither the row nor others of its model at its load, or no row of
// its model at all.
func HeldOut(d Data, model bool) (map[string]cost.Entry, error) {
	targets, _, err := Points(d)
	if err != nil {
		return nil, err
	}
	known, err := knownPoints(d, targets)
	if err != nil {
		return nil, err
	}
	key := fit.ByLoad(known)
	if model {
		key = fit.ByShape
	}
	held, err := fit.HoldOut(known, targets, key)
	if err != nil {
		return nil, err
	}
	out := map[string]cost.Entry{}
	for _, h := range held {
		e := cost.Entry{
			Engine: h.Point.Engine, Family: h.Point.Family, MoE: h.Point.Facts.MoE, Constants: map[string]float64{},
			Error: printed(h.Point, model), Source: "fit that did not see row " + strings.TrimSpace(h.Point.ID),
		}
		for i, v := range h.Constants.Vector() {
			e.Constants[cost.TermNames[i]] = v
		}
		out[h.Point.ID] = e
	}
	return out, nil
}
