package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/llmctl/llmctl/engine"
)

// statsInterval is vLLM's (VLLM_LOG_STATS_INTERVAL).
const statsInterval = 10 * time.Second

// statsLog tells now and then what the engine does, in vLLM's words
// (vllm/v1/metrics/loggers.py), which scripts look for. Rates are per second of the
// engine's clock.
type statsLog struct {
	w      io.Writer
	last   engine.Stats
	at     time.Duration
	active bool
}

// line tells what was between two looks; nothing was while there was nothing to do in
// both.
func (l *statsLog) line(now time.Duration, s engine.Stats) {
	seconds := (now - l.at).Seconds()
	prompt, output, refused := s.Prompt-l.last.Prompt, s.Generated-l.last.Generated, s.Refused-l.last.Refused
	active := prompt+output+refused > 0 || s.Running+s.Waiting > 0
	tell := (active || l.active) && seconds > 0
	l.last, l.at, l.active = s, now, active
	if !tell {
		return
	}
	hits := 0.0
	if s.PrefixQueries > 0 {
		hits = float64(s.PrefixHits) / float64(s.PrefixQueries)
	}
	fmt.Fprintf(l.w, "Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: %d reqs, Waiting: %d reqs, "+
		"GPU KV cache usage: %.1f%%, Prefix cache hit rate: %.1f%%",
		float64(prompt)/seconds, float64(output)/seconds, s.Running, s.Waiting, 100*s.Usage, 100*hits)
	if refused > 0 {
		fmt.Fprintf(l.w, ", Refused: %d reqs", refused)
	}
	fmt.Fprintln(l.w)
}

// logStats writes a line each interval until it is stopped.
func logStats(w io.Writer, e *engine.Engine, interval time.Duration) (stop func()) {
	l := &statsLog{w: w, last: e.Stats(), at: e.Now()}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				l.line(e.Now(), e.Stats())
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
