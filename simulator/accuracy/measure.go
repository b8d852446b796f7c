package accuracy

import (
	"context"
	"errors"
	"time"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/simulator/study"
	plan "github.com/llmctl/llmctl/sizing/accuracy"
	"github.com/llmctl/llmctl/sizing/cost"
)

// drain is how long requests may take to end after the last was sent.
const drain = 2 * time.Hour

// simulate runs a row as it was measured, and returns its figures by their columns
// in the table.
func simulate(ctx context.Context, r plan.Run, m method, constants []cost.Entry) (map[string]float64, error) {
	q := study.Request{Sizing: r.Request, Length: study.Length{Drain: drain}}
	q.Sizing.Calibration = constants
	q.Sizing.Scenario.Cluster.Replicas = 1
	if err := m.apply(r, &q); err != nil {
		return nil, err
	}
	s, err := study.New(q)
	if err != nil {
		return nil, err
	}
	report, err := s.Run(ctx, 1)
	if err != nil {
		return nil, err
	}
	return figuresOf(report)
}

// figuresOf are a report's figures, in milliseconds and tokens per second, by the
// columns of the table.
func figuresOf(r *reports.Report) (map[string]float64, error) {
	if r.TTFT == nil || r.TPOT == nil || r.E2E == nil || r.Rates.OutputTokensPerS == nil {
		return nil, errors.New("no request was answered")
	}
	return map[string]float64{
		"ttft_ms_mean": 1e3 * r.TTFT.Mean, "ttft_ms_median": 1e3 * r.TTFT.P50, "ttft_ms_p99": 1e3 * r.TTFT.P99,
		"tpot_ms_mean": 1e3 * r.TPOT.Mean, "tpot_ms_median": 1e3 * r.TPOT.P50, "tpot_ms_p99": 1e3 * r.TPOT.P99,
		"e2e_ms_mean": 1e3 * r.E2E.Mean, "e2e_ms_p99": 1e3 * r.E2E.P99,
		"output_tok_s": *r.Rates.OutputTokensPerS,
	}, nil
}
