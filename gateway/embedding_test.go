package gateway

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
)

// embedsCounted is an upstream whose embeddings took seven tokens each, where it says so,
// and whose answers took thirteen.
func embedsCounted(embeddings *atomic.Int64, says bool) http.HandlerFunc {
	reply := `{"data":[{"embedding":[2,0]}]}`
	if says {
		reply = `{"data":[{"embedding":[2,0]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/embeddings" {
			replies(200, plainReply)(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		embeddings.Add(1)
		replies(200, reply)(w, r)
	}
}

// pricedEmbeddings cost a millionth of a dollar a token.
func pricedEmbeddings(c *config.Config, _ *Options) {
	one := 1.0
	c.Models[0].Cache.Semantic.USDPer1M.Input = &one
}

// A look into the cache by meaning costs an embedding, whether it finds an answer or
// not: it is on the tenant's bill and budget, and counts as no request and against no
// rate of tokens.
func TestEmbeddingsOfTheCacheAreMetered(t *testing.T) {
	now, embeddings := midnight, atomic.Int64{}
	s := serve(t, embedsCounted(&embeddings, true), budgeted(&now, 1e6, 0), cachingByMeaning, pricedEmbeddings, keeping(t),
		configure(func(c *config.Config) { c.Tenants[0].Limits.RPM, c.Tenants[0].Limits.InputTPM = 10, 1000 }))
	for _, step := range []struct{ question, cache, requests, input string }{
		{"cancel my order", "miss", "9", "989"},            // of the usage, 11
		{"please cancel my order", "semantic", "8", "989"}, // nothing
	} {
		got := s.post(asking(step.question))
		if v := got.header.Get("X-Llmctl-Cache"); got.status != 200 || v != step.cache {
			t.Errorf("status %d, %q, want %q", got.status, v, step.cache)
		}
		if h := limitHeaders(got.header); h["remaining-requests"] != step.requests || h["remaining-input-tokens"] != step.input {
			t.Errorf("limits %v, want %s requests and %s tokens", h, step.requests, step.input)
		}
	}
	if spent := standing(t, s).Day.Spent; spent != 13_000+2*7_000 {
		t.Errorf("%v spent", spent)
	}
	s.settled()
	one := usage.Record{Arm: usage.Embedding, Tenant: "search", Alias: "small", Provider: "cluster", Model: "embed", Class: "interactive", Key: "1",
		At: now, Outcome: "ok", OK: true, Status: 200, Attempts: 1, Tokens: usage.Tokens{Input: 7}, Cost: usage.Cost{Input: usage.Known(7000), Output: usage.Known(0)}}
	var got []usage.Record
	for _, r := range s.records() {
		if r.Arm == usage.Embedding {
			got = append(got, r)
		}
	}
	if diff := cmp.Diff([]usage.Record{one, one}, got, cmp.AllowUnexported(usage.Amount{}), cmpopts.IgnoreFields(usage.Record{}, "RequestID", "Key"), cmpopts.IgnoreUnexported(usage.Record{})); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if sums := s.sums(); sums.Requests != 2 || sums.Input != 11+2*7 || sums.Cost != 13_000+2*7_000 || sums.Unpriced != 0 {
		t.Errorf("sums %+v", sums)
	}
	metrics := s.metrics()
	for _, line := range []string{
		`llmctl_gateway_tokens_total{alias="small",arm="embedding",deployment="cluster/embed",kind="input",tenant="search"} 14`,
		`llmctl_gateway_cost_usd_total{alias="small",deployment="cluster/embed",tenant="search"} 1.4`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
}

// Nobody gets embeddings beyond their limits: who is turned away is so before one is
// made, and one that was made for nothing counts.
func TestEmbeddingsKeepWithinLimits(t *testing.T) {
	for _, test := range []struct {
		name       string
		limits     config.Limits
		requests   []int // status of each
		embeddings int64
		spent      int64 // nano-dollars
	}{
		{"requests", config.Limits{RPM: 2, USDPerDay: 1}, []int{200, 200, 429, 429}, 2, 13_000 + 2*7_000},
		{"money", config.Limits{USDPerDay: config.USD(28 / 1e6)}, []int{200, 200, 429, 429}, 3, 13_000 + 3*7_000}, // the third one uses the budget up
		{"tokens, and then requests", config.Limits{RPM: 3, OutputTPM: 1, USDPerDay: 1}, []int{429, 429, 429, 429, 429}, 3, 3 * 7_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			now, embeddings := midnight, atomic.Int64{}
			s := serve(t, embedsCounted(&embeddings, true), budgeted(&now, 0, 0), cachingByMeaning, pricedEmbeddings,
				configure(func(c *config.Config) { c.Tenants[0].Limits = test.limits }))
			for i, status := range test.requests {
				body := strings.Replace(asking("cancel my order"), `"model"`, `"max_tokens":5,"model"`, 1)
				if got := s.post(body); got.status != status {
					t.Errorf("request %d: status %d, want %d: %s", i, got.status, status, got.body)
				}
			}
			if got := standing(t, s); int64(got.Day.Spent) != test.spent || got.Open != 0 || embeddings.Load() != test.embeddings {
				t.Errorf("%v spent and %d open after %d embeddings, want %d after %d", got.Day.Spent, got.Open, embeddings.Load(), test.spent, test.embeddings)
			}
			s.settled()
			if sums := s.sums(); sums.Cost != test.spent {
				t.Errorf("the ledger has %d, the budget %d", sums.Cost, test.spent)
			}
		})
	}
}

// An endpoint that does not count is believed nothing, and a price that nobody knows is
// not zero.
func TestEmbeddingsThatNobodyCountsAreEstimated(t *testing.T) {
	var embeddings atomic.Int64
	s := serve(t, embedsCounted(&embeddings, false), cachingByMeaning)
	s.post(asking("cancel my order")) // of 15 bytes
	s.settled()
	metrics := s.metrics()
	for _, line := range []string{
		`llmctl_gateway_tokens_total{alias="small",arm="embedding",deployment="cluster/embed",kind="input",tenant="search"} 4`,
		`llmctl_gateway_unpriced_requests_total{alias="small",deployment="cluster/embed",tenant="search"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}

// A request for which an embedding was made, and that then can go nowhere, leaves no
// slot taken, and its embedding on the bill.
func TestAnEmbeddingOfARequestThatGoesNowhere(t *testing.T) {
	now, embeddings := midnight, atomic.Int64{}
	s := serve(t, embedsCounted(&embeddings, true), budgeted(&now, 1e6, 0), cachingByMeaning, pricedEmbeddings,
		configure(func(c *config.Config) { c.Models[0].Targets[0].Context, c.Tenants[0].Limits.Concurrent = 1, 1 }))
	for range 2 {
		if got := s.post(asking("cancel my order")); got.status != 400 {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
	if got := standing(t, s); got.Open != 0 || got.Day.Spent != 2*7_000 || embeddings.Load() != 2 {
		t.Errorf("%d open, %v spent after %d embeddings", got.Open, got.Day.Spent, embeddings.Load())
	}
	s.settled()
}

// An embedding that cannot be used, or does not come in time, was made all the same; one
// that the endpoint refuses was not.
func TestEmbeddingsThatFailAreMetered(t *testing.T) {
	for name, test := range map[string]struct {
		reply http.HandlerFunc
		want  int64
	}{
		"no direction": {replies(200, `{"data":[{"embedding":[0,0]}],"usage":{"prompt_tokens":7}}`), 7},
		"two of them":  {replies(200, `{"data":[{"embedding":[1]},{"embedding":[1]}],"usage":{"prompt_tokens":7}}`), 7},
		"no JSON":      {replies(200, `{"data":`), 4},
		"too late":     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 4},
		"refused":      {replies(500, `{}`), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if r.URL.Path == "/v1/embeddings" {
					test.reply(w, r)
					return
				}
				replies(200, plainReply)(w, r)
			}, cachingByMeaning, configure(func(c *config.Config) { c.Models[0].Cache.Semantic.Timeout = config.Duration(500 * time.Millisecond) }))
			if got := s.post(asking("cancel my order")); got.status != 200 { // of 15 bytes
				t.Errorf("status %d", got.status)
			}
			s.settled()
			if got := s.sumsOf(usage.Embedding).Input; got != test.want {
				t.Errorf("%d tokens, want %d", got, test.want)
			}
		})
	}
}
