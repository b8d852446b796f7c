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

	"github.com/alicebob/miniredis/v2"
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
		"limit-input-tokens": "1000", "remaining-input-tokens": "989", "reset-input-tokens": "660ms",
		"limit-output-tokens": "20", "remaining-output-tokens": "18", "reset-output-tokens": "6s",
		"limit-tokens": "20", "remaining-tokens": "18", "reset-tokens": "6s",
	}
	if diff := cmp.Diff(want, limitHeaders(first.header)); first.status != 200 || diff != "" {
		t.Errorf("status %d, headers (-want +got):\n%s", first.status, diff)
	}
	second := limitHeaders(s.post(tenTokens).header) // 20 − 2 − 2
	if second["remaining-output-tokens"] != "16" || second["remaining-input-tokens"] != "978" {
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

// What is left is enough for a request that says nothing of its output, down to an
// eighth of what it would reserve. What it uses beyond that is debt, and keeps the
// next one out.
func TestARequestWithoutMaxTokensTakesWhatIsLeft(t *testing.T) {
	long := strings.Replace(plainReply, `"completion_tokens":2`, `"completion_tokens":300`, 1)
	s := serve(t, replies(200, long), frozen(config.Limits{OutputTPM: 500}, config.Limits{}))
	for i, step := range []struct {
		body       string
		status     int
		left       string
		retryAfter string
	}{
		{plainBody, 200, "200", ""}, // holds all 500, uses 300
		{plainBody, 200, "0", ""},   // holds the 200 that are left, uses 300
		{plainBody, 429, "0", "20"}, // for an eighth, 63, and 100 of debt
		{tenTokens, 429, "0", "14"}, // for 10 and the debt
		{plainBody, 429, "0", "20"}, // nothing is counted of those that were refused
	} {
		got := s.post(step.body)
		if got.status != step.status || got.header.Get("X-Ratelimit-Remaining-Output-Tokens") != step.left || got.header.Get("Retry-After") != step.retryAfter {
			t.Errorf("request %d: status %d, %q left, Retry-After %q, want %d, %q, %q", i, got.status, got.header.Get("X-Ratelimit-Remaining-Output-Tokens"), got.header.Get("Retry-After"), step.status, step.left, step.retryAfter)
		}
	}
	s.settled()
}

// However many come at once without max_tokens, they hold no more than there is.
func TestParallelRequestsWithoutMaxTokensHoldNoMoreThanThereIs(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
		replies(200, plainReply)(w, r)
	}, frozen(config.Limits{OutputTPM: 5 * assumedOutput / 2}, config.Limits{}))
	statuses := make(chan int, 20)
	for range 20 {
		go func() { statuses <- s.post(plainBody).status }()
	}
	for range 17 {
		if status := wait(t, statuses, "a rejection"); status != 429 {
			t.Errorf("status %d while three requests run", status)
		}
	}
	if held := s.gateway.limits.Ledger().Reserved - 3; held != 5*assumedOutput/2 { // each has a token of input, too
		t.Errorf("%d tokens are held", held)
	}
	close(release)
	for range 3 {
		if status := wait(t, statuses, "an answer"); status != 200 {
			t.Errorf("status %d for an admitted request", status)
		}
	}
	s.settled()
}

// A request can use no more output than its context has room for, and an embedding
// none: nothing else is reserved for them.
func TestReservationsEndWhereTheContextDoes(t *testing.T) {
	for name, test := range map[string]struct {
		path, body string
		contexts   []config.Count
		most       config.MaxTokens
		want       int64 // tokens reserved
	}{
		"nothing known":               {"/v1/chat/completions", tenWords, []config.Count{0}, config.MaxTokens{}, 10 + assumedOutput},
		"a small context":             {"/v1/chat/completions", tenWords, []config.Count{100}, config.MaxTokens{}, 10 + 90},
		"the roomiest of two":         {"/v1/chat/completions", tenWords, []config.Count{100, 200}, config.MaxTokens{}, 10 + 190},
		"one of two that is unknown":  {"/v1/chat/completions", tenWords, []config.Count{100, 0}, config.MaxTokens{}, 10 + assumedOutput},
		"a default beyond it":         {"/v1/chat/completions", tenWords, []config.Count{100}, config.MaxTokens{Default: 500}, 10 + 90},
		"a cap beyond it":             {"/v1/chat/completions", tenWords, []config.Count{100}, config.MaxTokens{Cap: 500}, 10 + 90},
		"what the client asked for":   {"/v1/chat/completions", `{"max_tokens":80,` + tenWords[1:], []config.Count{100}, config.MaxTokens{}, 10 + 80},
		"several answers":             {"/v1/chat/completions", `{"n":2,` + tenWords[1:], []config.Count{100}, config.MaxTokens{}, 10 + 180},
		"an embedding has no output":  {"/v1/embeddings", `{"model":"small","input":"` + fortyBytes + `"}`, []config.Count{0}, config.MaxTokens{}, 10},
		"whatever the alias would do": {"/v1/embeddings", `{"model":"small","input":"` + fortyBytes + `"}`, []config.Count{0}, config.MaxTokens{Default: 500}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, replies(200, `{"data":[],"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1}}`), configure(func(c *config.Config) {
				c.Models[0].MaxTokens = test.most
				c.Models[0].Targets = nil
				for i, n := range test.contexts {
					c.Models[0].Targets = append(c.Models[0].Targets, config.Target{Provider: "cluster", Model: string(rune('a' + i)), Context: n})
				}
			}))
			if got := s.at(test.path, test.body); got.status != 200 {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			s.settled()
			if got := s.gateway.limits.Ledger().Reserved; got != test.want {
				t.Errorf("%d tokens reserved, want %d", got, test.want)
			}
		})
	}
}

var (
	fortyBytes = strings.Repeat("four", 10)
	tenWords   = `{"model":"small","messages":[{"role":"user","content":"` + fortyBytes + `"}]}`
)

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

// A header that has not gone out yet tells what is left after the request: with its
// debt, and with what it gave back when it failed; that of a stream, what is left while
// it runs.
func TestHeadersTellTheLevelsAfterTheRequest(t *testing.T) {
	long := strings.Replace(plainReply, `"completion_tokens":2`, `"completion_tokens":30`, 1)
	for _, test := range []struct {
		name        string
		upstream    http.HandlerFunc
		body        string
		left, reset string
	}{
		{"used less than was reserved", replies(200, plainReply), tenTokens, "18", "6s"},
		{"used more than there was", replies(200, long), tenTokens, "0", "1m30s"},
		{"failed", replies(500, "{}"), tenTokens, "20", "0s"},
		{"a stream", upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent), strings.Replace(tenTokens, "{", `{"stream":true,`, 1), "10", "30s"},
	} {
		for _, shared := range []bool{false, true} {
			edits := []func(*config.Config, *Options){frozen(config.Limits{OutputTPM: 20}, config.Limits{})}
			if shared {
				m := miniredis.RunT(t)
				m.SetTime(time.Now())
				edits = append(edits, sharing(m, ""))
			}
			s := serve(t, test.upstream, edits...)
			got := limitHeaders(s.post(test.body).header)
			if got["remaining-output-tokens"] != test.left || got["reset-output-tokens"] != test.reset {
				t.Errorf("%s, shared %v: %v, want %s left and a reset of %s", test.name, shared, got, test.left, test.reset)
			}
			s.settled()
		}
	}
}

// OpenAI's clients ignore a wait of a minute and more, and would come again at once:
// they are told not to, whatever the wait is for.
func TestClientsAreToldNotToWaitForAMinute(t *testing.T) {
	debt := strings.Replace(plainReply, `"completion_tokens":2`, `"completion_tokens":30`, 1)
	for _, test := range []struct {
		limit              config.Count
		after, ms, noRetry string
	}{{20, "60", "60000", "false"}, {21, "55", "54286", ""}} {
		s := serve(t, replies(200, debt), frozen(config.Limits{OutputTPM: test.limit}, config.Limits{}))
		s.post(tenTokens)
		got := s.post(tenTokens) // for which 20 have to flow in
		if got.status != 429 || got.header.Get("Retry-After") != test.after || got.header.Get("Retry-After-Ms") != test.ms || got.header.Get("X-Should-Retry") != test.noRetry {
			t.Errorf("limit %d: status %d, headers %v", test.limit, got.status, got.header)
		}
		s.settled()
	}
}
