package study

import (
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/simulator"
)

// TestEndsWhatNothingAheadChanges: any load that stays far beyond the cluster is
// ended, and none of which something ahead may change that.
func TestEndsWhatNothingAheadChanges(t *testing.T) {
	arrival := func(a profiles.Arrival) func(*Request) {
		return func(r *Request) { r.Sizing.Scenario.Workload.Arrival = a }
	}
	steps := func(second float64) profiles.Arrival {
		return profiles.Arrival{Process: profiles.Steps, Curve: &profiles.Curve{Steps: []profiles.Step{{RatePerS: 300, For: 10 * time.Minute}, {RatePerS: second, For: time.Minute}}}}
	}
	steady := arrival(profiles.Arrival{Process: profiles.Poisson, RatePerS: 300})
	cluster := func(change func(*profiles.Cluster)) func(*Request) {
		return func(r *Request) { steady(r); change(&r.Sizing.Scenario.Cluster) }
	}
	for _, tt := range []struct {
		name   string
		change func(*Request)
		ends   bool
	}{
		{"steady", steady, true},
		{"a second workload", func(r *Request) {
			arrival(profiles.Arrival{Process: profiles.Poisson, RatePerS: 1})(r)
			also := r.Sizing.Scenario.Workload
			also.Name, also.Arrival.RatePerS = "more", 300
			r.Sizing.Scenario.Also = []profiles.Workload{also}
		}, true},
		{"a ramp up", arrival(profiles.Arrival{Process: profiles.Ramp, FromPerS: 250, ToPerS: 400, Over: 10 * time.Minute}), true},
		{"a ramp down", arrival(profiles.Arrival{Process: profiles.Ramp, FromPerS: 300, ToPerS: 1, Over: 10 * time.Minute}), false},
		{"steps", arrival(steps(250)), true},
		{"a step down", arrival(steps(1)), false},
		{"a sine", arrival(profiles.Arrival{Process: profiles.Sine, RatePerS: 300, AmplitudePerS: 50, Period: time.Minute}), true},
		{"a failure that is over", cluster(func(c *profiles.Cluster) {
			c.Failures = []profiles.Failure{{Kind: "slow", At: time.Second, For: 5 * time.Second, Factor: 2}}
		}), true},
		{"a failure to come", cluster(func(c *profiles.Cluster) {
			c.Failures = []profiles.Failure{{Kind: "slow", At: 9 * time.Minute, Factor: 2}}
		}), false},
		{"clients that wait", arrival(profiles.Arrival{Process: profiles.Closed, Concurrency: 9}), false},
		{"a long warm-up", func(r *Request) { steady(r); r.Length = Length{Duration: 24 * time.Hour, Warmup: 12 * time.Hour} }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStudy(t, func(r *Request) { r.Length = Length{Duration: 11 * time.Minute}; tt.change(r) })
			if got := fed(s, 11*time.Minute, false); (got != "") != tt.ends {
				t.Errorf("ended with %q, want an end %t", got, tt.ends)
			}
		})
	}
	s := newStudy(t, func(r *Request) { steady(r); r.Length = Length{Duration: 11 * time.Minute} })
	if got := fed(s, 11*time.Minute, true); got != "" {
		t.Errorf("ended while replicas may be added: %s", got)
	}
	full := newStudy(t, arrival(steps(1)))
	if got := fed(full, time.Hour, true); !strings.Contains(got, "in flight, more than a simulation keeps") {
		t.Errorf("a run of ever more requests ended with %q", got)
	}
}

// fed has a study see 300 requests come and 20 end in each second of a time, and
// returns why it ended the run.
func fed(s *Study, until time.Duration, growing bool) string {
	end := &earlyEnd{study: s}
	for now := time.Second; now < until; now += time.Second {
		n := int64(now.Seconds())
		end.ended = 20 * n
		if end.order(simulator.Progress{Now: now, Sent: 300 * n, Open: int(280 * n), Growing: growing}) == simulator.EndAll {
			return end.warnings[0].Text
		}
	}
	return ""
}

// TestFull: a run that memory may not hold is ended, whoever wants to see all of it.
func TestFull(t *testing.T) {
	e := &earlyEnd{study: &Study{}}
	p := simulator.Progress{Now: time.Second, Sent: 2 * mostHeld, Open: mostHeld}
	if order := e.order(p); order != simulator.GoOn {
		t.Errorf("with as many as there may be: order %v", order)
	}
	p.Open++
	if order := e.order(p); order != simulator.EndAll {
		t.Errorf("with one more: order %v", order)
	}
	if len(e.warnings) != 1 || !strings.Contains(e.warnings[0].Text, "were in flight") {
		t.Errorf("warnings %v", e.warnings)
	}
}
