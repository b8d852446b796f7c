package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// bothTenants are the keys of two tenants that may use the alias.
var bothTenants = []string{searchKey, chatKey}

// Two tenants ask the same, word for word: each is answered by the model, whatever
// keeps answers.
func TestTenantsNeverSeeEachOthersAnswers(t *testing.T) {
	tests := []struct {
		name   string
		body   string
		header []string
		edit   func(*config.Config, *Options)
		same   string // header, and its value, by which a tenant's own second request shows that answers are kept
		want   string
	}{
		{"the exact cache", coldBody, nil, cachingExactly, "X-Llmctl-Cache", "hit"},
		{"the exact cache, streamed", streaming(coldBody), nil, cachingExactly, "X-Llmctl-Cache", "hit"},
		{"the semantic cache", asking("cancel my order"), nil, cachingByMeaning, "X-Llmctl-Cache", "semantic"},
		{"idempotency keys", plainBody, []string{headerIdempotency, "the same"}, priced, "Idempotent-Replayed", "true"},
		{"idempotency keys in Redis", plainBody, []string{headerIdempotency, "the same"}, sharing(miniredis.RunT(t), ""), "Idempotent-Replayed", "true"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var calls, embeddings atomic.Int64
			s := serve(t, embedding(&embeddings, answeringCounted(&calls)), test.edit)
			for i, key := range bothTenants {
				if got := s.as(key, test.body, test.header...); got.status != 200 || got.header.Get(test.same) == test.want || calls.Load() != int64(i+1) {
					t.Errorf("tenant %d: status %d, %s %q, %d calls of the model", i, got.status, test.same, got.header.Get(test.same), calls.Load())
				}
			}
			for i, key := range bothTenants { // the test could not fail if nothing were kept
				if got := s.as(key, test.body, test.header...); got.header.Get(test.same) != test.want || calls.Load() != 2 {
					t.Errorf("tenant %d again: %s %q, %d calls of the model", i, test.same, got.header.Get(test.same), calls.Load())
				}
			}
			s.settled()
		})
	}
}

// Equal requests of two tenants that are on their way at once are two.
func TestTenantsNeverShareAnAnswerOnItsWay(t *testing.T) {
	upstream, arrived, pass := gate()
	s := serve(t, upstream, cachingExactly)
	var waiting []<-chan answer
	for _, key := range bothTenants {
		done := make(chan answer, 1)
		waiting = append(waiting, done)
		go func() { done <- s.as(key, streaming(coldBody)) }()
		wait(t, arrived, "a request of its own")
	}
	close(pass)
	for _, done := range waiting {
		if got := wait(t, done, "the answer"); got.status != 200 || got.header.Get("X-Llmctl-Cache") != "miss" {
			t.Errorf("status %d, cache %q", got.status, got.header.Get("X-Llmctl-Cache"))
		}
	}
}

// No salt that a client sends reaches the engine's cache of another tenant, even if
// it knows that tenant's own; and where a tenant's prompts went says nothing of where
// another's go.
func TestTenantsNeverShareKVTimings(t *testing.T) {
	var mu sync.Mutex
	salts := map[string]string{} // tenant by salt
	var tenant atomic.Value
	w := newWorkers(t, 2, replies(200, plainReply),
		configure(func(c *config.Config) { c.Providers[0].Router.Policy = "prefix_affinity" }))
	saw := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		salt, who := gjson.GetBytes(body, "cache_salt").Str, tenant.Load().(string)
		mu.Lock()
		defer mu.Unlock()
		if other, ok := salts[salt]; salt == "" || ok && other != who {
			t.Errorf("the salt %q of %s is that of %q", salt, who, other)
		}
		salts[salt] = who
		replies(200, plainReply)(rw, r)
	})
	for i, key := range bothTenants {
		who := []string{"search", "chat"}[i]
		tenant.Store(who)
		for _, salt := range []string{"", "mine", tenantSalt("search"), tenantSalt("chat")} {
			body := strings.Replace(plainBody, "{", fmt.Sprintf(`{"cache_salt":%q,`, salt), 1)
			if got := saw.as(key, body); got.status != 200 {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
		}
	}

	const prompts = 12
	body := func(i int) string {
		return fmt.Sprintf(`{"model":"small","messages":[{"role":"user","content":"prompt %d %s"}]}`, i, strings.Repeat("What was said. ", 50))
	}
	places := func(key string) (at []string) {
		for i := range prompts {
			if got := w.as(key, body(i)); got.status != 200 {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			for e := range w.called() {
				at = append(at, e)
			}
		}
		return at
	}
	first, own := places(searchKey), places(searchKey)
	if fmt.Sprint(first) != fmt.Sprint(own) {
		t.Fatalf("a tenant's own prompts went to %v, then to %v", first, own)
	}
	w.as(chatKey, `{"model":"small","messages":[{"role":"user","content":"something else"}]}`) // endpoints take turns
	w.called()
	if other := places(chatKey); fmt.Sprint(other) == fmt.Sprint(first) {
		t.Errorf("another tenant's prompts all went where they are known: %v", other)
	}
}

// A tenant that has used up its limits, or floods the queue, neither has another one
// refused nor makes it wait for more than its share.
func TestATenantAtItsLimitLeavesOthersAlone(t *testing.T) {
	upstream, arrived, pass := gate()
	s := serve(t, upstream, configure(func(c *config.Config) {
		c.Providers[0].InFlight = 1
		c.Tenants[0].Limits = config.Limits{Concurrent: 20, RPM: 1 << 20}
	}))
	flood, leave := context.WithCancel(t.Context())
	defer leave()
	var searches []<-chan answer
	for range 20 {
		searches = append(searches, s.send(flood, streamBody, ""))
	}
	wait(t, arrived, "the first request")
	until(t, "the flood to wait", func() bool { return s.waiting() == 19 })
	refused := s.post(streamBody)
	if refused.status != 429 || strings.Contains(refused.body, "chat") {
		t.Errorf("one more of the tenant at its limit: status %d, %s", refused.status, refused.body)
	}
	done := make(chan answer, 1)
	go func() { done <- s.as(chatKey, streamBody) }()
	until(t, "the other tenant to wait", func() bool { return s.waiting() == 20 })
	for range 3 { // the one at work, and in turn one of each
		pass <- struct{}{}
	}
	got := wait(t, done, "the other tenant's answer, before the flood's")
	if got.status != 200 || got.header.Get("X-Ratelimit-Limit-Requests") != "" {
		t.Errorf("status %d, headers %v", got.status, got.header)
	}
	leave()
	for _, search := range searches {
		for range search { // until it is closed
		}
	}
	s.settled()
}

// No key sees what others use: the API tells of none of it, and the administrator's
// address takes no tenant's key. The administrator sees it by tenant.
func TestNoKeySeesAnothersUsage(t *testing.T) {
	s := serve(t, replies(200, plainReply), priced, keeping(t))
	s.as(searchKey, plainBody)
	s.as(searchKey, plainBody)
	s.as(chatKey, plainBody)
	for _, path := range []string{"/metrics", "/admin/usage", "/admin/usage?by=tenant", "/admin/segments", "/admin/", "/admin/live", "/debug/pprof/", "/v1/usage", "/v1/models"} {
		for _, at := range []string{s.url, s.admin} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+chatKey)
			got := s.do(r)
			if at == s.url && got.status != 404 && path != "/v1/models" || at == s.admin && got.status == 200 {
				t.Errorf("%s: status %d", path, got.status)
			}
			if strings.Contains(got.body, "search") {
				t.Errorf("%s tells of another tenant: %s", path, got.body)
			}
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+"/admin/usage?by=tenant&format=csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	requests := map[string]string{}
	lines := strings.Split(strings.TrimSpace(s.do(r).body), "\n")
	for i, name := range strings.Split(lines[0], ",") {
		if name != "requests" {
			continue
		}
		for _, line := range lines[1:] {
			cells := strings.Split(line, ",")
			requests[cells[0]] = cells[i]
		}
	}
	if requests["search"] != "2" || requests["chat"] != "1" {
		t.Errorf("requests by tenant: %v of\n%s", requests, strings.Join(lines, "\n"))
	}
}

// An error that quotes one tenant's prompt is told to that tenant, once: nothing
// keeps it, and no log, metric or other tenant's answer has it.
func TestErrorsAreNotToldToOtherTenants(t *testing.T) {
	const secret = "the merger is on Friday"
	for name, status := range map[string]int{"refused": 400, "too many": 429, "failed": 500, "with status 200": 200} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			problem := fmt.Sprintf(`{"error":{"message":"cannot read %q with key %s","type":"invalid_request_error","param":null,"code":null}}`, secret, providerKey)
			s := serve(t, script(&calls, replies(status, problem), replies(200, plainReply)), cachingExactly, configure(func(c *config.Config) {
				c.Models[0].Retry.Attempts = 1
			}))
			body := strings.Replace(coldBody, "hi", secret, 1)
			if got := s.as(searchKey, body, headerIdempotency, "k"); got.status == 200 || strings.Contains(got.body, providerKey) {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			for _, key := range []string{chatKey, searchKey} {
				if got := s.as(key, body, headerIdempotency, "k"); got.status != 200 || strings.Contains(got.body, secret) {
					t.Errorf("status %d: %s", got.status, got.body)
				}
			}
			s.settled()
			if all := s.logs.String() + s.metrics(); strings.Contains(all, secret) || strings.Contains(all, providerKey) {
				t.Errorf("told: %s", all)
			}
		})
	}
}
