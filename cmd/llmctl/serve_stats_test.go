package main

import (
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
)

// A line tells what was since the last one, and nothing is said while nothing is done.
func TestStatsLog(t *testing.T) {
	var out strings.Builder
	l := &statsLog{w: &out}
	busy := engine.Stats{
		Prompt: 200, Generated: 50, Refused: 3,
		Stats: sched.Stats{Running: 2, Waiting: 1, Usage: 0.25, PrefixQueries: 200, PrefixHits: 50},
	}
	idle := busy
	idle.Running, idle.Waiting, idle.Usage = 0, 0, 0
	for _, step := range []struct {
		name  string
		at    time.Duration
		stats engine.Stats
		want  string
	}{
		{"idle from the start", 10 * time.Second, engine.Stats{}, ""},
		{
			"busy", 20 * time.Second, busy, "Avg prompt throughput: 20.0 tokens/s, Avg generation throughput: 5.0 tokens/s, Running: 2 reqs, Waiting: 1 reqs, " +
				"GPU KV cache usage: 25.0%, Prefix cache hit rate: 25.0%, Refused: 3 reqs\n",
		},
		{
			"done", 30 * time.Second, idle, "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs, " +
				"GPU KV cache usage: 0.0%, Prefix cache hit rate: 25.0%\n",
		},
		{"idle", 40 * time.Second, idle, ""},
	} {
		out.Reset()
		l.line(step.at, step.stats)
		if out.String() != step.want {
			t.Errorf("%s: %q, want %q", step.name, out.String(), step.want)
		}
	}
}

func TestStatsAreLogged(t *testing.T) {
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	lines := make(writes, 1)
	stop := logStats(lines, e, time.Millisecond)
	s, err := e.Submit(t.Context(), engine.Request{Tokens: []int32{1, 2, 3}, MaxTokens: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Leave()
	if line := <-lines; !strings.HasPrefix(line, "Avg prompt throughput: ") {
		t.Errorf("logged %q", line)
	}
	stop()
}

// writes are what was written, as long as there is room.
type writes chan string

func (w writes) Write(b []byte) (int, error) {
	select {
	case w <- string(b):
	default:
	}
	return len(b), nil
}
