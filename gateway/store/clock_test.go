package store

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/llmctl/llmctl/gateway/limit"
)

// Redis's clock is a day ahead for a while, and is set right: limits refill as ever,
// and nothing is free meanwhile.
func TestRedisWhoseClockJumps(t *testing.T) {
	m := miniredis.RunT(t)
	start := time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	m.SetTime(start)
	r := open(t, m)
	r.Configure(scopesOf(rates(limit.Limits{OutputTPM: 600}), limit.Bounds{}))
	admitted := func(at time.Duration) bool {
		m.SetTime(start.Add(at))
		held, _, err := r.Reserve(t.Context(), keyA, ask(0, 600))
		if err == nil {
			held.Settle(use(0, 600, 0))
		}
		return err == nil
	}
	const day = 24 * time.Hour
	for _, step := range []struct {
		at   time.Duration
		want bool
	}{
		{0, true}, {time.Second, false},
		{day, true}, {day + time.Second, false}, // as after a day of rest
		{2 * time.Second, false},                            // set right, and nothing is given for it
		{60 * time.Second, false}, {61 * time.Second, true}, // a minute of refill, one second of it before
		{-day, false}, {-day + time.Minute, true},
	} {
		if got := admitted(step.at); got != step.want {
			t.Errorf("at %v: admitted %t, want %t", step.at, got, step.want)
		}
	}
}
