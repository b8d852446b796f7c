package gateway

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/tidwall/gjson"
)

// seen is a request as it reached an upstream.
type seen struct {
	path   string
	header http.Header
	body   string
}

// recording is an upstream that answers plainReply and hands over what it saw.
func recording(into chan<- seen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		into <- seen{r.URL.Path, r.Header.Clone(), string(body)}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, plainReply)
	}
}

func TestUnknownFieldsReachTheUpstreamUnchanged(t *testing.T) {
	got := make(chan seen, 1)
	s := serve(t, recording(got))
	fields := `"x_future":{"a":1},"guided_json":{"type": "object"},"chat_template_kwargs":{"enable_thinking":false},"seed":9007199254740993`
	s.post(`{` + fields + `,"model":"small","messages":[{"role":"user","content":"\u00e9é"}]}`)
	want := `{` + fields + `,"model":"real-model","messages":[{"role":"user","content":"\u00e9é"}],"cache_salt":"` + tenantSalt("search") + `"}`
	if diff := cmp.Diff(want, wait(t, got, "the request").body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestUpstreamSeesOnlyItsOwnCredentials(t *testing.T) {
	got := make(chan seen, 1)
	s := serve(t, recording(got))
	r := s.request(t.Context(), plainBody)
	for _, name := range []string{"Proxy-Authorization", "Cookie", "X-Api-Key", "X-Forwarded-For", "Connection", "Te", "X-Gateway-Destination-Endpoint", "Openai-Organization"} {
		r.Header.Set(name, "from-the-client")
	}
	r.Header.Set("X-Request-Id", "mine-1")
	r.Header.Set("Traceparent", "00-1-2-01")
	r.Header.Set("Accept-Encoding", "gzip")
	answer := s.do(r)
	want := http.Header{
		"Accept-Encoding": {"identity"},
		"Authorization":   {"Bearer " + providerKey},
		"Content-Type":    {"application/json"},
		"Traceparent":     {"00-1-2-01"},
		"User-Agent":      {"llmctl-gateway"},
		"X-Request-Id":    {"mine-1"},
	}
	header := wait(t, got, "the request").header
	header.Del("Content-Length")
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("header upstream (-want +got):\n%s", diff)
	}
	if id := answer.header.Get("X-Request-Id"); id != "mine-1" {
		t.Errorf("request id %q came back", id)
	}
}

func TestRequestIDsFitForALogAreKept(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	ids := map[string]bool{}
	for _, id := range []string{"", "has space", "has\"quote", strings.Repeat("x", 129)} {
		r := s.request(t.Context(), plainBody)
		r.Header.Set("X-Request-Id", id)
		got := s.do(r).header.Get("X-Request-Id")
		if got == id || !validID(got) || ids[got] {
			t.Errorf("id %q became %q", id, got)
		}
		ids[got] = true
		if !strings.Contains(s.logs.String(), got) {
			t.Errorf("id %q is not in the log", got)
		}
	}
}

func TestWholeAnswersPassUnchanged(t *testing.T) {
	reply := strings.Replace(plainReply, "Hello world", strings.Repeat("long ", 20_000), 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("X-Ratelimit-Limit-Tokens", "1")
		replies(200, reply)(w, r)
	})
	got := s.post(plainBody)
	if got.status != 200 || got.body != reply || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, %d bytes of %d, type %q", got.status, len(got.body), len(reply), got.header.Get("Content-Type"))
	}
	for _, name := range []string{"Set-Cookie", "X-Ratelimit-Limit-Tokens"} {
		if v := got.header.Get(name); v != "" {
			t.Errorf("the upstream's %s came through: %q", name, v)
		}
	}
	s.settled()
	var line struct {
		Tenant, Alias, Deployment, Outcome string
		Input                              int64  `json:"input_tokens"`
		Output                             int64  `json:"output_tokens"`
		Reason                             string `json:"finish_reason"`
	}
	if err := json.Unmarshal([]byte(s.logs.String()), &line); err != nil {
		t.Fatal(err)
	}
	if line.Tenant != "search" || line.Alias != "small" || line.Deployment != "cluster/real-model" || line.Outcome != "ok" ||
		line.Input != 11 || line.Output != 2 || line.Reason != "stop" {
		t.Errorf("log line %+v", line)
	}
}

func TestBothEndpointsKeepTheirPath(t *testing.T) {
	got := make(chan seen, 1)
	up := httptest.NewServer(recording(got))
	t.Cleanup(up.Close)
	for _, base := range []string{"", "/", "/v1", "/v1/"} {
		s := front(t, up.URL+base)
		for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
			r := s.request(t.Context(), `{"prompt":"hi",`+plainBody[1:])
			r.URL.Path = path
			s.do(r)
			if upstream := wait(t, got, "the request").path; upstream != path {
				t.Errorf("base %q: %s became %s", base, path, upstream)
			}
		}
	}
}

func TestTenantsGetSaltsOfTheirOwn(t *testing.T) {
	got := make(chan seen, 1)
	s := serve(t, recording(got))
	salts := map[string]string{}
	for _, key := range []string{searchKey, chatKey} {
		r := s.request(t.Context(), strings.Replace(plainBody, "{", `{"cache_salt":"`+tenantSalt("search")+`",`, 1))
		r.Header.Set("Authorization", "Bearer "+key)
		s.do(r)
		salts[gjson.Get(wait(t, got, "the request").body, "cache_salt").Str] = key
	}
	if len(salts) != 2 || salts[tenantSalt("search")] != "" {
		t.Errorf("a tenant chose another one's salt: %v", salts)
	}

	off := false
	s = serve(t, recording(got), configure(func(c *config.Config) { c.Providers[0].CacheSalt = &off }))
	s.post(plainBody)
	if body := wait(t, got, "the request").body; gjson.Get(body, "cache_salt").Exists() {
		t.Errorf("a salt was sent although it is off: %s", body)
	}
}

func TestModelsListsWhatTheTenantMayUse(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	for key, want := range map[string]string{searchKey: `["small","large"]`, chatKey: `["small"]`} {
		r := s.request(t.Context(), "")
		r.Method, r.URL.Path = http.MethodGet, "/v1/models"
		r.Header.Set("Authorization", "Bearer "+key)
		got := s.do(r)
		if ids := gjson.Get(got.body, "data.#.id").Raw; got.status != 200 || ids != want {
			t.Errorf("status %d, models %s, want %s", got.status, ids, want)
		}
	}
	r := s.request(t.Context(), "")
	r.Method, r.URL.Path = http.MethodGet, "/v1/models"
	r.Header.Del("Authorization")
	if got := s.do(r); got.status != 401 {
		t.Errorf("without a key: status %d", got.status)
	}
}

func TestTrafficFollowsTheWeights(t *testing.T) {
	got := make(chan seen, 1)
	number := uint64(0)
	off := 0
	count := map[string]int{}
	s := serve(t, recording(got), func(c *config.Config, o *Options) {
		c.Models[0].Targets = []config.Target{{Provider: "cluster", Model: "a"}, {Provider: "cluster", Model: "off", Weight: &off}, {Provider: "cluster", Model: "b"}}
		o.Rand = func() uint64 { return number }
	})
	for number = range 64 {
		answer := s.post(plainBody)
		model := gjson.Get(wait(t, got, "the request").body, "model").Str
		count[model]++
		if d := answer.header.Get("X-Llmctl-Deployment"); d != "cluster/"+model {
			t.Errorf("the client was told %q, the request went to %q", d, model)
		}
	}
	if count["a"] < 16 || count["b"] < 16 || len(count) != 2 {
		t.Errorf("requests by model %v, want about half and half", count)
	}
}

func TestIdleEndpointsTakeTurns(t *testing.T) {
	got := make(chan int, 1)
	endpoint := func(n int) string {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- n
			replies(200, plainReply)(w, r)
		}))
		t.Cleanup(up.Close)
		return up.URL
	}
	s := front(t, endpoint(0), configure(func(c *config.Config) {
		c.Providers[0].Endpoints = append(c.Providers[0].Endpoints, endpoint(1), endpoint(2))
	}))
	count := map[int]int{}
	for range 6 {
		s.post(plainBody)
		count[wait(t, got, "the request")]++
	}
	if want := (map[int]int{0: 2, 1: 2, 2: 2}); !maps.Equal(count, want) {
		t.Errorf("requests by endpoint %v, want %v", count, want)
	}
}

// Two requests at once go to two endpoints: each waits until the other came.
func TestEndpointsShareTheLoad(t *testing.T) {
	arrived := make(chan int, 2)
	release := make(chan struct{})
	endpoint := func(n int) string {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived <- n
			<-release
			replies(200, plainReply)(w, r)
		}))
		t.Cleanup(up.Close)
		return up.URL
	}
	s := front(t, endpoint(0), configure(func(c *config.Config) {
		c.Providers[0].Endpoints = append(c.Providers[0].Endpoints, endpoint(1))
	}))
	done := make(chan answer, 2)
	for range 2 {
		go func() { done <- s.post(plainBody) }()
	}
	first, second := wait(t, arrived, "a request"), wait(t, arrived, "the other request")
	close(release)
	wait(t, done, "an answer")
	wait(t, done, "the other answer")
	if first == second {
		t.Errorf("both requests went to endpoint %d", first)
	}
}
