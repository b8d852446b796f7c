package store

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/llmctl/llmctl/gateway/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	tenantA = Account{Tenant: "a"}
	keyA    = Account{Tenant: "a", Key: "one"}
	otherA  = Account{Tenant: "a", Key: "two"}
	keyB    = Account{Tenant: "b", Key: "one"}
)

// scopesOf bounds tenant a and its first key.
func scopesOf(tenant, key limit.Bounds) []Scope {
	return []Scope{{tenantA, tenant}, {keyA, key}, {otherA, limit.Bounds{}}, {Account{Tenant: "b"}, tenant}, {keyB, limit.Bounds{}}}
}

func rates(l limit.Limits) limit.Bounds { return limit.Bounds{Limits: l} }

func ask(input, output int64) limit.Ask {
	return limit.Ask{Tokens: limit.Tokens{Input: input, Output: output}}
}

// costing makes an ask cost an amount whatever it uses.
func costing(m limit.Money) limit.Ask {
	return limit.Ask{Cost: func(limit.Tokens) limit.Money { return m }}
}

func use(input, output int64, cost limit.Money) limit.Use {
	return limit.Use{Tokens: limit.Tokens{Input: input, Output: output}, Cost: cost}
}

// start is when the tests' Redis begins, two minutes before a month ends.
var start = time.Date(2026, 8, 31, 23, 58, 0, 0, time.UTC)

// server starts a Redis whose clock stands.
func server(t testing.TB) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.RunT(t)
	m.SetTime(start)
	return m
}

// open starts a store for the server.
func open(t testing.TB, m *miniredis.Miniredis, edit ...func(*RedisOptions)) *Redis {
	t.Helper()
	return openAt(t, m.Addr(), edit...)
}

func openAt(t testing.TB, address string, edit ...func(*RedisOptions)) *Redis {
	t.Helper()
	o := RedisOptions{Now: time.Now, Patience: time.Minute} // machines that test are slow
	for _, e := range edit {
		e(&o)
	}
	r, err := NewRedis("redis://"+address, "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func mustReserve(t testing.TB, l Limits, a Account, ask limit.Ask) Reservation {
	t.Helper()
	r, _, err := l.Reserve(context.Background(), a, ask)
	if err != nil {
		t.Fatalf("reserving: %v", err)
	}
	return r
}
