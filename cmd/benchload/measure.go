package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/llmctl/llmctl/internal/trial"
	"github.com/llmctl/llmctl/reports/stats"
)

// load is what a tool is asked to send.
type load struct {
	streams, requests int
	ttft, itl         time.Duration
	tokens            int
}

// samples are what a tool says it saw, in seconds.
type samples struct {
	ttft   []float64
	gaps   []float64 // between events, pooled; nil when the tool does not keep them
	means  []float64 // mean gap of each request; nil where gaps are known
	failed int
}

// measurement is one run of one tool.
type measurement struct {
	tool   string
	repeat int
	load   load
	err    error

	requests, failed   int
	ttftP50, ttftP99   float64 // seconds by which TTFT was off
	gapP50, gapP99, sd float64 // seconds by which gaps were off; standard deviation of gaps
	means              bool    // gaps are means of requests
	eventsPerS         float64
	cpu                time.Duration // of the tool, start included
	rss                int64         // bytes, the largest
	mockP99            float64       // seconds by which the mock was late; NaN when unknown
}

// measure runs one tool once against a mock of its own.
func (o *options) measure(ctx context.Context, t *tool, l load, repeat int) measurement {
	m := measurement{tool: t.name, repeat: repeat, load: l, mockP99: math.NaN()}
	mock, err := trial.StartMock(o.llmctl, trial.Answers{TTFT: l.ttft, ITL: l.itl, Tokens: l.tokens})
	if err != nil {
		m.err = err
		return m
	}
	defer mock.Stop()
	dir := filepath.Join(o.work, fmt.Sprintf("%s-%d-%d", t.name, l.streams, repeat))
	if m.err = os.MkdirAll(dir, 0o755); m.err != nil {
		return m
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := trial.Run(ctx, t.command(o, l, mock.URL, dir), t.env(o))
	m.cpu, m.rss = p.CPU, p.RSS
	seen, readErr := t.read(dir)
	if readErr != nil {
		m.err = errors.Join(err, readErr)
		return m
	}
	// A tool may end with an error and still have measured, as llmctl does when
	// it does not trust itself. Its numbers are taken as they are.
	m.mockP99 = mock.Lateness()
	m.take(seen, l)
	return m
}

func (m *measurement) take(s samples, l load) {
	m.requests, m.failed = len(s.ttft), s.failed
	if len(s.ttft) == 0 {
		m.err = errors.New("it measured no request")
		return
	}
	m.ttftP50, m.ttftP99, _ = off(s.ttft, l.ttft.Seconds())
	gaps := s.gaps
	if gaps == nil {
		gaps, m.means = s.means, true
	}
	m.gapP50, m.gapP99, m.sd = off(gaps, l.itl.Seconds())
	each := l.ttft + time.Duration(l.tokens-1)*l.itl
	m.eventsPerS = float64(l.streams) * float64(l.tokens) / each.Seconds()
}

// off is how far samples are from what is true, in either direction, and their
// standard deviation.
func off(values []float64, truth float64) (p50, p99, sd float64) {
	var errs, all stats.Sample
	for _, v := range values {
		errs.Add(math.Abs(v - truth))
		all.Add(v)
	}
	if d := all.Dist(0); d != nil { // 0: as it is, not rounded
		if d.StdDev != nil {
			sd = *d.StdDev
		}
	}
	return errs.Percentile(50), errs.Percentile(99), sd
}

func (m *measurement) line() string {
	if m.err != nil {
		return fmt.Sprintf("%-9s %5d streams: %v", m.tool, m.load.streams, m.err)
	}
	return fmt.Sprintf("%-9s %5d streams: TTFT off by %.2f ms (p50) %.2f (p99), gaps %.2f ms (p50) %.2f (p99) sd %.2f, CPU %.1f s, %d MiB, mock late by %.2f ms (p99), %d requests, %d failed",
		m.tool, m.load.streams, m.ttftP50*1e3, m.ttftP99*1e3, m.gapP50*1e3, m.gapP99*1e3, m.sd*1e3, m.cpu.Seconds(), m.rss>>20, m.mockP99*1e3, m.requests, m.failed)
}
