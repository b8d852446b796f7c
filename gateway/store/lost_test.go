package store

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/gateway/limit"
)

// bill is a ledger of usage: what was settled, whatever becomes of Redis.
type bill struct {
	mu    sync.Mutex
	money limit.Money
}

func (b *bill) add(m limit.Money) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.money += m
}

// seeding makes a store ask the bill when Redis may have lost something, and tells of
// each time.
func (b *bill) seeding(r **Redis) (func(*RedisOptions), chan struct{}) {
	asked := make(chan struct{}, 1000)
	return func(o *RedisOptions) {
		o.Recovered = func(ctx context.Context) {
			b.mu.Lock()
			sum := b.money
			b.mu.Unlock()
			_ = (*r).Seed(ctx, tenantA, sum, sum) // of a Redis that is away again, it is asked anew
			_ = (*r).Seed(ctx, keyA, sum, sum)
			asked <- struct{}{}
		}
	}, asked
}

var generous = limit.Bounds{
	Limits:  limit.Limits{RPM: 1 << 30, InputTPM: 1 << 30, OutputTPM: 1 << 30, Concurrent: 1000},
	Budgets: limit.Budgets{Day: 1 << 50, Month: 1 << 50},
}

// What a request used is counted when Redis has forgotten meanwhile that it was
// admitted, and once when its settlement is sent again.
func TestARequestThatRedisForgotIsCounted(t *testing.T) {
	for name, forget := range map[string]func(*miniredis.Miniredis){
		"all": (*miniredis.Miniredis).FlushAll,
		"its reservations alone": func(m *miniredis.Miniredis) {
			for _, key := range keysOf("a")[1:] {
				m.Del(key)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := server(t)
			r := open(t, m)
			r.Configure(scopesOf(generous, generous))
			a := ask(10, 100)
			a.Cost = costing(20).Cost
			held := mustReserve(t, r, keyA, a)
			forget(m)
			held.Settle(use(5, 60, 7))
			for range 2 { // in vain: it was heard before
				r.send(&settlement{lent: held.(*lent), used: use(5, 60, 7), again: true})
			}
			standing, err := r.Standing(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range standing[:2] {
				if s.Day.Spent != 7 || s.Month.Spent != 7 || generous.OutputTPM-s.Output.Level < 60 {
					t.Errorf("%+v after a request of 65 tokens and 7 nano-dollars", s)
				}
			}
		})
	}
}

// A call whose answer was lost may have done what it should: a settlement that was
// heard is not counted again, but for counters that are gone since.
func TestASettlementThatMayHaveBeenHeardCountsOnce(t *testing.T) {
	m := server(t)
	r := open(t, m)
	r.Configure(scopesOf(generous, generous))
	held := mustReserve(t, r, keyA, costing(9)).(*lent)
	held.Settle(use(0, 0, 9)) // and the answer did not come
	spent := func() limit.Money {
		t.Helper()
		standing, err := r.Standing(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return standing[0].Day.Spent
	}
	r.send(&settlement{lent: held, used: use(0, 0, 9), again: true})
	if got := spent(); got != 9 {
		t.Errorf("%v spent, want 9 nano-dollars", got)
	}
	m.FlushAll()
	r.send(&settlement{lent: held, used: use(0, 0, 9), again: true})
	if got := spent(); got != 9 {
		t.Errorf("%v spent by counters that are new, want 9 nano-dollars", got)
	}
}

func TestWhichFailedCallsMayHaveBeenHeard(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{errDown, false},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, false},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, true},
		{context.DeadlineExceeded, true},
	} {
		if got := heard(test.err); got != test.want {
			t.Errorf("%v: %t", test.err, got)
		}
	}
	m := server(t)
	m.SetError("LOADING Redis is loading the dataset in memory")
	r := open(t, m)
	if _, err := r.runNow(t.Context(), lookScript, keysOf("a"), nil); err == nil || heard(err) {
		t.Errorf("%v", err)
	}
	m.SetError("")
}

// A Redis that was emptied and nobody noticed is found out by the next request, and
// budgets go on from the bill.
func TestBudgetsGoOnInARedisThatWasEmptied(t *testing.T) {
	for _, next := range []string{"a request", "a settlement"} {
		t.Run("found out by "+next, func(t *testing.T) {
			m := server(t)
			var r *Redis
			var b bill
			edit, asked := b.seeding(&r)
			r = open(t, m, edit)
			r.Configure(scopesOf(generous, generous))
			if err := r.Seed(t.Context(), tenantA, 100, 100); err != nil {
				t.Fatal(err)
			}
			b.add(100)
			held := mustReserve(t, r, keyA, costing(20))
			select {
			case <-asked:
				t.Error("asked for the bill though nothing was lost")
			default:
			}
			m.FlushAll()
			if next == "a settlement" {
				held.Settle(use(0, 0, 20))
				b.add(20)
			} else {
				mustReserve(t, r, keyA, costing(0)).Abandon()
			}
			select {
			case <-asked:
			case <-time.After(20 * time.Second):
				t.Fatal("nobody noticed")
			}
			r.link.reseed(t.Context()) // as is done now and then
			standing, err := r.Standing(t.Context(), "a")
			if err != nil || standing[0].Day.Spent != b.money || standing[1].Day.Spent != b.money {
				t.Errorf("standing %+v, %v; the bill says %v", standing, err, b.money)
			}
			held.Abandon()
		})
	}
}

// Whenever Redis is emptied or away, and however often: in the end limits have counted
// no more than was used, nothing is held, and budgets say what the bill says.
func TestWhateverRedisForgetsBudgetsSayWhatTheBillSays(t *testing.T) {
	m := server(t)
	rapid.Check(t, func(t *rapid.T) { forgetful(t, m.Addr(), m.FlushAll, m.SetError) })
}

// forgetful runs requests over a Redis that is flushed and broken at random.
func forgetful(t *rapid.T, address string, flush func(), breaks func(string)) {
	flush()
	var r *Redis
	var b bill
	edit, _ := b.seeding(&r)
	o := RedisOptions{Now: time.Now, Patience: time.Minute, WhenDown: rapid.SampledFrom([]WhenDown{Refuse, Local}).Draw(t, "when down")}
	edit(&o)
	var err error
	if r, err = NewRedis("redis://"+address, "", o); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Configure([]Scope{{tenantA, generous}, {keyA, generous}})
	var open []Reservation
	var tokens int64
	settle := func(t *rapid.T) {
		if len(open) == 0 {
			return
		}
		i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
		used := use(rapid.Int64Range(0, 1000).Draw(t, "input"), rapid.Int64Range(0, 1000).Draw(t, "output"), limit.Money(rapid.Int64Range(0, 1000).Draw(t, "cost")))
		open[i].Settle(used)
		b.add(used.Cost) // a record follows its settlement
		tokens += used.Output
		open = append(open[:i], open[i+1:]...)
	}
	reserve := func(t *rapid.T) {
		a := ask(rapid.Int64Range(0, 1000).Draw(t, "in"), rapid.Int64Range(0, 1000).Draw(t, "out"))
		a.Cost = costing(limit.Money(rapid.Int64Range(0, 1000).Draw(t, "price"))).Cost
		if held, _, err := r.Reserve(context.Background(), keyA, a); err == nil {
			open = append(open, held)
		}
	}
	actions := map[string]func(*rapid.T){"reserve": reserve, "again": reserve, "settle": settle, "flush": func(*rapid.T) { flush() }}
	if breaks != nil {
		actions["break"] = func(*rapid.T) { breaks("LOADING Redis is loading the dataset in memory") }
		actions["mend"] = func(*rapid.T) { breaks("") }
	}
	t.Repeat(actions)
	if breaks != nil {
		breaks("")
	}
	for len(open) > 0 {
		settle(t)
	}
	for deadline := time.Now().Add(20 * time.Second); r.Health().Down || r.Health().Backlog > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("Redis was not found again")
		}
	}
	r.link.reseed(context.Background()) // as is done now and then
	standing, err := r.Standing(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range standing {
		if s.Day.Spent != b.money || s.Month.Spent != b.money || s.Open != 0 || s.Held != 0 {
			t.Fatalf("%+v: %v spent, %d open, %v held; the bill says %v", s.Account, s.Day.Spent, s.Open, s.Held, b.money)
		}
		if counted := generous.OutputTPM - s.Output.Level; counted > tokens {
			t.Fatalf("%+v: %d tokens counted of %d that were used", s.Account, counted, tokens)
		}
	}
}
