package health

import (
	"testing"
	"time"
)

func TestCooldown(t *testing.T) {
	failed := func(at time.Duration) func(*Cooldown) { return func(c *Cooldown) { c.Failed(at) } }
	tried := func(at time.Duration) func(*Cooldown) { return func(c *Cooldown) { c.Tried(at) } }
	answered := (*Cooldown).Answered
	tests := []struct {
		name   string
		events []func(*Cooldown)
		at     time.Duration
		want   bool
	}{
		{"new", nil, 0, false},
		{"a request to a fit endpoint", []func(*Cooldown){tried(0)}, 0, false},
		{"just failed, at the start of time", []func(*Cooldown){failed(0)}, 0, true},
		{"at the end of the period", []func(*Cooldown){failed(time.Second)}, time.Second + Period - 1, true},
		{"after the period", []func(*Cooldown){failed(time.Second)}, time.Second + Period, false},
		{"answered meanwhile", []func(*Cooldown){failed(0), answered}, 1, false},
		{"under trial", []func(*Cooldown){failed(0), tried(Period)}, Period, true},
		{"trial came to nothing", []func(*Cooldown){failed(0), tried(Period)}, 2 * Period, false},
		{"trial failed late", []func(*Cooldown){failed(0), tried(Period), failed(Period + 2)}, 2 * Period, true},
		{"trial succeeded", []func(*Cooldown){failed(0), tried(Period), answered}, Period, false},
		{"tried while resting, because all are", []func(*Cooldown){failed(0), tried(1)}, Period, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c Cooldown
			for _, event := range test.events {
				event(&c)
			}
			if got := c.Resting(test.at); got != test.want {
				t.Errorf("resting at %v: %v, want %v", test.at, got, test.want)
			}
		})
	}
}
