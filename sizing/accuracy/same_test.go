package accuracy

import (
	"math"
	"testing"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/fit"
)

// TestPlansPredictTheSame: `size --concurrency C --count N` shows the time that
// the accuracy page judges, for each published run of a fixed number of clients.
func TestPlansPredictTheSame(t *testing.T) {
	d, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.files.Open("serving_measured.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := fit.ReadRows(f)
	if err != nil {
		t.Fatal(err)
	}
	points, _ := fit.Published(rows, d.model)
	compared := 0
	for _, p := range points {
		if p.Rate > 0 || p.Load.Cached > 0 || p.Load.Concurrency != math.Trunc(p.Load.Concurrency) {
			continue
		}
		for _, r := range rows {
			if r.Text("id") != p.ID {
				continue
			}
			model, err := d.model(r.Text("model"))
			if err != nil {
				t.Fatal(err)
			}
			q, err := r.Request(model)
			if err != nil {
				t.Fatal(err)
			}
			q.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: int(p.Load.Concurrency)}
			q.Count = p.Facts.Tensor * p.Facts.Pipeline * p.Facts.Data
			plan, err := sizing.Compute(q)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Performance == nil {
				t.Errorf("row %s: no times: %v", p.ID, plan.Reasons)
				continue
			}
			engine, err := profiles.LoadEngine(plan.Inputs.Engine)
			if err != nil {
				t.Fatal(err)
			}
			steady := p.Load
			steady.Rounds = 0 // a plan has no start
			want := cost.ClosedLoop(p.Facts, p.Device, cost.ConstantsFor(engine, p.Device, p.Facts), steady)
			for name, pair := range map[string][2]float64{
				"TPOT": {plan.Performance.TPOT.Mean, want.TPOT}, "TTFT": {plan.Performance.TTFT.Mean, want.TTFT}, "rate": {plan.Performance.RPS, want.Rate},
			} {
				if math.Abs(pair[0]/pair[1]-1) > 1e-6 {
					t.Errorf("row %s: %s of the plan %v, of the accuracy page %v", p.ID, name, pair[0], pair[1])
				}
			}
			compared++
		}
	}
	if compared < 100 {
		t.Errorf("only %d rows compared", compared)
	}
}
