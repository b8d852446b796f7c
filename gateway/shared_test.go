package gateway

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// sharing keeps limits in a Redis, whose answers slow machines may wait for.
func sharing(m *miniredis.Miniredis, whenDown string) func(*config.Config, *Options) {
	return configure(func(c *config.Config) {
		c.Store.Limits, c.Store.WhenDown, c.Store.Timeout = "redis://"+m.Addr(), whenDown, config.Duration(time.Minute)
	})
}

func TestGatewaysWithOneRedisShareLimitsAndKeys(t *testing.T) {
	m := miniredis.RunT(t)
	limits := configure(func(c *config.Config) { c.Tenants[0].Limits = config.Limits{RPM: 5} })
	a := serve(t, replies(200, plainReply), sharing(m, ""), limits)
	b := serve(t, replies(200, plainReply), sharing(m, ""), limits)
	if first, again := a.keyed("k", tenTokens), b.keyed("k", tenTokens); first.status != 200 || again.header.Get("Idempotent-Replayed") != "true" || first.body != again.body {
		t.Errorf("first %d %s, again %d %s", first.status, first.body, again.status, again.body)
	}
	admitted := 1
	var last answer
	for i := range 10 {
		if last = []*stand{a, b}[i%2].post(tenTokens); last.status == 200 {
			admitted++
		}
	}
	if admitted != 5 || last.status != 429 || last.header.Get("X-Ratelimit-Limit-Requests") != "5" || last.header.Get("Retry-After") == "" {
		t.Errorf("%d admitted, want 5 by both together; then status %d, headers %v", admitted, last.status, last.header)
	}
	a.settled()
	b.settled()
}

// Redis goes while a request runs and comes back. Requests with limits are refused
// or counted here alone, as configured; the running one ends well, and what it used
// is known in the end.
func TestRedisGoneAndBack(t *testing.T) {
	for whenDown, want := range map[string]int{"": 503, "refuse": 503, "local": 200} {
		t.Run("when down "+whenDown, func(t *testing.T) {
			m := miniredis.RunT(t)
			arrived, release := make(chan struct{}), make(chan struct{})
			var calls atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if calls.Add(1) == 1 {
					close(arrived)
					<-release
				}
				replies(200, plainReply)(w, r)
			}, sharing(m, whenDown), configure(func(c *config.Config) {
				c.Tenants[0].Limits = config.Limits{OutputTPM: 600, Concurrent: 3}
				c.Admin.TokenEnv = "ADMIN_TOKEN"
			}))
			done := make(chan answer, 1)
			go func() { done <- s.post(tenTokens) }()
			wait(t, arrived, "the request")
			m.SetError("LOADING Redis is loading the dataset in memory")
			got := s.post(tenTokens)
			if got.status != want {
				t.Errorf("status %d without Redis, want %d: %s", got.status, want, got.body)
			}
			if want == 503 && (gjson.Get(got.body, "error.code").Str != "limits_unavailable" || got.header.Get("Retry-After") != "1") {
				t.Errorf("Retry-After %q, %s", got.header.Get("Retry-After"), got.body)
			}
			if got := s.keyed("k", tenTokens); got.status != want {
				t.Errorf("status %d with an idempotency key, want %d", got.status, want)
			}
			unlimited := s.request(t.Context(), tenTokens)
			unlimited.Header.Set("Authorization", "Bearer "+chatKey)
			if got := s.do(unlimited); got.status != 200 {
				t.Errorf("a tenant without limits got status %d", got.status)
			}
			close(release)
			if got := wait(t, done, "the answer"); got.status != 200 {
				t.Errorf("the request that ran ended with status %d", got.status)
			}
			if !strings.Contains(s.metrics(), "llmctl_gateway_limits_store_up 0\n") {
				t.Error("metrics do not say that Redis is down")
			}
			m.SetError("")
			deadline := time.Now().Add(patience)
			for !strings.Contains(s.metrics(), "llmctl_gateway_limits_store_up 1\n") {
				if time.Now().After(deadline) {
					t.Fatal("Redis was not found again")
				}
			}
			if got := s.post(tenTokens); got.status != 200 {
				t.Errorf("status %d with Redis back", got.status)
			}
			s.gateway.open.Lock() // every request has ended
			standing, err := s.gateway.limits.Standing(t.Context(), "search")
			s.gateway.open.Unlock()
			if err != nil || standing[0].Open != 0 || standing[0].Output.Level >= 600 {
				t.Errorf("standing %+v, %v", standing, err)
			}
			s.settled()
		})
	}
}

func TestNoSecretOfTheStoreIsTold(t *testing.T) {
	const secret = "redis-password-0123456789"
	m := miniredis.RunT(t)
	m.RequireAuth("another")
	s := serve(t, replies(200, plainReply), sharing(m, ""), configure(func(c *config.Config) {
		c.Store.LimitsKeyEnv = "REDIS_PASSWORD"
		c.Tenants[0].Limits = config.Limits{RPM: 5}
	}), func(_ *config.Config, o *Options) {
		o.LookupEnv = func(name string) (string, bool) {
			if name == "REDIS_PASSWORD" {
				return secret, true
			}
			return testEnv(name)
		}
	})
	got := s.post(tenTokens)
	if got.status != 503 || !strings.Contains(s.logs.String(), "Redis cannot be reached") {
		t.Errorf("status %d, log %s", got.status, s.logs)
	}
	if all := got.body + s.logs.String() + s.metrics(); strings.Contains(all, secret) {
		t.Errorf("the password is told: %s", all)
	}
}
