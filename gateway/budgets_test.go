package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/usage"
)

// midnight is a minute and a half before a day of UTC begins, in the middle of a
// month.
var midnight = time.Date(2026, 8, 20, 23, 58, 30, 0, time.UTC)

// budgeted gives the alias a price of a millionth of a dollar a token, and the search
// tenant budgets, in such millionths.
func budgeted(now *time.Time, perDay, perMonth float64) func(*config.Config, *Options) {
	return func(c *config.Config, o *Options) {
		one := 1.0
		c.Models[0].Targets[0].USDPer1M = config.Price{Input: &one, Output: &one}
		c.Tenants[0].Limits.USDPerDay, c.Tenants[0].Limits.USDPerMonth = config.USD(perDay/1e6), config.USD(perMonth/1e6)
		o.Now = func() time.Time { return *now }
	}
}

func TestBudgetsTurnAway(t *testing.T) {
	tests := []struct {
		name            string
		day, month      float64 // millionths of a dollar; a request reserves 11 and uses 13
		fits            int
		retryAfter      string
		shouldRetry     string
		resource, scope string
	}{
		{"a day that is used up, soon over", 25, 0, 2, "90", "false", "usd_per_day", "a day"},
		{"a month that is used up", 0, 30, 2, "950490", "false", "usd_per_month", "a month"},
		{"a request above the budget", 10, 0, 0, "", "false", "usd_per_day", "a day"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now := midnight
			s := serve(t, replies(200, plainReply), budgeted(&now, test.day, test.month))
			for range test.fits {
				if got := s.post(tenTokens); got.status != 200 || got.header.Get("X-Llmctl-Response-Cost") != "0.000013" {
					t.Fatalf("status %d, cost %q: %s", got.status, got.header.Get("X-Llmctl-Response-Cost"), got.body)
				}
			}
			got := s.post(tenTokens)
			if got.status != 429 || gjson.Get(got.body, "error.code").Str != "insufficient_quota" || gjson.Get(got.body, "error.type").Str != "insufficient_quota" ||
				!strings.Contains(got.body, test.scope) {
				t.Errorf("status %d, body %s", got.status, got.body)
			}
			if got.header.Get("Retry-After") != test.retryAfter || got.header.Get("X-Should-Retry") != test.shouldRetry {
				t.Errorf("Retry-After %q, x-should-retry %q", got.header.Get("Retry-After"), got.header.Get("X-Should-Retry"))
			}
			s.settled()
			if line := `llmctl_gateway_limit_rejections_total{resource="` + test.resource + `",tenant="search"} 1`; !strings.Contains(s.metrics(), line) {
				t.Errorf("metrics lack %s", line)
			}
		})
	}
}

func TestABudgetThatIsRefilledWithinAMinuteMayBeRetried(t *testing.T) {
	now := midnight.Add(time.Minute)
	s := serve(t, replies(200, plainReply), budgeted(&now, 13, 0))
	s.post(tenTokens)
	got := s.post(tenTokens)
	if got.status != 429 || got.header.Get("Retry-After") != "30" || got.header.Get("Retry-After-Ms") != "30000" || got.header.Get("X-Should-Retry") != "" {
		t.Errorf("status %d, headers %v", got.status, got.header)
	}
	now = now.Add(30 * time.Second)
	if got := s.post(tenTokens); got.status != 200 {
		t.Errorf("status %d in the new day", got.status)
	}
}

// A budget that is used up is used up on every path, and for every answer.
func TestAUsedUpBudgetHoldsOnEveryPath(t *testing.T) {
	now := midnight
	s := serve(t, replies(200, plainReply), budgeted(&now, 13, 0))
	s.post(tenTokens)
	for path, body := range map[string]string{
		"/v1/chat/completions": streamBody, "/v1/completions": `{"model":"large","prompt":"x"}`,
		"/v1/embeddings": `{"model":"large","input":"x"}`, "/v1/responses": `{"model":"large","input":"x"}`,
	} {
		if got := s.at(path, body); got.status != 429 || gjson.Get(got.body, "error.code").Str != "insufficient_quota" {
			t.Errorf("%s: status %d, %s", path, got.status, got.body)
		}
	}
	r := s.request(t.Context(), tenTokens)
	r.Header.Set("Authorization", "Bearer "+chatKey)
	if got := s.do(r); got.status != 200 || strings.Contains(got.body, "search") {
		t.Errorf("another tenant got status %d: %s", got.status, got.body)
	}
}

func TestRequestsThatFailCostNothing(t *testing.T) {
	now := midnight
	s := serve(t, replies(500, `{}`), budgeted(&now, 13, 0))
	for range 3 {
		if got := s.post(tenTokens); got.status != 502 {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
	}
	standing, err := s.gateway.limits.Standing(t.Context(), "search")
	if err != nil || standing[0].Day.Spent != 0 || standing[0].Held != 0 {
		t.Errorf("standing %+v, %v", standing, err)
	}
	s.settled()
}

// What was spent before a restart is known to the ledger, and counts.
func TestBudgetsGoOnAfterARestart(t *testing.T) {
	now := midnight
	ledger := usage.NewMemory(usage.Options{})
	t.Cleanup(func() { _ = ledger.Close() })
	shared := func(_ *config.Config, o *Options) { o.Ledger = ledger }
	first := serve(t, replies(200, plainReply), budgeted(&now, 25, 0), shared)
	first.post(tenTokens)
	first.post(tenTokens)
	first.gateway.Close()
	if err := ledger.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := serve(t, replies(200, plainReply), budgeted(&now, 25, 0), shared)
	if got := second.post(tenTokens); got.status != 429 {
		t.Errorf("status %d with a budget that was used up before", got.status)
	}
	now = now.Add(2 * time.Minute)
	if got := second.post(tenTokens); got.status != 200 {
		t.Errorf("status %d in the new day", got.status)
	}
}

// The worst case is that of the dearest deployment which may take the request, and
// the real cost that of the one which did.
func TestBudgetsHoldWhatTheDearestDeploymentWouldCost(t *testing.T) {
	now := midnight
	dear := 100.0
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		replies(200, plainReply)(w, r)
	}, budgeted(&now, 0, 5000), configure(func(c *config.Config) {
		c.Models[0].Fallback = []config.Target{{Provider: "cluster", Model: "dear", USDPer1M: config.Price{Input: &dear, Output: &dear}}}
	}))
	done := make(chan answer, 1)
	go func() { done <- s.post(tenTokens) }()
	wait(t, arrived, "the request")
	standing, _ := s.gateway.limits.Standing(t.Context(), "search")
	if want := limit.Dollars(11 * dear / 1e6); standing[0].Held != want {
		t.Errorf("%v held, want %v", standing[0].Held, want)
	}
	close(release)
	wait(t, done, "the answer")
	standing, _ = s.gateway.limits.Standing(t.Context(), "search")
	if want := limit.Dollars(13 / 1e6); standing[0].Held != 0 || standing[0].Month.Spent != want {
		t.Errorf("%v held and %v spent, want none and %v", standing[0].Held, standing[0].Month.Spent, want)
	}
}

// A limit that is changed while requests run keeps what they have used.
func TestReloadKeepsWhatLimitsHaveCounted(t *testing.T) {
	now := midnight
	s := serve(t, replies(200, plainReply), budgeted(&now, 40, 0), configure(func(c *config.Config) { c.Tenants[0].Limits.OutputTPM = 100 }))
	s.post(tenTokens)
	next := testConfig("http://127.0.0.1:1")
	var o Options
	budgeted(&now, 20, 0)(next, &o)
	next.Tenants[0].Limits.OutputTPM = 50
	if err := s.gateway.Reload(next); err != nil {
		t.Fatal(err)
	}
	standing, err := s.gateway.limits.Standing(t.Context(), "search")
	if err != nil || standing[0].Output.Level != 50 || standing[0].Day.Spent != limit.Dollars(13/1e6) {
		t.Errorf("standing %+v, %v", standing[0], err)
	}
	if got := s.post(tenTokens); got.status != 429 {
		t.Errorf("status %d under the lowered budget", got.status)
	}
}

func TestEveryAnswerSaysWhereLimitsStand(t *testing.T) {
	now := midnight
	s := serve(t, replies(200, plainReply), budgeted(&now, 0, 0), configure(func(c *config.Config) { c.Tenants[0].Limits.RPM = 100 }))
	for name, got := range map[string]answer{
		"an answer": s.post(tenTokens), "no such model": s.post(`{"model":"none"}`), "no JSON": s.post("{"),
		"a stream": s.post(streamBody), "a path": s.at("/v1/embeddings", `{"model":"small","input":"x"}`),
	} {
		if got.header.Get("X-Ratelimit-Limit-Requests") != "100" {
			t.Errorf("%s (status %d) does not say it", name, got.status)
		}
	}
}
