package gateway

import (
	"io"
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
		resource, scope string
		kind, code      string
	}{
		{"a day that is used up, soon over", 25, 0, 2, "90", "usd_per_day", "budget of $0.000025 a day of tenant \"search\" is used up", "insufficient_quota", "insufficient_quota"},
		{"a month that is used up", 0, 26, 2, "950490", "usd_per_month", "budget of $0.000026 a month of tenant \"search\" is used up", "insufficient_quota", "insufficient_quota"},
		{"a request above what is left of a month", 0, 30, 2, "", "usd_per_month", "may cost $0.000011, $0.000004 of the budget of $0.00003 a month of tenant \"search\" is left: ask for a smaller max_tokens", "tokens", "request_too_costly"},
		{"a request above the budget", 10, 0, 0, "", "usd_per_day", "may cost $0.000011, above the budget of $0.00001 a day", "tokens", "request_too_costly"},
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
			if got.status != 429 || gjson.Get(got.body, "error.code").Str != test.code || gjson.Get(got.body, "error.type").Str != test.kind ||
				!strings.Contains(gjson.Get(got.body, "error.message").Str, test.scope) {
				t.Errorf("status %d, body %s", got.status, got.body)
			}
			if got.header.Get("Retry-After") != test.retryAfter || got.header.Get("X-Should-Retry") != "false" {
				t.Errorf("Retry-After %q, x-should-retry %q", got.header.Get("Retry-After"), got.header.Get("X-Should-Retry"))
			}
			s.settled()
			if line := `llmctl_gateway_limit_rejections_total{resource="` + test.resource + `",tenant="search"} 1`; !strings.Contains(s.metrics(), line) {
				t.Errorf("metrics lack %s", line)
			}
		})
	}
}

// What is left of a budget is for requests that it holds: one that asks for less passes.
func TestABudgetWithSomeLeftLetsASmallerRequestThrough(t *testing.T) {
	now := midnight.Add(-time.Hour)
	s := serve(t, replies(200, plainReply), budgeted(&now, 30, 0))
	s.post(tenTokens)
	big := strings.Replace(tenTokens, `"max_tokens":10`, `"max_tokens":20`, 1)
	if got := s.post(big); got.status != 429 || gjson.Get(got.body, "error.code").Str != "request_too_costly" || got.header.Get("Retry-After") != "" {
		t.Errorf("status %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
	}
	if got := s.post(tenTokens); got.status != 200 {
		t.Errorf("status %d for what the budget holds: %s", got.status, got.body)
	}
	now = midnight.Add(time.Minute)
	if got := s.post(tenTokens); got.status != 429 {
		t.Errorf("status %d with 4 millionths left", got.status)
	} else if got.header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After %q half a minute before the day ends", got.header.Get("Retry-After"))
	}
	s.settled()
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

// twoPrices puts a dear fallback behind the alias's target, at a hundred times its price.
func twoPrices(c *config.Config, _ *Options) {
	hundred := 100.0
	c.Models[0].Fallback = []config.Target{{Provider: "cluster", Model: "dear", USDPer1M: config.Price{Input: &hundred, Output: &hundred}}}
}

// What is held for the dearest target that a request could go to is given back for what
// the one that served it costs.
func TestABudgetHoldsTheDearestAndIsChargedTheRealPrice(t *testing.T) {
	for _, test := range []struct {
		name    string
		first   int // status of the cheap target
		charged limit.Money
	}{{"the cheap one served", 200, 13_000}, {"the dear one did", 500, 1_300_000}} {
		t.Run(test.name, func(t *testing.T) {
			now := midnight
			arrived, release := make(chan struct{}, 2), make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				status := 200
				if gjson.GetBytes(body, "model").Str != "dear" {
					status = test.first
				}
				arrived <- struct{}{}
				<-release
				replies(status, plainReply)(w, r)
			}, budgeted(&now, 1e6, 0), twoPrices)
			done := s.send(t.Context(), tenTokens, "")
			wait(t, arrived, "the request")
			if held := standing(t, s).Held; held != 1_100_000 { // 11 tokens at the dear price
				t.Errorf("%v are held", held)
			}
			close(release)
			if got := wait(t, done, "the answer"); got.status != 200 {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			if got := standing(t, s); got.Held != 0 || got.Day.Spent != test.charged {
				t.Errorf("%v are held and %v spent, want %v", got.Held, got.Day.Spent, test.charged)
			}
			s.settled()
		})
	}
}

// standing is what the search tenant's counters hold.
func standing(t *testing.T, s *stand) limit.State {
	t.Helper()
	all, err := s.gateway.limits.Standing(t.Context(), "search")
	if err != nil || len(all) == 0 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0].State
}

// A target that a budget cannot hold is no reason to turn a request away that another
// one could serve. The client and the log are told.
func TestABudgetThatHoldsACheaperTargetAloneLetsTheRequestThrough(t *testing.T) {
	for _, test := range []struct {
		name       string
		day        float64 // millionths of a dollar
		first      int     // status of the cheap target
		dearFirst  bool
		status     int
		fallback   string
		deployment string
		left       string
	}{
		{"room for both", 2000, 500, false, 200, "cluster/dear; reason=upstream_error", "cluster/dear", ""},
		{"room for the cheap one", 500, 200, false, 200, "", "cluster/real-model", "cluster/dear:budget"},
		{"room for the cheap one, which fails", 500, 500, false, 502, "", "cluster/real-model", "cluster/dear:budget"},
		{"room for the spare alone", 500, 200, true, 200, "cluster/real-model; reason=budget", "cluster/real-model", "cluster/dear:budget"},
		{"room for none", 5, 200, false, 429, "", "", "cluster/dear:budget"},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := midnight
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if gjson.GetBytes(body, "model").Str == "dear" {
					replies(200, plainReply)(w, r)
					return
				}
				replies(test.first, plainReply)(w, r)
			}, budgeted(&now, test.day, 0), twoPrices, configure(func(c *config.Config) {
				if m := &c.Models[0]; test.dearFirst {
					m.Targets, m.Fallback = m.Fallback, m.Targets
				}
			}))
			got := s.post(tenTokens)
			if got.status != test.status || got.header.Get("X-Llmctl-Fallback") != test.fallback || got.header.Get("X-Llmctl-Deployment") != test.deployment {
				t.Errorf("status %d, fallback %q, deployment %q: %s", got.status, got.header.Get("X-Llmctl-Fallback"), got.header.Get("X-Llmctl-Deployment"), got.body)
			}
			s.settled()
			if left := gjson.Get(s.logs.String(), "left_out").Str; left != test.left {
				t.Errorf("left out %q, want %q", left, test.left)
			}
			if test.status == 429 && !strings.Contains(got.body, "may cost $0.000011") {
				t.Errorf("the refusal is not about the cheapest: %s", got.body)
			}
		})
	}
}

// Rates turn away whatever the price.
func TestACheaperTargetDoesNotHelpAgainstARate(t *testing.T) {
	now := midnight
	s := serve(t, mustNotBeCalled(t), budgeted(&now, 1e6, 0), twoPrices, configure(func(c *config.Config) { c.Tenants[0].Limits.OutputTPM = 5 }))
	if got := s.post(tenTokens); got.status != 429 || gjson.Get(got.body, "error.code").Str != "rate_limit_exceeded" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	s.settled()
	if left := gjson.Get(s.logs.String(), "left_out").Str; left != "" {
		t.Errorf("left out %q", left)
	}
}

// The least amounts that a configuration may name are one unit of what they are kept in,
// since none is no limit.
func TestTheLeastBudgetAndPriceAreNotNothing(t *testing.T) {
	l := boundsOf(config.Limits{USDPerDay: 0.000000001, USDPerMonth: 0.000000001})
	if l.Budgets != (limit.Budgets{Day: 1, Month: 1}) {
		t.Errorf("budgets %+v", l.Budgets)
	}
	least := 0.000001
	p, err := usage.NewPrice(&least, &least, &least)
	if err != nil {
		t.Fatal(err)
	}
	cost := p.Cost(usage.Tokens{Input: 1000, Output: 1000})
	if got, _ := cost.Total().Value(); got != 2 {
		t.Errorf("2000 tokens cost %d nano-dollars", got)
	}
}
