package health

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// driver plays requests against a breaker by short words: the requests that are
// under way have the names of their letters.
type driver struct {
	b      *Breaker
	passes map[string]Pass
}

type step func(d *driver)

func tried(name string, at time.Duration) step {
	return func(d *driver) { d.passes[name] = d.b.Tried(at) }
}
func failed(name string, at time.Duration) step {
	return func(d *driver) { d.b.Failed(at, d.passes[name]) }
}
func answered(name string, at time.Duration) step {
	return func(d *driver) { d.b.Answered(at, d.passes[name]) }
}
func left(name string) step { return func(d *driver) { d.b.Left(d.passes[name]) } }

// down is an endpoint under rules Unanswered that has failed at 0.
func down(more ...step) []step { return append([]step{tried("a", 0), failed("a", 0)}, more...) }

// many are n requests that end at a time, of which bad fail.
func many(n, bad int, at time.Duration) step {
	return func(d *driver) {
		for i := range n {
			if p := d.b.Tried(at); i < bad {
				d.b.Failed(at, p)
			} else {
				d.b.Answered(at, p)
			}
		}
	}
}

func TestBreaker(t *testing.T) {
	const late = Period + 2
	several := Unanswered()
	several.Probes = 2
	tests := []struct {
		name  string
		rules Rules
		steps []step
		at    time.Duration
		want  bool // fit
	}{
		{"new", Unanswered(), nil, 0, true},
		{"a request to a fit endpoint", Unanswered(), []step{tried("a", 0)}, 0, true},
		{"just failed, at the start of time", Unanswered(), down(), 0, false},
		{"at the end of the rest", Unanswered(), down(), Period - 1, false},
		{"after the rest", Unanswered(), down(), Period, true},
		{"an answer from before the failure", Unanswered(), []step{tried("a", 0), tried("b", 0), failed("a", 0), answered("b", 1)}, 2, false},
		{"a failure from before the failure does not prolong the rest", Unanswered(), []step{tried("a", 0), tried("b", 0), failed("a", 0), failed("b", 3)}, Period, true},
		{"under trial", Unanswered(), down(tried("b", Period)), Period, false},
		{"trial came to nothing", Unanswered(), down(tried("b", Period)), 2 * Period, true},
		{"trial failed late", Unanswered(), down(tried("b", Period), failed("b", late)), 2 * Period, false},
		{"rest after a trial that failed late", Unanswered(), down(tried("b", Period), failed("b", late)), late + Period, true},
		{"trial was answered", Unanswered(), down(tried("b", Period), answered("b", late)), late, true},
		{"a trial whose user leaves makes room for the next", Unanswered(), down(tried("b", Period), left("b")), late, true},
		{"a user who leaves is no failure", Unanswered(), []step{tried("a", 0), left("a")}, 0, true},
		{"tried while resting, because all are, in vain", Unanswered(), down(tried("b", 1), failed("b", 2)), Period, true},
		{"tried while resting, because all are, and answered", Unanswered(), down(tried("b", 1), answered("b", 2)), 2, true},
		{"an answer long after the trial was given up", Unanswered(), down(tried("b", Period), tried("c", 2*Period), answered("b", 2*Period)), 2 * Period, false},
		{"one of two trials answered", several, down(tried("b", Period), tried("c", Period), answered("b", late)), late, false},
		{"both trials answered", several, down(tried("b", Period), tried("c", Period), answered("b", late), answered("c", late)), late, true},
		{"no more than two trials", several, down(tried("b", Period)), Period, true},

		{"few failures", Unreliable(), []step{many(9, 9, 0)}, 0, true},
		{"half of ten", Unreliable(), []step{many(5, 0, 0), many(5, 5, 0)}, 0, false},
		{"less than half", Unreliable(), []step{many(11, 0, 0), many(10, 10, 0)}, 0, true},
		{"successes of long ago do not count", Unreliable(), []step{many(100, 0, 0), many(10, 10, time.Minute)}, time.Minute, false},
		{"failures of long ago do not count", Unreliable(), []step{many(9, 9, 0), many(1, 1, time.Minute)}, time.Minute, true},
		{"failures count for most of the window", Unreliable(), []step{many(9, 9, 0), many(1, 1, 9*time.Second)}, 9 * time.Second, false},
		{"once closed again it counts anew", Unreliable(), []step{many(10, 10, 0), many(1, 0, Period), many(1, 1, Period)}, Period, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := &driver{NewBreaker(test.rules), map[string]Pass{}}
			for _, s := range test.steps {
				s(d)
			}
			if got := d.b.Fit(test.at); got != test.want {
				t.Errorf("fit at %v: %v, want %v", test.at, got, test.want)
			}
		})
	}
}

// Whatever happens to requests, an endpoint that answers all that come to it is
// fit again in the end, and while it is tried no more requests go there than
// there are places for probes.
func TestBreakerComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := Unanswered()
		rules.Probes = rapid.IntRange(1, 3).Draw(t, "probes")
		rules.MinRequests = rapid.Int64Range(1, 5).Draw(t, "minimum")
		b := NewBreaker(rules)
		now := time.Duration(0)
		var out []Pass
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			now += time.Duration(rapid.Int64Range(0, int64(Period)).Draw(t, "pause"))
			switch n := len(out); rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				if b.Fit(now) || rapid.Bool().Draw(t, "all the same") {
					out = append(out, b.Tried(now))
				}
			default:
				if n == 0 {
					continue
				}
				i := rapid.IntRange(0, n-1).Draw(t, "which")
				switch rapid.IntRange(0, 2).Draw(t, "how") {
				case 0:
					b.Failed(now, out[i])
				case 1:
					b.Answered(now, out[i])
				case 2:
					b.Left(out[i])
				}
				out = append(out[:i], out[i+1:]...)
			}
			if b.state == halfOpen && (b.out < 0 || b.out > rules.Probes) {
				t.Fatalf("%d probes are under way, of at most %d", b.out, rules.Probes)
			}
		}
		now += rules.Open
		for range rules.Probes {
			if !b.Fit(now) {
				t.Fatalf("not fit after the rest: %+v", b)
			}
			b.Answered(now, b.Tried(now))
		}
		if b.state != closed {
			t.Fatalf("state %d after %d answers", b.state, rules.Probes)
		}
	})
}

func BenchmarkBreaker(b *testing.B) {
	breaker := NewBreaker(Unreliable())
	now := time.Duration(0)
	b.ReportAllocs()
	for b.Loop() {
		now += time.Millisecond
		if breaker.Fit(now) {
			breaker.Answered(now, breaker.Tried(now))
		}
	}
}
