package store

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
)

// watcher tells of the log line that says Redis is back.
type watcher struct {
	slog.Handler
	back chan struct{}
}

func (w watcher) Handle(ctx context.Context, r slog.Record) error {
	err := w.Handler.Handle(ctx, r)
	if strings.Contains(r.Message, "is back") {
		w.back <- struct{}{} // once it is written: who hears it may read the log
	}
	return err
}

// watched makes a store tell when Redis is back, and takes what it logs.
func watched(o *RedisOptions, logs *strings.Builder) chan struct{} {
	back := make(chan struct{}, 10)
	o.Logger = slog.New(watcher{slog.NewTextHandler(logs, nil), back})
	return back
}

func awaitBack(t *testing.T, back chan struct{}) {
	t.Helper()
	select {
	case <-back:
	case <-time.After(20 * time.Second):
		t.Fatal("Redis was not found again")
	}
}

func TestTwoGatewaysShareOneLimit(t *testing.T) {
	m := server(t)
	a, b := open(t, m), open(t, m)
	for _, r := range []*Redis{a, b} {
		r.Configure(scopesOf(rates(limit.Limits{RPM: 10}), limit.Bounds{}))
	}
	admitted := 0
	for i := range 50 {
		if _, _, err := []*Redis{a, b}[i%2].Reserve(t.Context(), keyA, limit.Ask{}); err == nil {
			admitted++
		}
	}
	if admitted != 10 {
		t.Errorf("two gateways admitted %d, want 10 together", admitted)
	}
}

func TestADeadGatewaysSlotsComeBack(t *testing.T) {
	m := server(t)
	bounds := limit.Bounds{Limits: limit.Limits{OutputTPM: 1000, Concurrent: 1}, Budgets: limit.Budgets{Day: 10}}
	dead, alive := open(t, m), open(t, m)
	dead.Configure(scopesOf(bounds, limit.Bounds{}))
	alive.Configure(scopesOf(bounds, limit.Bounds{}))
	a := ask(0, 600)
	a.Cost = costing(10).Cost
	lost := mustReserve(t, dead, keyA, a)
	fits := func() bool {
		r, _, err := alive.Reserve(t.Context(), keyA, a)
		if err == nil {
			r.Abandon()
		}
		return err == nil
	}
	m.SetTime(start.Add(lease - time.Microsecond))
	if fits() {
		t.Error("a slot was given twice while its holder may live")
	}
	dead.renew(t.Context())
	m.SetTime(start.Add(2*lease - 2*time.Microsecond))
	if fits() {
		t.Error("a holder that renews its lease lost its slot")
	}
	m.SetTime(start.Add(2 * lease))
	if !fits() {
		t.Error("the slot of a dead gateway did not come back")
	}
	// It was not dead after all. What it held was given back, so it pays for all.
	before, _ := alive.Standing(t.Context(), "a")
	lost.Settle(use(0, 700, 9))
	after, err := alive.Standing(t.Context(), "a")
	if err != nil || before[0].Output.Level-after[0].Output.Level != 700 || after[0].Day.Spent != 9 || after[0].Open != 0 || after[0].Held != 0 {
		t.Errorf("after a late settlement %+v, before %+v (%v)", after[0], before[0], err)
	}
	lost.(*lent).r.send(&settlement{lent: lost.(*lent), used: use(0, 700, 9), again: true})
	if again, _ := alive.Standing(t.Context(), "a"); again[0].Day.Spent != 9 {
		t.Error("a settlement that was sent twice counted twice")
	}
}

// Redis goes while requests run, and comes back: nobody waits for it, nothing is
// forgotten, and the sums are right in the end.
func TestRedisGoesAndComesBack(t *testing.T) {
	bounds := limit.Bounds{Limits: limit.Limits{OutputTPM: 1000, Concurrent: 5}, Budgets: limit.Budgets{Day: 1000}}
	tests := []struct {
		when     WhenDown
		admitted bool
		spent    limit.Money
	}{{Refuse, false, 60}, {Local, true, 65}, {"", false, 60}}
	for _, test := range tests {
		t.Run("when down "+string(test.when), func(t *testing.T) {
			m := server(t)
			var logs strings.Builder
			var back chan struct{}
			recovered := 0
			r := open(t, m, func(o *RedisOptions) {
				o.WhenDown, o.Recovered = test.when, func(context.Context) { recovered++ }
				back = watched(o, &logs)
			})
			r.Configure(scopesOf(bounds, limit.Bounds{}))
			running := mustReserve(t, r, keyA, ask(0, 100))
			m.SetError("LOADING Redis is loading the dataset in memory")
			held, _, err := r.Reserve(t.Context(), keyA, ask(0, 300))
			if away, _ := errors.AsType[*Unavailable](err); test.admitted != (err == nil) || !test.admitted && (away == nil || away.RetryAfter != time.Second) {
				t.Errorf("without Redis: %v, want admitted: %t", err, test.admitted)
			}
			if s, ok := running.Settle(use(0, 60, 60)); !ok || s.Refunded != 40 {
				t.Errorf("settled %+v (%t) without Redis", s, ok)
			}
			if err == nil {
				held.Settle(use(0, 5, 5))
			}
			if h := r.Health(); !h.Down || h.Backlog == 0 {
				t.Errorf("health %+v", h)
			}
			m.SetError("")
			awaitBack(t, back)
			standing, err := r.Standing(t.Context(), "a")
			want := int64(1000) - int64(test.spent)
			if err != nil || standing[0].Output.Level != want || standing[0].Open != 0 || standing[0].Day.Spent != test.spent {
				t.Errorf("standing %+v, %v; want %d and %v spent", standing[0], err, want, test.spent)
			}
			if !strings.Contains(logs.String(), `level=INFO msg="limits: Redis is back"`) { // it asks nothing of anybody
				t.Errorf("good news is told at another level:\n%s", &logs)
			}
			if want := "when_down=" + string(cmp.Or(test.when, Refuse)); !strings.Contains(logs.String(), want) {
				t.Errorf("no %s in the log: %s", want, &logs)
			}
			if recovered == 0 || strings.Count(logs.String(), "cannot be reached") != 1 {
				t.Errorf("recovered %d times; log:\n%s", recovered, &logs)
			}
			mustReserve(t, r, keyA, ask(0, 100)).Abandon()
		})
	}
}

func TestAGatewayStartsWithoutRedis(t *testing.T) {
	m := server(t)
	address := m.Addr()
	m.Close()
	var logs strings.Builder
	var back chan struct{}
	r := openAt(t, address, func(o *RedisOptions) { back = watched(o, &logs) })
	r.Configure(scopesOf(rates(limit.Limits{RPM: 1}), limit.Bounds{}))
	if _, _, err := r.Reserve(t.Context(), keyA, limit.Ask{}); err == nil {
		t.Fatal("admitted without Redis")
	}
	if err := m.Restart(); err != nil {
		t.Fatal(err)
	}
	awaitBack(t, back)
	mustReserve(t, r, keyA, limit.Ask{})
}

// A Redis that takes connections and says nothing holds up the first request for
// a moment, and no other.
func TestNobodyWaitsLongForARedisThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was sent
	r, err := NewRedis("redis://"+l.Addr().String(), "", RedisOptions{Now: time.Now, Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Configure(scopesOf(rates(limit.Limits{RPM: 1}), limit.Bounds{}))
	if _, _, err := r.Reserve(t.Context(), keyA, limit.Ask{}); err == nil {
		t.Fatal("admitted by a Redis that says nothing")
	}
	if !r.Health().Down {
		t.Fatal("the next request would wait, too")
	}
	var wg sync.WaitGroup
	for range 1000 { // all of them fail at once
		wg.Go(func() {
			if _, _, err := r.Reserve(t.Context(), keyA, limit.Ask{}); err == nil {
				t.Error("admitted")
			}
		})
	}
	wg.Wait()
}

func TestAClientThatLeavesIsNoOutage(t *testing.T) {
	r := open(t, server(t))
	r.Configure(scopesOf(rates(limit.Limits{RPM: 1}), limit.Bounds{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Reserve(ctx, keyA, limit.Ask{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if r.Health().Down {
		t.Error("a client that left counts as an outage")
	}
}

// What is wrong with one tenant's keys concerns that tenant alone.
func TestADamagedKeyIsNoOutage(t *testing.T) {
	m := server(t)
	r := open(t, m)
	r.Configure(scopesOf(rates(limit.Limits{RPM: 5}), limit.Bounds{}))
	if err := m.Set(keysOf("a")[0], "not a hash"); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.Reserve(t.Context(), keyA, limit.Ask{})
	if _, away := errors.AsType[*Unavailable](err); err == nil || away {
		t.Errorf("error %v", err)
	}
	mustReserve(t, r, keyB, limit.Ask{})
}

func TestWhatWaitsForRedisIsBounded(t *testing.T) {
	m := server(t)
	r := open(t, m)
	r.Configure(scopesOf(rates(limit.Limits{RPM: 5}), limit.Bounds{}))
	held := mustReserve(t, r, keyA, limit.Ask{}).(*lent)
	m.SetError("LOADING")
	r.link.broke(errDown)
	r.link.mu.Lock()
	r.link.backlog = make([]*settlement, 0, maxBacklog)
	for range maxBacklog {
		r.link.backlog = append(r.link.backlog, &settlement{lent: held})
	}
	r.link.mu.Unlock()
	held.Abandon()
	if h := r.Health(); h.Backlog != maxBacklog || h.Dropped != 1 {
		t.Errorf("health %+v", h)
	}
	r.link.mu.Lock()
	r.link.backlog = nil
	r.link.mu.Unlock()
}
