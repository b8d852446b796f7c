package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
)

func TestPage(t *testing.T) {
	row := func(front string, k kind, first, perS float64, rss int64) *measurement {
		m := &measurement{front: front, kind: k, n: 2, perS: perS, rss: rss, cpu: 2 * time.Millisecond}
		for range 2 {
			m.ttft.Add(first)
			m.gap.Add(first / 10)
			m.e2e.Add(first)
		}
		return m
	}
	r := results{
		options: options{fronts: []string{"direct", "proxy", "llmctl", "litellm", "ferro"}, repeats: 1, rate: 500, slow: 20, open: 2000},
		machine: "a machine", missing: map[string]string{"ferro": "not installed"},
		rows: []*measurement{
			row("direct", openLoop, 0.050, 0, 0), row("proxy", openLoop, 0.052, 0, 0), row("llmctl", openLoop, 0.0528, 0, 0),
			row("proxy", wholes, 0.01, 5000, 0), row("llmctl", wholes, 0.01, 3000, 0),
			row("proxy", memory, 0.05, 0, 100<<20), row("llmctl", memory, 0.05, 0, 120<<20),
			{front: "litellm", kind: openLoop, err: errors.New("no answer")},
			row("direct", slowLoop, 0.050, 0, 0), row("litellm", slowLoop, 0.080, 0, 0),
		},
	}
	page := r.page()
	for _, want := range []string{
		"| added TTFT p50 | ≤ 1.5 | 1.40 | 1.40 | held |",
		"| rate of whole answers | ≥ 0.8 | 0.60 | 0.60 | NOT held |",
		"| memory with many open streams | ≤ 1.3 | 1.20 | 1.20 | held |",
		"| llmctl | 52.80 (+2.80) | 52.80 (+2.80) | 5.28 (+0.28) |",
		"At 20 streams a second, litellm adds 30.0 ms to the\nTTFT's p50", "| ferro | not installed |", "| litellm | NaN |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestBadCommandLines(t *testing.T) {
	quiet := &iostreams.IO{Out: io.Discard, Err: io.Discard}
	for _, args := range [][]string{{"-fronts", "nginx"}, {"-rate", "0"}, {"-repeats", "0"}, {"-open", "x"}, {"-slow", "0"}, {"-loads", "fast"}, {"-duration", "1ms"}} {
		if _, err := parse(quiet, args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
