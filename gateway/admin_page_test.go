package gateway

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/page"
)

// look asks the admin listener for something, as a browser with the token does.
func (s *stand) look(path string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.admin+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.SetBasicAuth("anybody", adminToken)
	return s.do(r)
}

// limitedAndPriced gives the tenant limits and a budget, and the model a price and a
// canary.
func limitedAndPriced(c *config.Config, _ *Options) {
	c.Tenants[0].Limits = config.Limits{RPM: 60, OutputTPM: 2000, Concurrent: 4, USDPerDay: 100}
	c.Tenants[0].Keys[0].Limits = config.Limits{RPM: 30}
	c.Models[0].Targets = []config.Target{
		{Provider: "cluster", Model: "real-model", Weight: new(3), USDPer1M: config.Price{Input: new(1000.0), Output: new(1000.0)}},
		{Provider: "cluster", Model: "new-model", Weight: new(0), Canary: true},
	}
	c.Models[0].Fallback = []config.Target{{Provider: "cluster", Model: "spare-model"}}
}

// The picture of the gateway has what has happened: limits and budgets with what is
// left, deployments with their traffic by arm, endpoints, and what it cost.
func TestStateTellsWhatHappened(t *testing.T) {
	now := time.Now()
	s := serve(t, upstreamAnswers(helloEvent, worldEvent, finishEvent, usageEvent, doneEvent), limitedAndPriced,
		func(_ *config.Config, o *Options) { o.Now = func() time.Time { return now } }) // so that nothing refills
	s.post(streamBody)
	s.settled()
	got := s.look("/admin/state")
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d, header %v", got.status, got.header)
	}
	for path, want := range map[string]any{
		"schema":               "llmctl/gateway-state/v1",
		"totals.requests":      1.0,
		"totals.input_tokens":  11.0,
		"totals.output_tokens": 2.0,
		"totals.usd_today":     0.013,
		"tenants.0.name":       "search",
		"tenants.0.keys":       1.0,
		"tenants.1.name":       "chat",
		"tenants.1.limits.#":   0.0,
		`tenants.0.limits.#(resource="requests").limit`:     60.0,
		`tenants.0.limits.#(resource="requests").left`:      59.0,
		`tenants.0.limits.#(resource="output_tokens").left`: 1998.0,
		`tenants.0.limits.#(resource="concurrent").left`:    4.0,
		`tenants.0.limits.#(resource="usd_per_day").left`:   99.987,
		`tenants.0.limits.#(key="key-1").left`:              29.0,
		"models.0.alias":                                    "small",
		"models.0.targets.#":                                3.0,
		`models.0.targets.#(arm="stable").attempts`:         1.0,
		`models.0.targets.#(arm="stable").share`:            1.0,
		`models.0.targets.#(arm="canary").share`:            0.0,
		`models.0.targets.#(arm="canary").attempts`:         0.0,
		`models.0.targets.#(arm="canary").mean_ttft_s`:      nil,
		`models.0.targets.#(arm="fallback").share`:          nil,
		`models.0.targets.#(arm="fallback").deployment`:     "cluster/spare-model",
		"endpoints.0.state":                                 "up",
		"endpoints.0.in_flight":                             0.0,
		"endpoints.0.kv_usage":                              nil,
		"live.serving":                                      0.0,
		"config.source":                                     nil,
	} {
		v := gjson.Get(got.body, path).Value()
		if n, ok := v.(float64); ok {
			if w, isNumber := want.(float64); !isNumber || math.Abs(n-w) > 1e-9 {
				t.Errorf("%s is %v, want %v", path, v, want)
			}
			continue
		}
		if v != want {
			t.Errorf("%s is %v, want %v", path, v, want)
		}
	}
	if !gjson.Get(got.body, `models.0.targets.#(arm="stable").mean_ttft_s`).Exists() {
		t.Error("no mean of the times to the first token")
	}
}

// The page shows the same, is kept by nobody and loads nothing.
func TestPageIsServed(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent), limitedAndPriced)
	s.post(streamBody)
	s.settled()
	got := s.look("/admin")
	if got.status != 200 || got.header.Get("Content-Security-Policy") != page.Policy || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("status %d, header %v", got.status, got.header)
	}
	for _, want := range []string{`content="5"`, "cluster/real-model", "spare-model", "output tokens/min", "today", "at once", "$0.013"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if body := s.look("/admin?refresh=0").body; strings.Contains(body, "http-equiv") {
		t.Error("the page refreshes unasked")
	}
	for path, want := range map[string]int{"/admin?refresh=-1": 400, "/admin?refresh=x": 400, "/admin/live?limit=0": 400, "/admin/live?limit=1000": 200, "/admin/nothing": 404} {
		if got := s.look(path); got.status != want {
			t.Errorf("%s: status %d, want %d", path, got.status, want)
		}
	}
}

// The token counts as a bearer's and as a browser's password, the latter for what
// reads only.
func TestAdminTakesTheTokenAsABrowserSendsIt(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	for _, test := range []struct {
		name, method, path, password, bearer string
		want                                 int
	}{
		{"no token", "GET", "/admin", "", "", 401},
		{"the password", "GET", "/admin", adminToken, "", 200},
		{"a bearer", "GET", "/admin", "", adminToken, 200},
		{"a wrong password", "GET", "/admin", "x", "", 401},
		{"a tenant's key", "GET", "/admin/state", searchKey, "", 401},
		{"metrics", "GET", "/metrics", adminToken, "", 200},
		{"usage", "GET", "/admin/usage", adminToken, "", 200},
		{"live requests", "GET", "/admin/live", adminToken, "", 200},
		{"a change with the password", "POST", "/admin/reload", adminToken, "", 401},
		{"a change with a bearer", "POST", "/admin/reload", "", adminToken, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), test.method, s.admin+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.password != "" {
				r.SetBasicAuth("", test.password)
			}
			if test.bearer != "" {
				r.Header.Set("Authorization", "Bearer "+test.bearer)
			}
			got := s.do(r)
			if got.status != test.want {
				t.Errorf("status %d, want %d: %s", got.status, test.want, got.body)
			}
			asks := strings.Contains(strings.Join(got.header.Values("WWW-Authenticate"), ","), "Basic")
			if asks != (test.want == 401 && test.method == "GET") {
				t.Errorf("browsers are asked: %v", asks)
			}
		})
	}
}

func TestAdminListenerBeginsAtThePage(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if got := s.look("/"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/admin" {
		t.Errorf("status %d to %q", got.status, got.header.Get("Location"))
	}
}

// Keys, tokens and prompts are on no page, whatever happened.
func TestSecretsStayOutOfTheState(t *testing.T) {
	const content = "my-private-question"
	s := serve(t, replies(401, `{"error":{"message":"`+providerKey+`"}}`), limitedAndPriced)
	s.post(`{"model":"small","prompt":"` + content + `"}`)
	s.settled()
	for _, path := range []string{"/admin", "/admin/state", "/admin/live"} {
		body := s.look(path).body
		for _, secret := range []string{providerKey, searchKey, chatKey, adminToken, content} {
			if strings.Contains(body, secret) {
				t.Errorf("%s holds a secret", path)
			}
		}
	}
}

// A file that was refused is told on the page, beside the one in use.
func TestStateTellsOfARefusedFile(t *testing.T) {
	s, path := followed(t)
	write(t, path, "listen: 1\n")
	if err := s.gateway.file.Load().Reload(); err == nil {
		t.Fatal("the file was taken")
	}
	got := s.look("/admin/state").body
	if gjson.Get(got, "config.source").Str == "" || gjson.Get(got, "config.hash").Str == "" || gjson.Get(got, "config.refused").Str == "" || gjson.Get(got, "config.loaded_at").Str == "" {
		t.Errorf("%s", gjson.Get(got, "config").Raw)
	}
	if body := s.look("/admin").body; !strings.Contains(body, "The newest file is not in use") {
		t.Error("the page tells nothing of it")
	}
}

// Amounts are written so that people can read them.
func TestNumbersOnThePage(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.8: "1,234,567", -2500: "−2,500"} {
		if got := grouped(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 9_999_999: "9,999,999", 912_345_678: "912.3 M", 12_345_678_901: "12.3 G"} {
		if got := short(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "$0.00", 1.239: "$1.24", 0.00234: "$0.0023", -3: "−$3.00"} {
		if got := dollars(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

// The documents name every key of the state.
func TestStateIsDocumented(t *testing.T) {
	docs := readDocs(t)
	text, err := json.Marshal(State{})
	if err != nil || !bytes.Contains(text, []byte(`"totals"`)) {
		t.Fatal(err)
	}
	for _, file := range []string{"state.go", "state_metrics.go", "state_fleet.go", "live.go"} {
		for part := range strings.SplitSeq(readFile(t, file), `json:"`) {
			name, _, found := strings.Cut(part, `"`)
			if name, _, _ = strings.Cut(name, ","); !found || strings.ContainsAny(name, " \n-") {
				continue
			}
			if !strings.Contains(docs, "`"+name+"`") {
				t.Errorf("key %s is not documented", name)
			}
		}
	}
}
