package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// script answers the n-th request with the n-th handler, and later ones with the
// last.
func script(calls *atomic.Int64, handlers ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n := int(calls.Add(1))
		handlers[min(n, len(handlers))-1](w, r)
	}
}

// patient lets the alias try three times, without a pause worth the name.
func patient(c *config.Config, _ *Options) {
	c.Models[0].Retry = config.Retry{Attempts: 3, Backoff: config.Duration(time.Millisecond)}
}

// withFallback adds a second deployment of the same upstream, for when the first
// one fails.
func withFallback(c *config.Config, _ *Options) {
	c.Models[0].Fallback = []config.Target{{Provider: "cluster", Model: "spare"}}
}

func hurried(status, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", retryAfter)
		var code int
		_, _ = fmt.Sscan(status, &code)
		w.WriteHeader(code)
	}
}

// What fails before the first output is tried again, and the client sees one
// clean answer; what it has seen is never said twice.
func TestTriesBeforeTheFirstOutput(t *testing.T) {
	streams := upstreamAnswers(roleEvent, helloEvent, finishEvent, usageEvent, doneEvent)
	clean := roleEvent + helloEvent + finishEvent + doneEvent
	errorEvent := func(code int) string {
		return fmt.Sprintf(`data: {"error":{"message":"no","code":%d}}`+"\n\n", code)
	}
	tests := []struct {
		name   string
		first  http.HandlerFunc // of every try but the last
		body   string
		calls  int64
		status int
		want   string
	}{
		{"a server error", replies(500, "oops"), streamBody, 2, 200, clean},
		{"an overload", replies(503, "{}"), streamBody, 2, 200, clean},
		{"too many requests", hurried("429", "0"), streamBody, 2, 200, clean},
		{"too many requests for a minute", hurried("429", "60"), streamBody, 1, 429, ""},
		{"a mistake of the client's", replies(400, `{"error":{"message":"no"}}`), streamBody, 1, 400, ""},
		{"an error as the first event", upstreamAnswers(errorEvent(429)), streamBody, 2, 200, clean},
		{"an error after a role", upstreamAnswers(roleEvent, errorEvent(500)), streamBody, 2, 200, clean},
		{"a mistake as the first event", upstreamAnswers(errorEvent(422)), streamBody, 1, 422, ""},
		{"a stream that ends after its role", breakOff(roleEvent), streamBody, 2, 200, clean},
		{"a stream that breaks after output", breakOff(helloEvent), streamBody, 1, 200, helloEvent + interruptedEvent},
		{"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "{")
		}, plainBody, 2, 200, plainReply},
		{"a stream where a whole answer was to come", streams, plainBody, 2, 200, plainReply},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			good := streams
			if test.body == plainBody {
				good = replies(200, plainReply)
			}
			s := serve(t, script(&calls, test.first, good), patient)
			got := s.post(test.body)
			if got.status != test.status || test.want != "" && got.body != test.want {
				t.Errorf("status %d, body %q; want %d, %q", got.status, got.body, test.status, test.want)
			}
			if calls.Load() != test.calls {
				t.Errorf("%d calls, want %d", calls.Load(), test.calls)
			}
			s.settled()
			if test.calls > 1 && gjson.Get(s.logs.String(), "retries").Int() != test.calls-1 {
				t.Errorf("log %s", s.logs)
			}
			if used := s.gateway.limits.Ledger().Settled; test.calls > 1 && used != 13 {
				t.Errorf("%d tokens charged, want those of the last try", used)
			}
		})
	}
}

func TestTriesEnd(t *testing.T) {
	var calls atomic.Int64
	s := serve(t, script(&calls, replies(500, "oops")), patient)
	if got := s.post(streamBody); got.status != 502 || calls.Load() != 3 {
		t.Errorf("status %d after %d calls, want 502 after 3", got.status, calls.Load())
	}
}

// When everything fails, retries add a fifth to the load and a few, not twice
// the load.
func TestRetriesStayWithinTheirBudget(t *testing.T) {
	var calls atomic.Int64
	start := time.Now()
	s := serve(t, script(&calls, replies(500, "oops")), patient, func(c *config.Config, o *Options) {
		c.Providers[0].Breaker.MinRequests = 1000
		o.Now = func() time.Time { return start }
	})
	const requests = 100
	for range requests {
		s.post(streamBody)
	}
	if n := calls.Load(); n != requests+10+requests/5 {
		t.Errorf("%d calls for %d requests, want %d", n, requests, requests+10+requests/5)
	}
}

func TestFallbackTakesOver(t *testing.T) {
	tests := []struct {
		name  string
		first http.HandlerFunc
		want  int
		calls int64
	}{
		{"from a server that fails", replies(500, "oops"), 200, 2},
		{"from a model that the provider does not know", replies(404, "{}"), 200, 2},
		{"from credentials that were refused", replies(401, "{}"), 200, 2},
		{"from a provider that is over its limit for long", hurried("429", "3600"), 200, 2},
		{"not from a mistake of the client's", replies(400, "{}"), 400, 1},
		{"not after output", breakOff(helloEvent), 200, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			s := serve(t, script(&calls, test.first, upstreamAnswers(helloEvent, finishEvent, doneEvent)), withFallback)
			got := s.post(streamBody)
			if got.status != test.want || calls.Load() != test.calls {
				t.Errorf("status %d after %d calls, want %d after %d: %s", got.status, calls.Load(), test.want, test.calls, got.body)
			}
			name := "cluster/real-model"
			if test.calls == 2 {
				name = "cluster/spare"
			}
			if v := got.header.Get("X-Llmctl-Deployment"); v != name {
				t.Errorf("deployment %q, want %q", v, name)
			}
		})
	}
}

// The model in answers is the upstream's, or the alias, as the configuration
// says, in every chunk.
func TestModelInAnswers(t *testing.T) {
	chunk := func(model, text string) string {
		return `data: {"id":"1","model":"` + model + `","choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
	}
	upstream := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if gjson.GetBytes(body, "stream").Bool() {
			sse(w, chunk("real-model", "a"), chunk("real-model", "model"), finishEvent, doneEvent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"model": "real-model","choices":[]}`)
	}
	for _, test := range []struct{ setting, model string }{{"", "real-model"}, {"upstream", "real-model"}, {"alias", "small"}} {
		t.Run("setting "+test.setting, func(t *testing.T) {
			s := serve(t, upstream, configure(func(c *config.Config) { c.Models[0].ResponseModel = test.setting }))
			want := chunk(test.model, "a") + chunk(test.model, "model") + finishEvent + doneEvent
			if got := s.post(streamBody); got.body != want || got.header.Get("X-Llmctl-Deployment") != "cluster/real-model" {
				t.Errorf("stream %q, want %q", got.body, want)
			}
			if got := s.post(plainBody); got.body != `{"model": "`+test.model+`","choices":[]}` {
				t.Errorf("answer %s", got.body)
			}
		})
	}
}

// A new configuration holds for new requests; one that runs ends as it began, and
// what was counted stays counted.
func TestReload(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent)
		<-release
		sse(w, finishEvent, usageEvent, doneEvent)
	}, configure(func(c *config.Config) { c.Tenants[0].Limits.RPM = 2 }))
	done := make(chan answer)
	response, err := s.client.Do(s.request(t.Context(), streamBody))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		done <- answer{status: response.StatusCode, body: string(body)}
	}()
	next := testConfig("http://127.0.0.1:1")
	next.Tenants[0].Limits.RPM = 2
	next.Models = next.Models[1:]
	next.Tenants[1].Models = nil
	if err := s.gateway.Reload(next); err != nil {
		t.Fatal(err)
	}
	if got := s.post(streamBody); got.status != 404 {
		t.Errorf("status %d for an alias that is gone, want 404", got.status)
	}
	if got := s.post(strings.Replace(streamBody, "small", "large", 1)); got.status != 502 {
		t.Errorf("status %d at an endpoint that is not there, want 502", got.status)
	}
	if got := s.post(strings.Replace(streamBody, "small", "large", 1)); got.status != 429 {
		t.Errorf("status %d for the third request of two, want 429", got.status)
	}
	bad := testConfig("http://127.0.0.1:1")
	bad.Models = nil
	if err := s.gateway.Reload(bad); err == nil {
		t.Error("a configuration without models was taken")
	}
	close(release)
	if got := wait(t, done, "the stream"); got.status != 200 || got.body != helloEvent+finishEvent+doneEvent {
		t.Errorf("the stream that ran: status %d, %q", got.status, got.body)
	}
}

// However many targets an alias has, its tries are those that it allows in all, each
// target in its turn, and all but the first ask the budget. Fallbacks come when they
// are used up.
func TestTriesAreCountedOverAllTargets(t *testing.T) {
	for _, test := range []struct {
		name    string
		targets int
		tries   config.Count
		status  int    // of all but the fallback
		want    string // which targets are asked, in their order, and the fallback
	}{
		{"fewer than targets", 3, 2, 500, "01f"},
		{"as many", 3, 3, 500, "012f"},
		{"more", 2, 5, 500, "01010f"},
		{"of one", 1, 3, 500, "000f"},
		{"one", 3, 1, 500, "0f"},
		{"of targets that cannot", 2, 5, 404, "01f"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := ""
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				model := gjson.GetBytes(body, "model").Str
				asked += model
				if model == "f" {
					sse(w, helloEvent, finishEvent, doneEvent)
					return
				}
				w.WriteHeader(test.status)
			}, configure(func(c *config.Config) {
				m, all := &c.Models[0], 1.0
				m.Targets = nil
				for i := range test.targets {
					m.Targets = append(m.Targets, config.Target{Provider: "cluster", Model: string(rune('a' + i))})
				}
				m.Fallback = []config.Target{{Provider: "cluster", Model: "f"}}
				m.Retry = config.Retry{Attempts: test.tries, Backoff: config.Duration(time.Millisecond), Budget: &all}
			}))
			if got := s.post(streamBody); got.status != 200 {
				t.Errorf("status %d", got.status)
			}
			s.settled()
			if got := inOrder(asked); got != test.want {
				t.Errorf("asked %s, want %s", got, test.want)
			}
			if n := gjson.Get(s.logs.String(), "retries").Int(); n != int64(len(test.want)-1) {
				t.Errorf("%d retries in the log, want %d", n, len(test.want)-1)
			}
		})
	}
}

// inOrder writes models by the order in which they were first asked: the first of
// them is drawn.
func inOrder(models string) string {
	seen, out := "", ""
	for _, m := range models {
		if m == 'f' {
			out += "f"
			continue
		}
		if !strings.ContainsRune(seen, m) {
			seen += string(m)
		}
		out += fmt.Sprint(strings.IndexRune(seen, m))
	}
	return out
}
