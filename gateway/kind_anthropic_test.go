package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/anthropic/anthropictest"
	"github.com/llmctl/llmctl/gateway/config"
)

// What the vendor says, in its own shapes.
const (
	vendorReply   = `{"id":"msg_1","type":"message","role":"assistant","model":"vendor-large","content":[{"type":"text","text":"Hello world"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":8,"output_tokens":2}}`
	vendorStart   = `{"type":"message_start","message":{"id":"msg_1","model":"vendor-large","usage":{"input_tokens":3,"cache_read_input_tokens":8,"output_tokens":1}}}`
	vendorText    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`
	vendorFinish  = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`
	vendorStop    = `{"type":"message_stop"}`
	vendorTool    = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}`
	vendorInput   = `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Ulm\"}"}}`
	vendorCalled  = `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}`
	vendorTrouble = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`

	toolBody = `{"model":"small","messages":[{"role":"user","content":"weather?"}],"stream":true,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}],"tool_choice":"required"}`
)

// says answers every request that the vendor accepts, as it was asked to.
func says(events ...string) func(http.ResponseWriter, *http.Request, anthropictest.Request) {
	return func(w http.ResponseWriter, _ *http.Request, r anthropictest.Request) {
		if r.Stream {
			anthropictest.Stream(w, events...)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, vendorReply)
	}
}

// vendorFront starts a gateway whose alias small is served by the vendor alone.
func vendorFront(t *testing.T, v *anthropictest.Vendor, edit ...func(*config.Config, *Options)) *stand {
	t.Helper()
	v.Key = providerKey
	up := httptest.NewServer(v)
	t.Cleanup(up.Close)
	alone := configure(func(c *config.Config) {
		c.Providers[0].Kind = "anthropic"
		c.Models[0].Retry.Attempts = 1
	})
	return front(t, up.URL, append([]func(*config.Config, *Options){alone}, edit...)...)
}

// beside adds the vendor as a provider to a gateway in front of another one, and
// hands its target to place.
func beside(t *testing.T, v *anthropictest.Vendor, place func(*config.Model, config.Target)) func(*config.Config, *Options) {
	t.Helper()
	v.Key = providerKey
	up := httptest.NewServer(v)
	t.Cleanup(up.Close)
	return configure(func(c *config.Config) {
		c.Providers = append(c.Providers, config.Provider{Name: "vendor", Kind: "anthropic", BaseURL: up.URL + "/v1", KeyEnv: "PROVIDER_KEY"})
		c.Models[0].Retry.Attempts = 1
		place(&c.Models[0], config.Target{Provider: "vendor", Model: "vendor-large"})
	})
}

func asFallback(m *config.Model, t config.Target) { m.Fallback = []config.Target{t} }

func asFirst(m *config.Model, t config.Target) {
	m.Fallback = m.Targets
	m.Targets = []config.Target{t}
}

func TestVendorOfAnotherShapeAnswersInOpenAIs(t *testing.T) {
	v := &anthropictest.Vendor{Answer: says(vendorStart, vendorText, vendorFinish, vendorStop)}
	s := vendorFront(t, v)
	whole := s.post(plainBody)
	if got := gjson.Get(whole.body, "choices.0.message.content").Str; whole.status != 200 || got != "Hello world" {
		t.Errorf("answer %d %s", whole.status, whole.body)
	}
	if got := gjson.Get(whole.body, "usage.prompt_tokens").Int(); got != 11 {
		t.Errorf("usage %s", whole.body)
	}
	if got := whole.header.Get("X-Llmctl-Deployment"); got != "cluster/real-model" {
		t.Errorf("deployment %q", got)
	}
	streamed := s.post(streamBody)
	if !strings.Contains(streamed.body, `"content":"Hello"`) || !strings.HasSuffix(streamed.body, doneEvent) || strings.Contains(streamed.body, "prompt_tokens") {
		t.Errorf("stream %s", streamed.body)
	}
	asked := s.post(strings.Replace(streamBody, "{", `{"stream_options":{"include_usage":true},`, 1))
	if !strings.Contains(asked.body, `"choices":[],"usage":{"prompt_tokens":11`) {
		t.Errorf("stream with usage %s", asked.body)
	}
	s.settled()
	for _, line := range []string{
		`llmctl_gateway_tokens_total{alias="small",arm="stable",deployment="cluster/real-model",kind="input",tenant="search"} 33`,
		`llmctl_gateway_tokens_total{alias="small",arm="stable",deployment="cluster/real-model",kind="cached",tenant="search"} 24`,
		`llmctl_gateway_tokens_total{alias="small",arm="stable",deployment="cluster/real-model",kind="output",tenant="search"} 6`,
	} {
		if !strings.Contains(s.metrics(), line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
	if got := v.Bodies()[0]; got != `{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"model":"real-model","max_tokens":4096}` {
		t.Errorf("the vendor got %s", got)
	}
}

func TestVendorThatCannotServeARequest(t *testing.T) {
	for _, tt := range []struct{ name, path, body, param, code string }{
		{"two answers", "chat/completions", strings.Replace(plainBody, "{", `{"n":2,`, 1), "n", "unsupported_parameter"},
		{"completions", "completions", `{"model":"small","prompt":"a"}`, "", "unsupported_endpoint"},
		{"embeddings", "embeddings", `{"model":"small","input":"a"}`, "", "unsupported_endpoint"},
		{"responses", "responses", `{"model":"small","input":"a"}`, "", "unsupported_endpoint"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := &anthropictest.Vendor{}
			s := vendorFront(t, v)
			r := s.request(t.Context(), tt.body)
			r.URL.Path = "/v1/" + tt.path
			got := s.do(r)
			problem := gjson.Get(got.body, "error")
			if got.status != 400 || problem.Get("code").Str != tt.code || problem.Get("param").Str != tt.param {
				t.Errorf("answer %d %s", got.status, got.body)
			}
			if len(v.Bodies()) > 0 {
				t.Errorf("the vendor got %s", v.Bodies())
			}
			s.settled()
		})
	}
}

func TestVendorsErrorsInOpenAIsShape(t *testing.T) {
	for _, tt := range []struct {
		status int
		kind   string
		want   int
		code   string
	}{
		{400, "invalid_request_error", 400, ""},
		{401, "authentication_error", 502, "upstream_auth_error"},
		{402, "billing_error", 502, "upstream_auth_error"},
		{404, "not_found_error", 502, "upstream_error"},
		{413, "request_too_large", 413, "request_too_large"},
		{429, "rate_limit_error", 429, "rate_limit_exceeded"},
		{500, "api_error", 502, ""},
		{504, "timeout_error", 504, "upstream_timeout"},
		{529, "overloaded_error", 503, "overloaded"},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			s := vendorFront(t, &anthropictest.Vendor{Answer: func(w http.ResponseWriter, _ *http.Request, _ anthropictest.Request) {
				w.Header().Set("Retry-After", "7")
				anthropictest.Refuse(w, tt.status, tt.kind, "about "+providerKey)
			}})
			got := s.post(streamBody)
			problem := gjson.Get(got.body, "error")
			if got.status != tt.want || problem.Get("code").Str != tt.code || problem.Get("message").Str == "" {
				t.Errorf("answer %d %s", got.status, got.body)
			}
			if strings.Contains(got.body+s.logs.String(), providerKey) {
				t.Error("the provider's key shows")
			}
			if after := got.header.Get("Retry-After"); (after == "7") != (tt.want == 429 || tt.want == 503) {
				t.Errorf("Retry-After %q", after)
			}
			s.settled()
		})
	}
}

// A request goes from a provider of one shape to one of the other as long as the
// client has seen nothing, tools included.
func TestFallbackBetweenShapesBeforeTheFirstToken(t *testing.T) {
	tooled := says(vendorStart, vendorTool, vendorInput, `{"type":"content_block_stop","index":0}`, vendorCalled, vendorStop)
	for name, upstream := range map[string]http.HandlerFunc{
		"refused":             replies(503, "{}"),
		"broken after a role": breakOff(roleEvent),
		"error first":         upstreamAnswers(`data: {"error":{"message":"no","code":500}}` + "\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			v := &anthropictest.Vendor{Answer: tooled}
			s := serve(t, upstream, beside(t, v, asFallback))
			got := s.post(toolBody)
			if got.status != 200 || strings.Contains(got.body, "error") || strings.Count(got.body, `"role":"assistant"`) != 1 || !strings.HasSuffix(got.body, doneEvent) {
				t.Errorf("answer %d %s", got.status, got.body)
			}
			if !strings.Contains(got.body, `"tool_calls":[{"index":0,"id":"toolu_1","type":"function","function":{"name":"weather","arguments":""}}]`) {
				t.Errorf("no tool call in %s", got.body)
			}
			if got := got.header.Get("X-Llmctl-Deployment"); got != "vendor/vendor-large" {
				t.Errorf("deployment %q", got)
			}
			s.settled()
		})
	}
	t.Run("the other way round", func(t *testing.T) {
		s := serve(t, upstreamAnswers(helloEvent, finishEvent, doneEvent), beside(t, &anthropictest.Vendor{Answer: says(vendorTrouble)}, asFirst))
		if got := s.post(streamBody); got.status != 200 || got.body != helloEvent+finishEvent+doneEvent {
			t.Errorf("answer %d %s", got.status, got.body)
		}
	})
	t.Run("what the vendor cannot do, another does", func(t *testing.T) {
		v := &anthropictest.Vendor{}
		s := serve(t, replies(200, plainReply), beside(t, v, asFirst))
		if got := s.post(strings.Replace(plainBody, "{", `{"logit_bias":{"1":5},`, 1)); got.status != 200 || got.body != plainReply {
			t.Errorf("answer %d %s", got.status, got.body)
		}
		if len(v.Bodies()) > 0 {
			t.Errorf("the vendor got %s", v.Bodies())
		}
	})
}

func TestErrorsInsideTheVendorsStream(t *testing.T) {
	for kind, status := range map[string]int{
		"overloaded_error": 503, "api_error": 502, "rate_limit_error": 429, "invalid_request_error": 400, "authentication_error": 502, "not_found_error": 502,
	} {
		t.Run("first, "+kind, func(t *testing.T) {
			s := vendorFront(t, &anthropictest.Vendor{Answer: says(vendorStart, `{"type":"error","error":{"type":"`+kind+`","message":"m"}}`)})
			if got := s.post(streamBody); got.status != status || !gjson.Get(got.body, "error").IsObject() {
				t.Errorf("answer %d %s", got.status, got.body)
			}
			s.settled()
		})
	}
	t.Run("after output", func(t *testing.T) {
		s := vendorFront(t, &anthropictest.Vendor{Answer: says(vendorStart, vendorText, vendorTrouble, vendorStop)})
		got := s.post(streamBody)
		if !strings.HasSuffix(got.body, `data: {"error":{"message":"Overloaded","type":"server_error","param":null,"code":"overloaded"}}`+"\n\n") || strings.Contains(got.body, "DONE") {
			t.Errorf("stream %s", got.body)
		}
		s.settled()
	})
	t.Run("cut off", func(t *testing.T) {
		s := vendorFront(t, &anthropictest.Vendor{Answer: says(vendorStart, vendorText)})
		if got := s.post(streamBody); !strings.HasSuffix(got.body, interruptedEvent) {
			t.Errorf("stream %s", got.body)
		}
		s.settled()
	})
}

// An answer that breaks off is charged for what came of it, though the vendor
// counts output only at the end and puts several tokens into an event.
func TestBrokenAnswerOfTheVendorIsChargedForWhatCame(t *testing.T) {
	long := strings.Replace(vendorText, "Hello", strings.Repeat("word ", 80), 1)
	s := vendorFront(t, &anthropictest.Vendor{Answer: says(vendorStart, long)})
	s.post(streamBody)
	s.settled()
	for _, field := range []string{`"input_tokens":11,`, `"output_tokens":100,`, `"tokens_source":"estimated"`} {
		if !strings.Contains(s.logs.String(), field) {
			t.Errorf("log lacks %s: %s", field, s.logs.String())
		}
	}
}

func TestCancellationReachesTheVendor(t *testing.T) {
	began, gone := make(chan struct{}), make(chan struct{})
	s := vendorFront(t, &anthropictest.Vendor{Answer: func(w http.ResponseWriter, r *http.Request, _ anthropictest.Request) {
		anthropictest.Stream(w, vendorStart, vendorText)
		close(began)
		<-r.Context().Done()
		close(gone)
	}})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	response, err := s.client.Do(s.request(ctx, streamBody))
	if err != nil {
		t.Fatal(err)
	}
	wait(t, began, "the vendor")
	leave()
	_ = response.Body.Close()
	wait(t, gone, "the cancellation")
	s.settled()
}

func TestVendorThatSaysNothingTimesOut(t *testing.T) {
	s := vendorFront(t, &anthropictest.Vendor{Answer: func(w http.ResponseWriter, r *http.Request, _ anthropictest.Request) {
		for r.Context().Err() == nil { // pings are no answer
			anthropictest.Stream(w, `{"type":"ping"}`)
		}
	}}, configure(func(c *config.Config) { c.Models[0].Timeouts.FirstToken = config.Duration(50 * time.Millisecond) }))
	if got := s.post(streamBody); got.status != 504 || gjson.Get(got.body, "error.code").Str != "upstream_timeout" {
		t.Errorf("answer %d %s", got.status, got.body)
	}
	s.settled()
}

func TestConfigurationOfAVendorInTheDocsIsAccepted(t *testing.T) {
	docs, err := os.ReadFile("../docs/anthropic.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(docs), "```yaml\n")
	block, _, found := strings.Cut(block, "```")
	if _, err := config.Parse([]byte(block)); err != nil || !found {
		t.Errorf("%v in\n%s", err, block)
	}
}
