package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// answering fails for the models that are named, with the status, and answers for
// others with their name.
func answering(status int, failing ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		model := gjson.GetBytes(body, "model").Str
		for _, f := range failing {
			if f == model {
				w.WriteHeader(status)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"model":%q,"choices":[{"message":{"content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`, model, gjson.GetBytes(body, "max_tokens").Raw)
	}
}

// aliased gives the alias "small" these targets and fallbacks, and no retries.
func aliased(targets, fallback []config.Target, more ...func(*config.Model)) func(*config.Config, *Options) {
	return configure(func(c *config.Config) {
		for _, list := range [][]config.Target{targets, fallback} {
			for i := range list {
				list[i].Provider = "cluster"
			}
		}
		c.Models[0].Targets, c.Models[0].Fallback = targets, fallback
		c.Models[0].Retry.Attempts = 1
		for _, m := range more {
			m(&c.Models[0])
		}
	})
}

// asked sends a body with headers, as name, value, name, value…
func (s *stand) asked(body string, headers ...string) answer {
	r := s.request(s.t.Context(), body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.do(r)
}

func body(fields string) string {
	return `{"model":"small","messages":[{"role":"user","content":"hi"}]` + fields + `}`
}

func usd(v float64) *float64 { return &v }

// What a request needs decides which of an alias's targets serves it.
func TestTargetsAreChosenByWhatARequestNeeds(t *testing.T) {
	const (
		tools  = `,"tools":[{"type":"function","function":{"name":"f"}}]`
		schema = `,"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{}}}`
		image  = `{"model":"small","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}]}`
	)
	off := 0
	targets := []config.Target{
		{Model: "plain", Capabilities: []string{}, Context: 2000},
		{Model: "tools", Capabilities: []string{"tools", "json_schema", "embeddings"}, Classes: []string{"batch"}, Context: 9000},
		{Model: "off", Weight: &off},
	}
	fallback := []config.Target{{Model: "eyes", Capabilities: []string{"vision", "audio", "tools"}, Context: 9000, TokensFactor: 2}}
	long := func(tokens int) string {
		return `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat("1234", tokens) + `"}]}`
	}
	batch := []string{classHeader, "batch"}
	tests := []struct {
		name     string
		body     string
		headers  []string
		want     string
		fallback string
	}{
		{"nothing", body(""), nil, "plain", ""},
		{"tools", body(tools), batch, "tools", ""},
		{"no tools but the field", body(`,"tools":[]`), nil, "plain", ""},
		{"tools of another class: the fallback", body(tools), nil, "eyes", "cluster/eyes; reason=capability"},
		{"a JSON schema", body(schema), batch, "tools", ""},
		{"plain JSON", body(`,"response_format":{"type":"json_object"}`), nil, "plain", ""},
		{"an image", image, batch, "eyes", "cluster/eyes; reason=capability"},
		{"a text about images", body(`,"user":"image_url"`), nil, "plain", ""},
		{"any other word by header", body(""), []string{needsHeader, "audio"}, "eyes", "cluster/eyes; reason=capability"},
		{"a long prompt", long(3000), batch, "tools", ""},
		{"a long answer", body(`,"max_tokens":3000`), batch, "tools", ""},
		{"a long prompt for the fallback's own tokenizer", long(3000), nil, "eyes", "cluster/eyes; reason=context"},
	}
	s := serve(t, answering(200), aliased(targets, fallback))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := s.asked(test.body, test.headers...)
			if got.status != 200 || gjson.Get(got.body, "model").Str != test.want {
				t.Fatalf("status %d, %s; want the model %s", got.status, got.body, test.want)
			}
			if v := got.header.Get("X-Llmctl-Fallback"); v != test.fallback {
				t.Errorf("x-llmctl-fallback %q, want %q", v, test.fallback)
			}
		})
	}
}

// When no target can serve a request, the client learns why before anything is
// sent or counted.
func TestRequestsThatNoTargetCanServe(t *testing.T) {
	targets := []config.Target{
		{Model: "a", Capabilities: []string{"tools"}, Context: 1000, Classes: []string{"interactive"}},
		{Model: "b", Capabilities: []string{}, Context: 2000, Classes: []string{"interactive"}},
	}
	tests := []struct {
		name    string
		body    string
		headers []string
		code    string
		param   string
		message string
	}{
		{"too long", `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat("1234", 3000) + `"}],"max_tokens":500}`, nil,
			"context_length_exceeded", "messages", "this model's maximum context length is 2000 tokens, the request has about 3500: 3000 in the prompt and 500 for the answer"},
		{"an image", `{"model":"small","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}]}`, nil,
			"unsupported_parameter", "messages", "this model does not support vision"},
		{"another class", body(""), []string{classHeader, "batch"}, "class_not_served", "", `this model does not serve requests of the class "batch"`},
		{"a complexity that is none", body(""), []string{complexityHeader, "medium"}, "", "", `x-llmctl-complexity: expected low, high or a number from 0 to 1, got "medium"`},
		{"a class that is none", body(""), []string{classHeader, "urgent"}, "", "", "no such class: x-llmctl-class may be interactive, batch"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, mustNotBeCalled(t), aliased(targets, nil), configure(func(c *config.Config) { c.Tenants[0].Limits.RPM = 10 }))
			got := s.asked(test.body, test.headers...)
			e := gjson.Get(got.body, "error")
			if got.status != 400 || e.Get("type").Str != "invalid_request_error" || e.Get("code").Str != test.code || e.Get("param").Str != test.param || e.Get("message").Str != test.message {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			s.settled()
			if ledger := s.gateway.limits.Ledger(); ledger.Reserved != 0 {
				t.Errorf("reserved %d tokens", ledger.Reserved)
			}
		})
	}
}

// A canary takes its share of tenants, each always or never, and its attempts,
// tokens and failures are counted apart: failures too that a spare made good.
func TestACanaryIsStickyAndCountedApart(t *testing.T) {
	share := func(n int) *int { return &n }
	targets := []config.Target{{Model: "stable", Weight: share(50)}, {Model: "canary", Weight: share(50), Canary: true}}
	s := serve(t, answering(500, "canary"), aliased(targets, nil, func(m *config.Model) {
		m.Sticky = "session"
		each := 1.0
		m.Retry = config.Retry{Attempts: 2, Backoff: config.Duration(time.Millisecond), Budget: &each}
	}))
	first := map[string]string{}
	const sessions = 32
	for i := range 3 * sessions {
		session := fmt.Sprint("s", i%sessions)
		got := s.asked(body(""), sessionHeader, session)
		fallback := got.header.Get("X-Llmctl-Fallback")
		if got.status != 200 || fallback != "" && fallback != "cluster/stable; reason=upstream_error" {
			t.Fatalf("status %d, fallback %q", got.status, fallback)
		}
		if before, ok := first[session]; ok && before != fallback {
			t.Errorf("session %s went to another arm", session)
		}
		first[session] = fallback
	}
	canaries := 0
	for _, f := range first {
		if f != "" {
			canaries += 3
		}
	}
	if canaries < 3*sessions/4 || canaries > 3*sessions*3/4 {
		t.Errorf("%d of %d requests went to the canary, want about half", canaries, 3*sessions)
	}
	s.settled()
	metrics := s.metrics()
	for _, want := range []string{
		fmt.Sprintf(`llmctl_gateway_attempts_total{alias="small",arm="canary",deployment="cluster/canary",outcome="upstream_error"} %d`, canaries),
		fmt.Sprintf(`llmctl_gateway_attempts_total{alias="small",arm="stable",deployment="cluster/stable",outcome="ok"} %d`, 3*sessions),
		fmt.Sprintf(`llmctl_gateway_tokens_total{alias="small",arm="stable",deployment="cluster/stable",kind="output",tenant="search"} %d`, 3*3*sessions),
		fmt.Sprintf(`llmctl_gateway_e2e_seconds_count{alias="small",arm="stable",deployment="cluster/stable"} %d`, 3*sessions),
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
}

// Whatever clients write into headers and fields makes no series and no line of
// its own in what the gateway counts.
func TestSessionsAndCapabilitiesMakeNoSeries(t *testing.T) {
	targets := []config.Target{{Model: "a"}, {Model: "b", Canary: true}}
	s := serve(t, answering(200), aliased(targets, nil, func(m *config.Model) { m.Sticky = "session" }))
	send := func(from, to int) int {
		for i := range to - from {
			id := fmt.Sprint("made-up-", from+i)
			s.asked(body(`,"user":"`+id+`"`), sessionHeader, id, needsHeader, id, complexityHeader, "0.5")
			s.asked(body(""), classHeader, id)
		}
		metrics := s.metrics()
		if strings.Contains(metrics, "made-up") {
			t.Error("a client's words are in the metrics")
		}
		return strings.Count(metrics, "\nllmctl_gateway_")
	}
	before := send(0, 50)
	if after := send(50, 150); after != before {
		t.Errorf("%d series became %d", before, after)
	}
	s.settled()
	if strings.Contains(s.logs.String(), "made-up") {
		t.Error("a client's words are in the log")
	}
}

// A session is what the header says, or what the body has for the same purpose.
func TestASessionIsTakenFromTheHeaderOrTheBody(t *testing.T) {
	targets := []config.Target{{Model: "a"}, {Model: "b"}}
	s := serve(t, answering(200), aliased(targets, nil, func(m *config.Model) { m.Sticky = "session" }))
	model := func(fields string, headers ...string) string {
		return gjson.Get(s.asked(body(fields), headers...).body, "model").Str
	}
	seen := map[string]bool{}
	for i := range 16 {
		id := fmt.Sprint("s", i)
		want := model("", sessionHeader, id)
		seen[want] = true
		for _, got := range []string{
			model(`,"prompt_cache_key":"` + id + `"`), model(`,"user":"` + id + `"`),
			model(`,"user":"other","prompt_cache_key":"` + id + `"`), model(`,"user":"other"`, sessionHeader, id),
		} {
			if got != want {
				t.Errorf("session %s went to %s and %s", id, want, got)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("all sessions went to %v", seen)
	}
}

func TestAFlagOpensATargetForItsTenants(t *testing.T) {
	targets := []config.Target{{Model: "old"}, {Model: "new", Flag: "beta"}}
	s := serve(t, answering(200), aliased(targets, nil), configure(func(c *config.Config) {
		c.Flags = []config.Flag{{Name: "beta", Tenants: []string{"chat"}}}
	}))
	for key, want := range map[string]string{searchKey: "old", chatKey: "new"} {
		for range 5 {
			if got := s.asked(body(""), "Authorization", "Bearer "+key); gjson.Get(got.body, "model").Str != want {
				t.Errorf("answer %s, want %s", got.body, want)
			}
		}
	}
}

// The cheap model serves, unless the request is complex by what it holds or by
// what its header says.
func TestTheCheapModelServesUnlessARequestIsComplex(t *testing.T) {
	price := func(v float64) config.Price { return config.Price{Input: usd(v), Output: usd(v)} }
	targets := []config.Target{{Model: "cheap", USDPer1M: price(0.1)}, {Model: "dear", USDPer1M: price(10)}}
	s := serve(t, answering(200), aliased(targets, nil, func(m *config.Model) {
		m.CostCeiling = &config.CostCeiling{USDPerRequest: 0.001, UnlessComplexity: 0.5}
	}))
	code := `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat(`x = 1;\n`, 20) + `"}]}`
	var tools []string
	for i := range 10 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"f%d"}}`, i))
	}
	tests := []struct {
		name    string
		body    string
		headers []string
		want    string
	}{
		{"a greeting", body(""), nil, "cheap"},
		{"code", code, nil, "dear"},
		{"code that the client says is easy", code, []string{complexityHeader, "low"}, "cheap"},
		{"many tools", body(`,"tools":[` + strings.Join(tools, ",") + `]`), nil, "dear"},
		{"a greeting that the client says is hard", body(""), []string{complexityHeader, "high"}, "dear"},
		{"just below", body(""), []string{complexityHeader, "0.49"}, "cheap"},
		{"just enough", body(""), []string{complexityHeader, "0.5"}, "dear"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for range 5 {
				if got := s.asked(test.body, test.headers...); gjson.Get(got.body, "model").Str != test.want {
					t.Errorf("answer %s, want %s", got.body, test.want)
				}
			}
		})
	}
}

// A fallback that is not for overload waits for other failures.
func TestAFallbackMayLeaveOverloadToOthers(t *testing.T) {
	no := false
	fallback := func() []config.Target { return []config.Target{{Model: "idle", WhenSaturated: &no}, {Model: "spill"}} }
	for _, test := range []struct {
		status int
		want   string
		reason string
	}{{503, "spill", "upstream_error"}, {429, "spill", "upstream_refused"}, {500, "idle", "upstream_error"}} {
		s := serve(t, answering(test.status, "busy"), aliased([]config.Target{{Model: "busy"}}, fallback()))
		got := s.post(plainBody)
		if gjson.Get(got.body, "model").Str != test.want || got.header.Get("X-Llmctl-Fallback") != "cluster/"+test.want+"; reason="+test.reason {
			t.Errorf("after %d: %s, %q", test.status, got.body, got.header.Get("X-Llmctl-Fallback"))
		}
	}
}

// Whoever is first told of a target and a reason, the log tells more: how it was
// chosen, and what was left out.
func TestTheLogSaysWhereARequestWentAndWhy(t *testing.T) {
	targets := []config.Target{{Model: "small", Context: 1}, {Model: "down"}}
	s := serve(t, answering(500, "down"), aliased(targets[1:], []config.Target{{Model: "spare"}}))
	s.post(plainBody)
	s.settled()
	line := gjson.Parse(s.logs.String())
	for key, want := range map[string]string{"route": "fallback", "fallback": "upstream_error", "left_out": "", "deployment": "cluster/spare"} {
		if got := line.Get(key).Str; got != want {
			t.Errorf("%s is %q, want %q in %s", key, got, want, line)
		}
	}
	s = serve(t, answering(200), aliased(targets, nil))
	s.post(body(`,"max_tokens":50`))
	s.settled()
	if line := gjson.Parse(s.logs.String()); line.Get("left_out").Str != "cluster/small:context" || line.Get("route").Str != "weight" {
		t.Errorf("log %s", line)
	}
}

// The alias's own default of max_tokens must not push a request over the context
// of its target; what the client asked for is never changed.
func TestTheDefaultOfMaxTokensFitsTheContext(t *testing.T) {
	targets := []config.Target{{Model: "a", Context: 1000, TokensFactor: 2}}
	s := serve(t, answering(200), aliased(targets, nil, func(m *config.Model) { m.MaxTokens = config.MaxTokens{Default: 900} }))
	prompt := func(tokens int, fields string) string {
		return `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat("1234", tokens) + `"}]` + fields + `}`
	}
	for _, test := range []struct{ name, body, want string }{
		{"enough room", prompt(10, ""), "900"},
		{"not enough", prompt(300, ""), "400"},
		{"asked for", prompt(300, `,"max_tokens":10`), "10"},
	} {
		got := s.post(test.body)
		if text := gjson.Get(got.body, "choices.0.message.content").Str; text != test.want {
			t.Errorf("%s: max_tokens %q, want %q (status %d)", test.name, text, test.want, got.status)
		}
	}
}

// Classes have scopes as models do.
func TestClassesHaveScopes(t *testing.T) {
	targets := []config.Target{{Model: "fast", Classes: []string{"interactive"}}, {Model: "slow", Classes: []string{"batch"}}}
	s := serve(t, answering(200), aliased(targets, nil), configure(func(c *config.Config) {
		c.Tenants[0].Priority = "batch"
		c.Tenants[1].Classes = []string{"interactive"}
	}))
	tests := []struct {
		name, key, class string
		status           int
		want             string // model, or code
	}{
		{"the tenant's usual class", searchKey, "", 200, "slow"},
		{"another one", searchKey, "interactive", 200, "fast"},
		{"the only one", chatKey, "", 200, "fast"},
		{"one it may not use", chatKey, "batch", 403, "class_not_allowed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := s.asked(body(""), "Authorization", "Bearer "+test.key, classHeader, test.class)
			if got.status != test.status || gjson.Get(got.body, "model").Str+gjson.Get(got.body, "error.code").Str != test.want {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
}
