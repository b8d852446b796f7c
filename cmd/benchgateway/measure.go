package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/llmctl/llmctl/internal/trial"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// The streams of the open loop: the mock's times.
const (
	ttft   = 50 * time.Millisecond
	itl    = 10 * time.Millisecond
	tokens = 20
	prompt = 250 // words, about one kilobyte
)

// kind is what was measured.
type kind string

const (
	openLoop kind = "streams"
	slowLoop kind = "slow"
	wholes   kind = "whole"
	memory   kind = "memory"
)

// measurement is one load on one front.
type measurement struct {
	front  string
	kind   kind
	repeat int
	err    error

	n, failed      int
	ttft, gap, e2e stats.Sample // seconds
	perS           float64      // requests that were answered
	cpu            time.Duration
	rss            int64 // bytes, the largest
	late           float64
}

// within starts a mock and the front, and measures what load does.
func (o *options) within(ctx context.Context, f *front, a trial.Answers, m *measurement, load func(p *process, dir string) error) {
	mock, err := trial.StartMock(o.llmctl, a)
	if err != nil {
		m.err = err
		return
	}
	defer mock.Stop()
	dir, err := os.MkdirTemp(o.work, "run")
	if err != nil {
		m.err = err
		return
	}
	p, err := f.run(ctx, o, dir, mock.URL)
	if err != nil {
		m.err = err
		return
	}
	defer p.stop()
	before := p.used().CPU
	done, largest := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		var most int64
		for {
			most = max(most, p.used().RSS)
			select {
			case <-done:
				largest <- most
				return
			case <-tick.C:
			}
		}
	}()
	m.err = load(p, dir)
	m.cpu = p.used().CPU - before
	close(done)
	m.rss = <-largest
	m.late = mock.Lateness()
}

// streams is the open loop: as many streams a second as asked for, evenly spaced.
func (o *options) streams(ctx context.Context, f *front, repeat int) *measurement {
	return o.loop(ctx, f, &measurement{front: f.name, kind: openLoop, repeat: repeat}, o.rate)
}

// slowStreams is the open loop at a rate for those that do not carry the other one.
func (o *options) slowStreams(ctx context.Context, f *front, repeat int) *measurement {
	return o.loop(ctx, f, &measurement{front: f.name, kind: slowLoop, repeat: repeat}, o.slow)
}

func (o *options) loop(ctx context.Context, f *front, m *measurement, rate int) *measurement {
	o.within(ctx, f, trial.Answers{TTFT: ttft, ITL: itl, Tokens: tokens}, m, func(p *process, dir string) error {
		return m.bench(ctx, o, p, dir, "--arrival", "constant", "--rps", strconv.Itoa(rate), "--duration", o.duration.String(), "--warmup", "2s")
	})
	return m
}

// memory holds many streams open at once.
func (o *options) memory(ctx context.Context, f *front, repeat int) *measurement {
	m := &measurement{front: f.name, kind: memory, repeat: repeat}
	o.within(ctx, f, trial.Answers{TTFT: ttft, ITL: 250 * time.Millisecond, Tokens: tokens}, m, func(p *process, dir string) error {
		return m.bench(ctx, o, p, dir, "--concurrency", strconv.Itoa(o.open), "--requests", strconv.Itoa(2*o.open), "--concurrency-ramp", "2s")
	})
	return m
}

// bench has llmctl send the load, and reads its records. A run that it does not
// trust is read all the same: the machine is the same for all.
func (m *measurement) bench(ctx context.Context, o *options, p *process, dir string, args ...string) error {
	saved := filepath.Join(dir, "saved")
	command := append([]string{
		o.llmctl, "bench", "--endpoint", p.url, "--served-model", model, "--isl", strconv.Itoa(prompt), "--osl", strconv.Itoa(tokens),
		"--ignore-eos=false", "--calibrate", "off", "--gpu-telemetry", "off", "--ui", "none", "--save", saved,
	}, args...)
	_, ran := trial.Run(ctx, command, []string{"OPENAI_API_KEY=" + key})
	run, err := record.Open(saved)
	if err != nil {
		return fmt.Errorf("%w: %w", err, ran)
	}
	for r := range run.Records() {
		if sent, ok := r.Sent.Since(); !ok || sent < run.Run.Window.Start {
			continue
		}
		first, ok := r.TTFT()
		if r.Outcome != record.OK || !ok {
			m.failed++
			continue
		}
		m.n++
		m.ttft.Add(first.Seconds())
		before := time.Duration(-1)
		for at := range r.Chunks.All() {
			if before >= 0 {
				m.gap.Add((at - before).Seconds())
			}
			before = at
		}
	}
	if m.n == 0 {
		return fmt.Errorf("no request was answered: %w", ran)
	}
	return nil
}

// clients send whole requests as fast as they are answered.
const clients = 64

// whole is the closed loop of answers that are not streamed, with no time of the
// mock's own.
func (o *options) whole(ctx context.Context, f *front, repeat int) *measurement {
	m := &measurement{front: f.name, kind: wholes, repeat: repeat}
	o.within(ctx, f, trial.Answers{Tokens: tokens}, m, func(p *process, _ string) error {
		attacker := vegeta.NewAttacker(vegeta.Workers(clients), vegeta.MaxWorkers(clients), vegeta.Connections(clients), vegeta.KeepAlive(true), vegeta.Timeout(30*time.Second))
		body := fmt.Sprintf(`{"model":%q,"max_tokens":%d,"messages":[{"role":"user","content":"%0*d"}]}`, model, tokens, 1000, repeat)
		targeter := vegeta.NewStaticTargeter(vegeta.Target{
			Method: http.MethodPost, URL: p.url + "/v1/chat/completions", Body: []byte(body),
			Header: http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}},
		})
		start := time.Now()
		for result := range attacker.Attack(targeter, vegeta.Rate{}, o.duration, "") {
			if ctx.Err() != nil {
				attacker.Stop()
			}
			if result.Code != http.StatusOK {
				m.failed++
				continue
			}
			m.n++
			m.e2e.Add(result.Latency.Seconds())
		}
		m.perS = float64(m.n) / time.Since(start).Seconds()
		if m.n == 0 {
			return fmt.Errorf("no request was answered")
		}
		return nil
	})
	return m
}

func (m *measurement) line() string {
	if m.err != nil {
		return fmt.Sprintf("%-8s %-8s %v", m.front, m.kind, m.err)
	}
	cpu := m.cpu.Seconds() / float64(m.n) * 1e3
	switch m.kind {
	case wholes:
		return fmt.Sprintf("%-8s %-8s %.0f/s, e2e %.2f ms (p50) %.2f (p99), CPU %.2f ms a request, %d failed", m.front, m.kind, m.perS, m.e2e.Percentile(50)*1e3, m.e2e.Percentile(99)*1e3, cpu, m.failed)
	case memory:
		return fmt.Sprintf("%-8s %-8s %d MiB at most, %d requests, %d failed", m.front, m.kind, m.rss>>20, m.n, m.failed)
	}
	return fmt.Sprintf("%-8s %-8s TTFT %.2f ms (p50) %.2f (p99), gaps %.2f ms (p50) %.2f (p99), CPU %.2f ms a request, %d MiB, mock late by ≤ %.2f ms (p99), %d requests, %d failed",
		m.front, m.kind, m.ttft.Percentile(50)*1e3, m.ttft.Percentile(99)*1e3, m.gap.Percentile(50)*1e3, m.gap.Percentile(99)*1e3, cpu, m.rss>>20, m.late*1e3, m.n, m.failed)
}
