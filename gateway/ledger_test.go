package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/optional"
)

var (
	inputPrice, outputPrice = 1.0, 2.0 // $ per million tokens, of every deployment where priced is used
	always                  = usage.Query{From: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
)

// sums returns the sum of all usage.
func (s *stand) sums() usage.Group { return s.sumsWhere(nil) }

// sumsOf are those of one arm.
func (s *stand) sumsOf(arm string) usage.Group {
	return s.sumsWhere(map[usage.Dimension]string{usage.Arm: arm})
}

func (s *stand) sumsWhere(where map[usage.Dimension]string) usage.Group {
	s.t.Helper()
	q := always
	q.Where = where
	groups, err := s.gateway.ledger.Sums(context.Background(), q) // also when the test is over
	if err != nil {
		s.t.Fatal(err)
	}
	if len(groups) == 0 {
		return usage.Group{}
	}
	return groups[0]
}

// records returns all requests, of a gateway that keeps them.
func (s *stand) records() []usage.Record {
	s.t.Helper()
	var all []usage.Record
	err := s.gateway.ledger.Requests(s.t.Context(), always.From, always.To, func(r *usage.Record) error {
		all = append(all, *r)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// keeping gives the gateway a ledger that keeps requests.
func keeping(t *testing.T) func(*config.Config, *Options) {
	return func(_ *config.Config, o *Options) {
		l, err := usage.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "usage.db"), usage.Options{Logger: o.Logger, Keep: 200 * 365 * 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() }) // after the gateway, which was made later
		o.Ledger = l
	}
}

func priced(c *config.Config, _ *Options) {
	for i := range c.Models {
		for j := range c.Models[i].Targets {
			c.Models[i].Targets[j].USDPer1M = config.Price{Input: &inputPrice, Output: &outputPrice}
		}
	}
}

// bill is what a test expects of a record.
type bill struct {
	Input, Output int64
	Cost          string // in $; empty when unknown
	Outcome       string
	Estimated     bool
	SavedBy       usage.Saving
	SavedOutput   int64
}

func billOf(r usage.Record) bill {
	b := bill{r.Tokens.Input, r.Tokens.Output, "", r.Outcome, r.Tokens.Estimated, r.Saved.By, r.Saved.Output}
	if cost, ok := r.Cost.Total().Value(); ok {
		b.Cost = cost.String()
	}
	return b
}

// What is billed is what was used, whatever became of the request.
func TestUsageIsBilledByHowARequestEnded(t *testing.T) {
	const limited = `{"model":"small","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`
	longError := `{"error":{"message":"` + strings.Repeat("long ", 1000) + `"}}`
	tests := []struct {
		name     string
		body     string
		upstream http.HandlerFunc
		want     bill
	}{
		{"a stream by the usage it reports", streamBody, upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent),
			bill{Input: 11, Output: 2, Cost: "0.000015", Outcome: "ok"}},
		{"a stream without usage by its events", streamBody, upstreamAnswers(helloEvent, worldEvent, finishEvent, doneEvent),
			bill{Input: 1, Output: 2, Cost: "0.000005", Outcome: "ok", Estimated: true}},
		{"a whole answer", plainBody, replies(200, plainReply), bill{Input: 11, Output: 2, Cost: "0.000015", Outcome: "ok"}},
		{"a stream that breaks off, by its events", limited, breakOff(helloEvent, worldEvent),
			bill{Input: 1, Output: 2, Cost: "0.000005", Outcome: "stream_interrupted", Estimated: true}},
		{"an error's text is not output", plainBody, replies(500, longError), bill{Cost: "0", Outcome: "upstream_error"}},
		{"an error's text in a stream is not output", streamBody, upstreamAnswers("data: " + longError + "\n\n"), bill{Cost: "0", Outcome: "stream_error"}},
		{"an error's text after output is not output", streamBody, upstreamAnswers(helloEvent, "data: "+longError+"\n\n"),
			bill{Input: 1, Output: 1, Cost: "0.000003", Outcome: "stream_error", Estimated: true}},
		{"a refusal of the upstream costs nothing", plainBody, replies(400, longError), bill{Cost: "0", Outcome: "upstream_refused"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.upstream, priced, keeping(t))
			s.post(test.body)
			s.settled()
			got := s.records()
			if len(got) != 1 {
				t.Fatalf("%d records, want 1", len(got))
			}
			if diff := cmp.Diff(test.want, billOf(got[0])); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A stream whose client leaves in the middle is billed its prompt and what it read,
// once; what it allowed beyond is what the cancellation saved.
func TestCancelledStreamIsBilledPromptAndTokensSoFarOnce(t *testing.T) {
	const body = `{"model":"small","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`
	gone := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent, worldEvent, helloEvent)
		<-r.Context().Done()
		close(gone)
	}, priced, keeping(t))
	ctx, leave := context.WithCancel(t.Context())
	response, err := s.client.Do(s.request(ctx, body))
	if err != nil {
		t.Fatal(err)
	}
	seen := make([]byte, len(helloEvent+worldEvent+helloEvent))
	if _, err := io.ReadFull(response.Body, seen); err != nil {
		t.Fatal(err)
	}
	leave()
	_ = response.Body.Close()
	wait(t, gone, "the upstream to be cancelled")
	s.settled()
	got := s.records()
	if len(got) != 1 {
		t.Fatalf("%d records, want 1", len(got))
	}
	want := bill{Input: 1, Output: 4, Cost: "0.000009", Outcome: "client_gone", Estimated: true, SavedBy: usage.Cancellation, SavedOutput: 96}
	if diff := cmp.Diff(want, billOf(got[0])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	metrics := s.metrics()
	for _, line := range []string{
		`llmctl_gateway_saved_tokens_total{alias="small",by="cancellation",deployment="cluster/real-model",kind="output",tenant="search"} 96`,
		`llmctl_gateway_saved_usd_total{alias="small",by="cancellation",deployment="cluster/real-model",tenant="search"} 0.000192`,
		`llmctl_gateway_cost_usd_total{alias="small",deployment="cluster/real-model",tenant="search"} 9e-06`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}

// What the gateway itself turns away used nothing: no record, no tokens, no cost.
func TestRequestsThatTheGatewayTurnsAwayAreNotMetered(t *testing.T) {
	s := serve(t, replies(200, plainReply), priced, keeping(t), configure(func(c *config.Config) {
		c.Tenants[0].Limits.RPM = 1
	}))
	if got := s.post(plainBody); got.status != 200 {
		t.Fatalf("status %d", got.status)
	}
	before := s.sums()
	for body, status := range map[string]int{plainBody: 429, "{": 400, strings.Replace(plainBody, "small", "none", 1): 404} {
		if got := s.post(body); got.status != status || got.header.Get("X-Llmctl-Response-Cost") != "" {
			t.Errorf("status %d with cost %q, want %d without", got.status, got.header.Get("X-Llmctl-Response-Cost"), status)
		}
	}
	s.settled()
	if diff := cmp.Diff(before, s.sums()); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
	if n := len(s.records()); n != 1 {
		t.Errorf("%d records, want the one of the request that was let in", n)
	}
}

func TestWholeAnswersTellTheirCost(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(*config.Config, *Options)
		body string
		want string
	}{
		{"a whole answer", priced, plainBody, "0.000015"},
		{"no price", func(*config.Config, *Options) {}, plainBody, ""},
		{"half a price", configure(func(c *config.Config) { c.Models[0].Targets[0].USDPer1M.Input = &inputPrice }), plainBody, ""},
		{"a stream, whose header goes first", priced, streamBody, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if gjson.GetBytes(body, "stream").Bool() {
					sse(w, helloEvent, finishEvent, usageEvent, doneEvent)
					return
				}
				replies(200, plainReply)(w, r)
			}, test.edit)
			got := s.post(test.body)
			if cost := got.header.Get("X-Llmctl-Response-Cost"); got.status != 200 || cost != test.want {
				t.Errorf("status %d, cost %q, want %q", got.status, cost, test.want)
			}
			s.settled()
			if logged := gjson.Get(s.logs.String(), "usd"); logged.Exists() != (s.sums().Unpriced == 0) {
				t.Errorf("log %s", s.logs)
			}
		})
	}
}

// A record says who asked whom for what, and how that went.
func TestRecordHoldsWhatIsKnown(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	s := serve(t, replies(200, `{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4,`+
		`"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":3}}}`),
		priced, keeping(t), func(c *config.Config, o *Options) {
			c.Tenants[0].Keys[0].Name = "ci"
			most := 1_000_000 // of a million and one
			c.Models[0].Targets[0].Canary, c.Models[0].Targets[0].Weight = true, &most
			c.Models[0].Targets = append(c.Models[0].Targets, config.Target{Provider: "cluster", Model: "other"})
			o.Now = func() time.Time { return start }
		})
	r := s.request(t.Context(), plainBody)
	r.Header.Set("X-Request-Id", "my-id")
	s.do(r)
	s.settled()
	want := []usage.Record{{
		RequestID: "my-id", At: start, Tenant: "search", Key: "ci", Alias: "small", Provider: "cluster", Model: "real-model", Arm: "canary", Class: "interactive",
		Outcome: "ok", OK: true, Status: 200,
		Tokens:   usage.Tokens{Input: 9, Cached: optional.Counted(8), Output: 4, Reasoning: optional.Counted(3)},
		Cost:     usage.Cost{Input: usage.Known(9000), Output: usage.Known(8000)},
		E2E:      optional.Measured(0),
		Queue:    optional.Measured(0),
		Attempts: 1,
	}}
	ignoreID := cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "id" }, cmp.Ignore())
	if diff := cmp.Diff(want, s.records(), cmp.AllowUnexported(usage.Record{}, usage.Amount{}), ignoreID); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	metrics := s.metrics()
	for kind, n := range map[string]int{"input": 9, "cached": 8, "output": 4, "reasoning": 3} {
		line := fmt.Sprintf(`llmctl_gateway_tokens_total{alias="small",arm="canary",deployment="cluster/real-model",kind=%q,tenant="search"} %d`, kind, n)
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}

func TestTriesAndFallbackAreOnTheRecord(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if gjson.GetBytes(body, "model").Str != "spare" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		replies(200, plainReply)(w, r)
	}, keeping(t), patient, withFallback)
	if got := s.post(plainBody); got.status != 200 {
		t.Fatalf("status %d", got.status)
	}
	s.settled()
	if r := s.records()[0]; r.Attempts != 4 || !r.Fallback || r.Model != "spare" || r.Cost.Total() != (usage.Amount{}) {
		t.Errorf("record %+v", r)
	}
}

// An answer that is given again costs nothing or the set share, and no tokens.
func TestAnswerGivenAgainCostsWhatTheAliasSays(t *testing.T) {
	tenth := 0.1
	for _, test := range []struct {
		name  string
		by    usage.Saving
		share *float64
		cost  string
		saved string
	}{
		{"a hit is free", usage.ExactCache, nil, "0", "0.000017"},
		{"a hit at a tenth", usage.SemanticCache, &tenth, "0.0000017", "0.0000153"},
		{"a replay is free, whatever hits cost", usage.Replay, &tenth, "0", "0.000017"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := front(t, "http://127.0.0.1:1", priced, keeping(t), configure(func(c *config.Config) { c.Models[0].Cache.Charge = test.share }))
			x := s.gateway.begin(httptest.NewRecorder(), s.request(t.Context(), plainBody))
			x.who = s.gateway.table.Load().principals[config.DigestOf(searchKey)]
			x.model = x.table.models["small"]
			x.repeat(test.by, "cluster/real-model", usage.Tokens{Input: 9, Output: 4})
			x.setCostHeader(x.w.Header())
			x.finish()
			if got := x.w.Header().Get("X-Llmctl-Response-Cost"); got != test.cost {
				t.Errorf("the client was told %q, want %s", got, test.cost)
			}
			s.settled()
			r := s.records()[0]
			cost, _ := r.Cost.Total().Value()
			saved, _ := r.Saved.Cost.Value()
			if cost.String() != test.cost || saved.String() != test.saved || r.Saved.Input != 9 || r.Saved.Output != 4 || r.Saved.By != test.by || r.Tokens != (usage.Tokens{}) {
				t.Errorf("cost %s, saved %s: %+v", cost, saved, r)
			}
		})
	}
}

func TestUsageIsExportedToTheAdminAlone(t *testing.T) {
	s := serve(t, replies(200, plainReply), priced)
	s.post(plainBody)
	ask := func(query, token string) answer {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+"/admin/usage?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return s.do(r)
	}
	got := ask("", adminToken)
	if got.status != 200 || gjson.Get(got.body, "schema").Str != usage.Schema ||
		gjson.Get(got.body, "groups.0.tenant").Str != "search" || gjson.Get(got.body, "groups.0.usd").Raw != "0.000015" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if got := ask("format=csv&by=deployment", adminToken); got.header.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.Contains(got.body, "\ncluster/real-model,1,1,") {
		t.Errorf("csv %q", got.body)
	}
	if got := ask("by=tenants", adminToken); got.status != 400 || gjson.Get(got.body, "error.type").Str != "invalid_request_error" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	for _, token := range []string{"", searchKey, "admin"} {
		if got := ask("", token); got.status != 401 || strings.Contains(got.body, "search") {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
}

func TestPricesThatMakeNoSenseAreRefused(t *testing.T) {
	c := testConfig("http://127.0.0.1:1")
	bad := -1.0
	c.Models[0].Targets[0].USDPer1M.Output = &bad
	if _, err := New(c, Options{LookupEnv: testEnv}); err == nil || !strings.Contains(err.Error(), "usd_per_1m.output") {
		t.Errorf("error %v", err)
	}
}
