package gateway

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/tidwall/gjson"
)

// frozen sets the limits of both tenants and stops the clock.
func frozen(search, chat config.Limits) func(*config.Config, *Options) {
	now := time.Now()
	return func(c *config.Config, o *Options) {
		c.Tenants[0].Limits, c.Tenants[1].Limits = search, chat
		o.Now = func() time.Time { return now }
	}
}

func limitHeaders(h http.Header) map[string]string {
	found := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if short, ok := strings.CutPrefix(name, "X-Ratelimit-"); ok {
			found[strings.ToLower(short)] = h.Get(name)
		}
	}
	return found
}

const tenTokens = `{"model":"small","messages":[{"role":"user","content":"1234"}],"max_tokens":10}`

func TestLimitsAreReservedSettledAndTold(t *testing.T) {
	s := serve(t, replies(200, plainReply), frozen(config.Limits{RPM: 6, InputTPM: 1000, OutputTPM: 20}, config.Limits{}))
	first := s.post(tenTokens) // reserves 1 and 10, uses 11 and 2
	want := map[string]string{
		"limit-requests": "6", "remaining-requests": "5", "reset-requests": "10s",
		"limit-input-tokens": "1000", "remaining-input-tokens": "999", "reset-input-tokens": "60ms",
		"limit-output-tokens": "20", "remaining-output-tokens": "10", "reset-output-tokens": "30s",
		"limit-tokens": "20", "remaining-tokens": "10", "reset-tokens": "30s",
	}
	if diff := cmp.Diff(want, limitHeaders(first.header)); first.status != 200 || diff != "" {
		t.Errorf("status %d, headers (-want +got):\n%s", first.status, diff)
	}
	second := limitHeaders(s.post(tenTokens).header) // 20 − 2 − 10
	if second["remaining-output-tokens"] != "8" || second["remaining-input-tokens"] != "988" {
		t.Errorf("after settling: %v", second)
	}
	big := s.post(strings.Replace(tenTokens, `"max_tokens":10`, `"max_tokens":17`, 1)) // 16 are left
	if big.status != 429 || big.header.Get("Retry-After") != "3" || big.header.Get("X-Should-Retry") != "" ||
		gjson.Get(big.body, "error.code").Str != "rate_limit_exceeded" || gjson.Get(big.body, "error.type").Str != "tokens" {
		t.Errorf("status %d, Retry-After %q, body %s", big.status, big.header.Get("Retry-After"), big.body)
	}
	never := s.post(strings.Replace(tenTokens, `"max_tokens":10`, `"max_tokens":21`, 1))
	if never.status != 429 || never.header.Get("Retry-After") != "" || never.header.Get("X-Should-Retry") != "false" {
		t.Errorf("above the limit: status %d, Retry-After %q, x-should-retry %q", never.status, never.header.Get("Retry-After"), never.header.Get("X-Should-Retry"))
	}
	s.settled()
	metrics := s.metrics()
	for _, line := range []string{
		`llmctl_gateway_limit_rejections_total{resource="output_tokens",tenant="search"} 2`,
		`llmctl_gateway_limit_tokens_total{event="reserved",tenant="search"} 22`,
		`llmctl_gateway_limit_tokens_total{event="settled",tenant="search"} 26`,
		`llmctl_gateway_limit_tokens_total{event="refunded",tenant="search"} 16`,
		`llmctl_gateway_limit_tokens_total{event="debt",tenant="search"} 20`,
		`llmctl_gateway_tokens_total{alias="small",arm="stable",deployment="cluster/real-model",kind="output",tenant="search"} 4`,
		`llmctl_gateway_requests_total{alias="small",outcome="rate_limited",status="429",tenant="search"} 2`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}

func TestFirstRequestWithoutMaxTokensFitsASmallLimit(t *testing.T) {
	s := serve(t, replies(200, plainReply), frozen(config.Limits{OutputTPM: 500}, config.Limits{}))
	if got := s.post(plainBody); got.status != 200 {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestParallelRequestsAdmitExactlyWhatFits(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
		replies(200, plainReply)(w, r)
	}, frozen(config.Limits{OutputTPM: 100}, config.Limits{}))
	statuses := make(chan int, 50)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { statuses <- s.post(tenTokens).status })
	}
	for range 40 {
		if status := wait(t, statuses, "a rejection"); status != 429 {
			t.Errorf("status %d while ten requests run", status)
		}
	}
	close(release)
	wg.Wait()
	close(statuses)
	for status := range statuses {
		if status != 200 {
			t.Errorf("status %d for an admitted request", status)
		}
	}
}

func TestTenantsDoNotShareLimits(t *testing.T) {
	s := serve(t, replies(200, plainReply), frozen(config.Limits{RPM: 1}, config.Limits{RPM: 1}))
	for _, key := range []string{searchKey, chatKey} {
		for _, want := range []int{200, 429} {
			r := s.request(t.Context(), plainBody)
			r.Header.Set("Authorization", "Bearer "+key)
			if got := s.do(r); got.status != want || strings.Contains(got.body, "search") && key == chatKey {
				t.Errorf("status %d, want %d: %s", got.status, want, got.body)
			}
		}
	}
}

func TestKeysHaveLimitsBesideTheTenant(t *testing.T) {
	s := serve(t, replies(200, plainReply), frozen(config.Limits{RPM: 3}, config.Limits{}), configure(func(c *config.Config) {
		c.Tenants[0].Keys[0].Limits.RPM = 1
		c.Tenants[0].Keys = append(c.Tenants[0].Keys, config.Key{Hash: config.HashKey("sk-second-key")})
	}))
	for _, step := range []struct {
		key  string
		want int
	}{{searchKey, 200}, {searchKey, 429}, {"sk-second-key", 200}, {"sk-second-key", 200}, {"sk-second-key", 429}} {
		r := s.request(t.Context(), plainBody)
		r.Header.Set("Authorization", "Bearer "+step.key)
		if got := s.do(r); got.status != step.want {
			t.Errorf("%s: status %d, want %d", step.key, got.status, step.want)
		}
	}
}
