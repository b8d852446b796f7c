package health

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBudget(t *testing.T) {
	const second = time.Second
	tests := []struct {
		name     string
		ratio    float64
		requests int // one after the other within the first second
		at       time.Duration
		want     int // retries that are granted at once
	}{
		{"no requests: the minimum", 0.2, 0, 0, 10},
		{"a fifth of a thousand and the minimum", 0.2, 1000, second, 210},
		{"requests are forgotten", 0.2, 1000, 20 * second, 10},
		{"requests still count after nine seconds", 0.2, 1000, 9 * second, 210},
		{"the whole share is spent, no more", 1, 5, second, 15},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := NewBudget(test.ratio)
			for i := range test.requests {
				b.Request(time.Duration(i) * second / time.Duration(test.requests+1))
			}
			got := 0
			for b.Retry(test.at) {
				got++
			}
			if got != test.want {
				t.Errorf("%d retries, want %d", got, test.want)
			}
		})
	}
}

// Over any span of at most nine tenths of the window, no more is granted than the
// requests of one window before its end allow.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratio := rapid.Float64Range(0, 2).Draw(t, "ratio")
		b := NewBudget(ratio)
		var requests, retries []time.Duration
		now := time.Duration(0)
		for range rapid.IntRange(0, 300).Draw(t, "events") {
			now += time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "pause"))
			if rapid.IntRange(0, 3).Draw(t, "request") == 0 {
				b.Request(now)
				requests = append(requests, now)
			} else if b.Retry(now) {
				retries = append(retries, now)
				sent := within(requests, now-BudgetWindow, now)
				got := within(retries, now-BudgetWindow*9/10, now)
				if most := ratio*float64(sent) + MinRetriesPerS*BudgetWindow.Seconds(); float64(got) > most {
					t.Fatalf("%d retries of %d requests, at most %g", got, sent, most)
				}
			}
		}
	})
}

func within(times []time.Duration, from, to time.Duration) (n int) {
	for _, at := range times {
		if at > from && at <= to {
			n++
		}
	}
	return n
}

func TestBackoff(t *testing.T) {
	const base = 100 * time.Millisecond
	tests := []struct {
		name string
		base time.Duration
		n    int
		u    uint64
		want time.Duration
	}{
		{"none", 0, 5, math.MaxUint64, 0},
		{"the shortest first", base, 1, 0, 50 * time.Millisecond},
		{"the middle first", base, 1, 1 << 63, base},
		{"the longest first", base, 1, math.MaxUint64, 150*time.Millisecond - 1},
		{"the third", base, 3, 1 << 63, 400 * time.Millisecond},
		{"bounded", base, 1 << 40, 1 << 63, MaxBackoff},
		{"bounded from the start", time.Hour, 1, 1 << 63, MaxBackoff},
		{"the longest duration there is", math.MaxInt64, 2, 0, MaxBackoff / 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Backoff(test.base, test.n, test.u); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func BenchmarkBudget(b *testing.B) {
	budget := NewBudget(0.2)
	now := time.Duration(0)
	for b.Loop() {
		now += time.Millisecond
		budget.Request(now)
		budget.Retry(now)
	}
}
