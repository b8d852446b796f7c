package study

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// TestMemoryDoesNotGrowWithTime requires that a simulation of ten times as many
// requests holds no more at its end: neither the report's values, nor the requests
// that have ended, nor the steps of which no record tells any more. What the report
// may hold of values until it joins equal ones is allowed for: unbounded, they alone
// would be more.
func TestMemoryDoesNotGrowWithTime(t *testing.T) {
	const few, many, most = 20_000, 200_000, 8 << 20
	before, after := heldAtEnd(t, few), heldAtEnd(t, many)
	t.Logf("%d bytes after %d requests, %d after %d", before, few, after, many)
	if after > before+most {
		t.Errorf("%d requests hold %d bytes more than %d, expected at most %d", many, after-before, few, most)
	}
}

// heldAtEnd is how many bytes are in use when the last request but few has ended.
func heldAtEnd(t *testing.T, requests int) (held int64) {
	s := newStudy(t, func(r *Request) {
		r.Length = Length{Requests: requests, Drain: time.Hour}
		w := &r.Sizing.Scenario.Workload
		w.Arrival.RatePerS = 500
		w.Input, w.Output = profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 60}, profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 6}
		w.Prefix = profiles.Prefix{Groups: 3, Tokens: 20}
		w.Session = profiles.Session{Turns: profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 3}}
		w.Tenants = 3
	})
	ended := 0
	_, err := s.Simulate(context.Background(), 1, Taps{Record: func(*record.Record) {
		if ended++; ended == requests-100 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			held = int64(m.HeapAlloc)
		}
	}})
	if err != nil || held == 0 {
		t.Fatalf("%d of %d requests ended: %v", ended, requests, err)
	}
	return held
}
