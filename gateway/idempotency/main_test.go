package idempotency

import (
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is one for a server, patient enough for slow machines.
func client(m *miniredis.Miniredis) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Minute})
}

// kind is a store with a clock of its own.
type kind struct {
	Keys
	pass func(time.Duration)
}

// both runs a test on each kind of store.
func both(t *testing.T, test func(t *testing.T, k kind)) {
	t.Run("memory", func(t *testing.T) {
		now := time.Now()
		test(t, kind{NewMemory(func() time.Time { return now }), func(d time.Duration) { now = now.Add(d) }})
	})
	t.Run("redis", func(t *testing.T) {
		m := miniredis.RunT(t)
		r := NewRedis(client(m), false, time.Now)
		t.Cleanup(r.Close)
		test(t, kind{r, m.FastForward})
	})
}

func idOf(t testing.TB, tenant, key string) ID {
	t.Helper()
	id, err := NewID(tenant, key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

var (
	first  = FingerprintOf("POST", "/v1/chat/completions", []byte(`{"model":"a"}`))
	second = FingerprintOf("POST", "/v1/chat/completions", []byte(`{"model":"b"}`))
	answer = Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: []byte("{\"text\":\"\x00é\"}")}
)

// claim takes a key that is free.
func claim(t *testing.T, k Keys, id ID, f Fingerprint) Claim {
	t.Helper()
	a, c, err := k.Claim(t.Context(), id, f)
	if err != nil || a != nil || c == nil {
		t.Fatalf("answer %v, claim %v, error %v; want a claim", a, c, err)
	}
	return c
}

func refused(t *testing.T, k Keys, id ID, f Fingerprint, want error) {
	t.Helper()
	if a, c, err := k.Claim(t.Context(), id, f); !errors.Is(err, want) || a != nil || c != nil {
		t.Errorf("answer %v, claim %v, error %v; want %v", a, c, err, want)
	}
}
