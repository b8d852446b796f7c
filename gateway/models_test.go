package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// get asks for a path with a key.
func (s *stand) get(path, key string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	return s.do(r)
}

// An SDK's models.retrieve() finds what its list shows, and nothing else.
func TestACardForEachModelOfTheList(t *testing.T) {
	s := serve(t, mustNotBeCalled(t), configure(func(c *config.Config) {
		c.Models[0].Alias = "team/small"
		c.Tenants[1].Models = []string{"team/small"}
		c.Models[0].Targets = []config.Target{
			{Provider: "cluster", Model: "a", Context: 8192},
			{Provider: "cluster", Model: "b", Context: 32768},
		}
		c.Models[1].Targets = append(c.Models[1].Targets, config.Target{Provider: "cluster", Model: "c", Context: 8192})
	}))
	list := s.get("/v1/models", searchKey)
	want := []string{"team/small", "large"}
	for i, entry := range gjson.Get(list.body, "data").Array() {
		card := s.get("/v1/models/"+strings.ReplaceAll(want[i], "/", "%2F"), searchKey)
		if diff := cmp.Diff(entry.Raw, card.body); card.status != 200 || diff != "" {
			t.Errorf("%s: status %d (-list +card):\n%s", want[i], card.status, diff)
		}
		if entry.Get("id").Str != want[i] || entry.Get("object").Str != "model" {
			t.Errorf("entry %s", entry.Raw)
		}
	}
	if n := gjson.Get(list.body, "data.0.max_model_len").Int(); n != 32768 {
		t.Errorf("max_model_len %d, want that of the target with the most room", n)
	}
	if v := gjson.Get(list.body, "data.1.max_model_len"); v.Exists() {
		t.Errorf("max_model_len %s although one target does not say its own", v.Raw)
	}
	if got := s.get("/v1/models/team/small", searchKey); got.status != 200 {
		t.Errorf("a slash as it is: status %d", got.status)
	}
}

// One that is another's and one that is nobody's have the same code, and no text that
// claims not to know which of the two it is.
func TestCardsOfModelsThatAreNotTheCallers(t *testing.T) {
	tests := []struct {
		name, path, key string
		status          int
		code, text      string
	}{
		{"one that does not exist", "/v1/models/nobody", searchKey, 404, "model_not_found", `the model "nobody" does not exist, or this key may not use it: GET /v1/models lists`},
		{"one of others", "/v1/models/large", chatKey, 404, "model_not_found", `the model "large" does not exist, or this key may not use it: GET /v1/models lists`},
		{"the upstream's own name", "/v1/models/real-model", searchKey, 404, "model_not_found", "does not exist"},
		{"no name", "/v1/models/", searchKey, 404, "model_not_found", "does not exist"},
		{"no key", "/v1/models/small", "", 401, "invalid_api_key", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := serve(t, mustNotBeCalled(t)).get(test.path, test.key)
			if got.status != test.status || gjson.Get(got.body, "error.code").Str != test.code || !strings.Contains(gjson.Get(got.body, "error.message").Str, test.text) {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			if strings.Contains(got.body, "large") && !strings.Contains(test.path, "large") {
				t.Errorf("the answer tells a name: %s", got.body)
			}
		})
	}
}

// A page made of a model's text must not run.
func TestEveryAnswerForbidsSniffing(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, finishEvent, doneEvent))
	answers := map[string]answer{
		"a stream": s.post(streamBody), "a refusal": s.post(`{`), "a list": s.get("/v1/models", searchKey),
		"no such path": s.get("/elsewhere", searchKey), "a path to clean": s.get("//v1/models", searchKey), "health": s.get("/livez", ""),
	}
	for what, got := range answers {
		if v := got.header.Get("X-Content-Type-Options"); v != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options %q", what, v)
		}
	}
}

// A key may be for some of its tenant's models only: it sees no others, and calls none.
func TestAKeyIsForItsOwnModels(t *testing.T) {
	const narrow = "sk-narrow-0123456789abcdef"
	s := serve(t, replies(200, plainReply), configure(func(c *config.Config) {
		c.Tenants[0].Keys = append(c.Tenants[0].Keys, config.Key{Hash: config.HashKey(narrow), Models: []string{"large"}})
	}))
	for _, test := range []struct {
		key, alias string
		status     int
		code       string
	}{{narrow, "small", 403, "model_not_allowed"}, {narrow, "large", 200, ""}, {searchKey, "small", 200, ""}} {
		r := s.request(t.Context(), strings.Replace(plainBody, "small", test.alias, 1))
		r.Header.Set("Authorization", "Bearer "+test.key)
		if got := s.do(r); got.status != test.status || gjson.Get(got.body, "error.code").Str != test.code {
			t.Errorf("%s: status %d, %s", test.alias, got.status, got.body)
		}
	}
	if ids := gjson.Get(s.get("/v1/models", narrow).body, "data.#.id").Raw; ids != `["large"]` {
		t.Errorf("the key sees %s", ids)
	}
	if got := s.get("/v1/models/small", narrow); got.status != 404 {
		t.Errorf("a card of another model: status %d", got.status)
	}
	s.settled()
}
