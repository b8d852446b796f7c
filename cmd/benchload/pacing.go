package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/llmctl/llmctl/internal/trial"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// pacing is how evenly llmctl sends at a constant rate.
type pacing struct {
	rate     int // requests per second
	sent     int
	p50, p99 float64 // seconds by which the gap between two requests was off
	largest  float64
	err      error
}

// The rate and time of the check of the pacer.
const (
	paceRate = 500
	paceTime = 20 * time.Second
)

// pace sends requests of one token at a constant rate.
func (o *options) pace(ctx context.Context) pacing {
	p := pacing{rate: paceRate}
	mock, err := trial.StartMock(o.llmctl, trial.Answers{TTFT: time.Millisecond, ITL: time.Millisecond, Tokens: 1})
	if err != nil {
		p.err = err
		return p
	}
	defer mock.Stop()
	dir := filepath.Join(o.work, "pacing")
	defer func() { _ = os.RemoveAll(dir) }()
	_, ran := trial.Run(ctx, []string{
		o.llmctl, "bench", "--endpoint", mock.URL, "--arrival", "constant", "--rps", fmt.Sprint(paceRate), "--duration", paceTime.String(),
		"--warmup", "1s", "--isl", fmt.Sprint(input), "--osl", "1", "--ui", "none", "--save", dir,
	}, nil)
	saved, err := record.Open(dir)
	if err != nil {
		p.err = fmt.Errorf("%w: %w", err, ran)
		return p
	}
	var sent []time.Duration
	for r := range saved.Records() {
		if at, ok := r.Sent.Since(); ok && at >= saved.Run.Window.Start {
			sent = append(sent, at)
		}
	}
	slices.Sort(sent)
	var off stats.Sample
	for i := 1; i < len(sent); i++ {
		off.Add((sent[i] - sent[i-1] - time.Second/paceRate).Abs().Seconds())
	}
	p.sent, p.p50, p.p99, p.largest = len(sent), off.Percentile(50), off.Percentile(99), off.Percentile(100)
	return p
}

func (p pacing) String() string {
	if p.err != nil {
		return "constant rate: " + oneCell(p.err)
	}
	return fmt.Sprintf("%d requests at a constant %d/s: gaps between them are off by %.2f ms (p50), %.2f (p99), %.2f (max)", p.sent, p.rate, p.p50*1e3, p.p99*1e3, p.largest*1e3)
}
