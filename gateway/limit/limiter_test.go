package limit

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustReserve(t *testing.T, l *Limiter, now time.Duration, ask Ask, scopes ...*Scope) *Reservation {
	t.Helper()
	r, err := l.Reserve(now, ask, scopes...)
	if err != nil {
		t.Fatalf("reserving %+v: %v", ask, err)
	}
	return r
}

func ask(input, output int64) Ask { return Ask{Tokens: Tokens{Input: input, Output: output}} }

func TestRejections(t *testing.T) {
	tests := []struct {
		name        string
		tenant, key Limits
		spent       Tokens // settled just before
		ask         Ask
		want        Rejection
		seconds     int64
	}{
		{
			name:   "output waits for its refill",
			tenant: Limits{OutputTPM: 600}, spent: Tokens{Output: 600}, ask: ask(1, 25),
			want:    Rejection{Scope: "tenant", Resource: OutputTokens, Limit: 600, Asked: 25, Retryable: true, RetryAfter: 2500 * time.Millisecond},
			seconds: 3,
		},
		{
			name:   "a short wait is still a second",
			tenant: Limits{InputTPM: 60_000}, spent: Tokens{Input: 60_000}, ask: ask(1, 0),
			want:    Rejection{Scope: "tenant", Resource: InputTokens, Limit: 60_000, Asked: 1, Retryable: true, RetryAfter: time.Millisecond},
			seconds: 1,
		},
		{
			name:   "the longest wait of all scopes counts",
			tenant: Limits{OutputTPM: 600}, key: Limits{OutputTPM: 60}, spent: Tokens{Output: 60}, ask: ask(0, 10),
			want:    Rejection{Scope: "key", Resource: OutputTokens, Limit: 60, Asked: 10, Retryable: true, RetryAfter: 10 * time.Second},
			seconds: 10,
		},
		{
			name:   "an ask above the limit never fits",
			tenant: Limits{OutputTPM: 100, InputTPM: 10}, spent: Tokens{Input: 10}, ask: ask(5, 101),
			want:    Rejection{Scope: "tenant", Resource: OutputTokens, Limit: 100, Asked: 101},
			seconds: 1,
		},
		{
			name:   "requests per minute",
			tenant: Limits{RPM: 1}, ask: ask(0, 0),
			want:    Rejection{Scope: "tenant", Resource: Requests, Limit: 1, Asked: 1, Retryable: true, RetryAfter: time.Minute},
			seconds: 60,
		},
		{
			name:   "unbounded input above the limit never fits either",
			tenant: Limits{InputTPM: 10}, ask: Ask{Tokens: Tokens{Input: 11}, Unbounded: true},
			want:    Rejection{Scope: "tenant", Resource: InputTokens, Limit: 10, Asked: 11},
			seconds: 1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var l Limiter
			tenant, key := l.NewScope("tenant", test.tenant), l.NewScope("key", test.key)
			mustReserve(t, &l, 0, Ask{}, tenant, key).Settle(0, Use{Tokens: test.spent})
			_, err := l.Reserve(0, test.ask, tenant, key)
			var got *Rejection
			if !errors.As(err, &got) {
				t.Fatalf("error is %v, want a rejection", err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("rejection (-want +got):\n%s", diff)
			}
			if s := got.RetryAfterSeconds(); s != test.seconds {
				t.Errorf("Retry-After is %d, want %d", s, test.seconds)
			}
			if test.want.Retryable {
				mustReserve(t, &l, test.want.RetryAfter, test.ask, tenant, key)
			}
		})
	}
}

func TestUnboundedOutputIsCutToTheSmallestLimit(t *testing.T) {
	var l Limiter
	tenant, key := l.NewScope("tenant", Limits{OutputTPM: 500}), l.NewScope("key", Limits{OutputTPM: 300})
	r := mustReserve(t, &l, 0, Ask{Tokens: Tokens{Output: 1024}, Unbounded: true}, tenant, key)
	if r.Reserved.Output != 300 {
		t.Errorf("reserved %d, want 300", r.Reserved.Output)
	}
}

// What a request does first may have a reservation of its own, and the request still
// counts once.
func TestARequestThatWasCountedCountsOnce(t *testing.T) {
	var l Limiter
	s := l.NewScope("tenant", Limits{RPM: 1, OutputTPM: 100, Concurrent: 1})
	mustReserve(t, &l, 0, Ask{}, s).Settle(0, Use{})
	again := ask(0, 10)
	if _, err := l.Reserve(0, again, s); err == nil {
		t.Fatal("a second request was let in")
	}
	again.Counted = true
	r := mustReserve(t, &l, 0, again, s)
	if got := l.Levels(0, s); got.Requests.Remaining != 0 || got.Output.Remaining != 90 {
		t.Errorf("levels %+v", got)
	}
	if _, err := l.Reserve(0, again, s); err == nil {
		t.Error("its slot was given twice")
	}
	r.Abandon(0)
}

func TestRejectionDebitsNoScope(t *testing.T) {
	var l Limiter
	key := l.NewScope("key", Limits{RPM: 5, InputTPM: 100, OutputTPM: 100, Concurrent: 5})
	tenant := l.NewScope("tenant", Limits{OutputTPM: 10})
	before := l.Levels(0, key)
	if _, err := l.Reserve(0, ask(10, 20), key, tenant); err == nil {
		t.Fatal("admitted above the tenant's limit")
	}
	if diff := cmp.Diff(before, l.Levels(0, key)); diff != "" {
		t.Errorf("the key was debited (-before +after):\n%s", diff)
	}
	if key.open != 0 {
		t.Errorf("%d slots held", key.open)
	}
}

func TestSettlement(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		used  Tokens
		want  Settlement
		left  int64 // output level afterwards
	}{
		{name: "less than reserved goes back", used: Tokens{Output: 40}, want: Settlement{Used: 40, Refunded: 60}, left: 560},
		{name: "more becomes debt", used: Tokens{Output: 900}, want: Settlement{Used: 900, Debt: 800}, left: -300},
		{name: "debt is paid by the refill", after: 10 * time.Second, used: Tokens{Output: 900}, want: Settlement{Used: 900, Debt: 800}, left: -200},
		{name: "a refund after the window rolled stays within capacity", after: time.Hour, used: Tokens{}, want: Settlement{Refunded: 100}, left: 600},
		{name: "nonsense usage counts as none", used: Tokens{Output: -5}, want: Settlement{Refunded: 100}, left: 600},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var l Limiter
			s := l.NewScope("tenant", Limits{OutputTPM: 600})
			r := mustReserve(t, &l, 0, ask(0, 100), s)
			got, ok := r.Settle(test.after, Use{Tokens: test.used})
			if !ok || got != test.want {
				t.Errorf("settlement %+v (%t), want %+v", got, ok, test.want)
			}
			if s.output.Level != test.left {
				t.Errorf("level %d, want %d", s.output.Level, test.left)
			}
		})
	}
}

func TestClosingTwiceChangesNothing(t *testing.T) {
	var l Limiter
	s := l.NewScope("tenant", Limits{OutputTPM: 600, Concurrent: 1})
	r := mustReserve(t, &l, 0, ask(0, 100), s)
	r.Settle(0, Use{Tokens: Tokens{Output: 100}})
	if _, ok := r.Abandon(0); ok {
		t.Error("abandoned after settling")
	}
	if s.output.Level != 500 || s.open != 0 {
		t.Errorf("level %d and %d slots, want 500 and 0", s.output.Level, s.open)
	}
}

func TestAbandonKeepsTheRequestCount(t *testing.T) {
	var l Limiter
	s := l.NewScope("tenant", Limits{RPM: 1, OutputTPM: 100})
	mustReserve(t, &l, 0, ask(0, 100), s).Abandon(0)
	got := l.Levels(0, s)
	want := Levels{Requests: Level{Limit: 1, Reset: time.Minute}, Output: Level{Limit: 100, Remaining: 100}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
}

func TestConcurrentAsksAdmitExactlyWhatFits(t *testing.T) {
	tests := map[string]Limits{
		"tokens": {OutputTPM: 1000},
		"slots":  {Concurrent: 10},
		"rpm":    {RPM: 10},
	}
	for name, limits := range tests {
		t.Run(name, func(t *testing.T) {
			var l Limiter
			s := l.NewScope("tenant", limits)
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					if _, err := l.Reserve(0, ask(0, 100), s); err == nil {
						admitted.Add(1)
					}
				})
			}
			wg.Wait()
			if admitted.Load() != 10 {
				t.Errorf("%d of 50 admitted, want 10", admitted.Load())
			}
		})
	}
}

// Whatever requests come, end and fail in whatever order, with a clock that may
// step back: no bucket is ever above its capacity, slots count the open
// reservations, and in the end what was debited is what was used.
func TestLedgerBalances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Limiter
		limits := rapid.Custom(func(t *rapid.T) Limits {
			n := rapid.Int64Range(0, 5000)
			return Limits{RPM: n.Draw(t, "rpm"), InputTPM: n.Draw(t, "in"), OutputTPM: n.Draw(t, "out"), Concurrent: n.Draw(t, "slots")}
		})
		scopes := []*Scope{l.NewScope("tenant", limits.Draw(t, "tenant")), l.NewScope("key", limits.Draw(t, "key"))}
		amount := rapid.Custom(func(t *rapid.T) Tokens {
			n := rapid.Int64Range(0, 2000)
			return Tokens{Input: n.Draw(t, "input"), Output: n.Draw(t, "output")}
		})
		var now time.Duration
		var open []*Reservation
		var used int64
		end := func(t *rapid.T, abandon bool) {
			i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
			r := open[i]
			open = append(open[:i], open[i+1:]...)
			if abandon {
				r.Abandon(now)
				return
			}
			spent := amount.Draw(t, "spent")
			used += spent.Input + spent.Output
			r.Settle(now, Use{Tokens: spent})
		}
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				now += time.Duration(rapid.Int64Range(-int64(time.Second), int64(20*time.Second)).Draw(t, "step"))
			},
			"reserve": func(t *rapid.T) {
				a := Ask{Tokens: amount.Draw(t, "ask"), Unbounded: rapid.Bool().Draw(t, "unbounded")}
				if r, err := l.Reserve(now, a, scopes...); err == nil {
					open = append(open, r)
				}
			},
			"settle": func(t *rapid.T) {
				if len(open) > 0 {
					end(t, false)
				}
			},
			"abandon": func(t *rapid.T) {
				if len(open) > 0 {
					end(t, true)
				}
			},
			"": func(t *rapid.T) {
				for _, s := range scopes {
					for _, b := range []bucket{s.requests, s.input, s.output} {
						if b.Level > b.capacity {
							t.Fatalf("level %d above capacity %d of %s", b.Level, b.capacity, s.name)
						}
					}
					if s.open != int64(len(open)) {
						t.Fatalf("%d slots for %d open reservations", s.open, len(open))
					}
				}
			},
		})
		for len(open) > 0 {
			end(t, false)
		}
		got := l.Ledger()
		if got.Settled != used || got.Reserved-got.Refunded+got.Debt != used {
			t.Fatalf("ledger %+v after %d tokens used", got, used)
		}
	})
}

func BenchmarkReserveSettle(b *testing.B) {
	var l Limiter
	limits := Limits{RPM: 1e9, InputTPM: 1e12, OutputTPM: 1e12, Concurrent: 100}
	tenant, key := l.NewScope("tenant", limits), l.NewScope("key", limits)
	var now time.Duration
	for b.Loop() {
		now += time.Microsecond
		r, err := l.Reserve(now, ask(100, 100), tenant, key)
		if err != nil {
			b.Fatal(err)
		}
		r.Settle(now, Use{Tokens: Tokens{Input: 100, Output: 50}})
	}
}

// A rate says that it is one; what counts at once does not.
func TestRejectionsTellTheUnitOfTheLimit(t *testing.T) {
	for want, r := range map[string]Rejection{
		"limit of 2 requests a minute of tenant \"a\" reached":     {Scope: `tenant "a"`, Resource: Requests, Limit: 2, Asked: 1, Retryable: true},
		"limit of 2 " + string(Slots) + " of tenant \"a\" reached": {Scope: `tenant "a"`, Resource: Slots, Limit: 2, Asked: 1, Retryable: true},
	} {
		if got := r.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
