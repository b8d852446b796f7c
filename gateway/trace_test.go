package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/llmctl/llmctl/gateway/config"
)

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
)

// traced records the gateway's spans.
func traced(to *tracetest.InMemoryExporter) func(*config.Config, *Options) {
	return func(_ *config.Config, o *Options) {
		o.Traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(to))
	}
}

func (s *stand) postTraced(body string) answer {
	r := s.request(s.t.Context(), body)
	r.Header.Set("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-01")
	r.Header.Set("Tracestate", "vendor=1")
	return s.do(r)
}

// The client's trace goes through the gateway to the engine: request under
// client, attempts under request, the engine under the attempt.
func TestTraceReachesTheEngine(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	calls := 0
	var parents []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		parents = append(parents, r.Header.Get("Traceparent"))
		if r.Header.Get("Tracestate") != "vendor=1" {
			t.Errorf("tracestate %q", r.Header.Get("Tracestate"))
		}
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		sse(w, helloEvent, finishEvent, usageEvent, doneEvent)
	}, traced(spans), patient)
	if got := s.postTraced(streamBody); got.status != 200 {
		t.Fatalf("status %d", got.status)
	}
	s.settled()
	all := spans.GetSpans()
	if len(all) != 3 || len(parents) != 2 {
		t.Fatalf("%d spans and %d calls, want 3 and 2", len(all), len(parents))
	}
	request := all[2]
	if request.Name != "chat small" || request.SpanKind != trace.SpanKindServer || request.Parent.SpanID().String() != clientSpan {
		t.Errorf("request: %q, %v, under %s", request.Name, request.SpanKind, request.Parent.SpanID())
	}
	for i, attempt := range all[:2] {
		if attempt.Name != "chat real-model" || attempt.SpanKind != trace.SpanKindClient || attempt.Parent.SpanID() != request.SpanContext.SpanID() {
			t.Errorf("attempt %d: %q, %v, under %s", i, attempt.Name, attempt.SpanKind, attempt.Parent.SpanID())
		}
		if want := "00-" + clientTrace + "-" + attempt.SpanContext.SpanID().String() + "-01"; parents[i] != want {
			t.Errorf("the engine got %q, want %q", parents[i], want)
		}
	}
	has(t, all[0].Attributes, map[string]any{"error.type": "upstream_error", "gen_ai.request.model": "real-model"})
	has(t, request.Attributes, map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "small", "llmctl.tenant": "search", "llmctl.deployment": "cluster/real-model",
		"gen_ai.usage.input_tokens": int64(11), "gen_ai.usage.output_tokens": int64(2), "gen_ai.usage.cache_read.input_tokens": int64(8),
		"llmctl.retries": int64(1), "http.response.status_code": int64(200),
	})
}

func has(t *testing.T, attrs []attribute.KeyValue, want map[string]any) {
	t.Helper()
	got := map[string]any{}
	for _, a := range attrs {
		got[string(a.Key)] = a.Value.AsInterface()
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %v, want %v", key, got[key], value)
		}
	}
}

// Without tracing the client's context goes on as it is.
func TestTracePassesAGatewayWithoutTracing(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Traceparent"); got != "00-"+clientTrace+"-"+clientSpan+"-01" {
			t.Errorf("traceparent %q", got)
		}
		upstreamAnswers(helloEvent, finishEvent, doneEvent)(w, r)
	})
	if got := s.postTraced(streamBody); got.status != 200 {
		t.Errorf("status %d", got.status)
	}
}

// Spans hold neither keys nor content, on success and on failure.
func TestSpansHoldNoSecrets(t *testing.T) {
	for name, upstream := range map[string]http.HandlerFunc{
		"answered": upstreamAnswers(helloEvent, finishEvent, doneEvent),
		"refused":  replies(401, `{"error":{"message":"bad key `+providerKey+`"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			spans := tracetest.NewInMemoryExporter()
			s := serve(t, upstream, traced(spans))
			s.postTraced(strings.Replace(streamBody, `"hi"`, `"my secret prompt"`, 1))
			s.settled()
			for _, span := range spans.GetSpans() {
				text := span.Name + span.Status.Description
				for _, a := range span.Attributes {
					text += string(a.Key) + a.Value.String()
				}
				for _, secret := range []string{searchKey, providerKey, "secret prompt", "Hello"} {
					if strings.Contains(text, secret) {
						t.Errorf("span %q holds %q", span.Name, secret)
					}
				}
			}
		})
	}
}

// A span has the tokens that its upstream told, and no zeros for what it did not: a
// try that failed used nothing that anybody knows of.
func TestSpansLeaveOutWhatNobodyTold(t *testing.T) {
	const cached, reasoning = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.reasoning.output_tokens"
	for _, test := range []struct {
		name, details string
		want          map[string]any // of cached and reasoning; nil is left out
	}{
		{"neither", ``, map[string]any{cached: nil, reasoning: nil}},
		{"cached", `,"prompt_tokens_details":{"cached_tokens":0}`, map[string]any{cached: int64(0), reasoning: nil}},
		{"reasoning", `,"completion_tokens_details":{"reasoning_tokens":1}`, map[string]any{cached: nil, reasoning: int64(1)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			spans, calls := tracetest.NewInMemoryExporter(), 0
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if calls++; calls == 1 {
					replies(503, "{}")(w, r)
					return
				}
				replies(200, strings.Replace(plainReply, `"total_tokens":13`, `"total_tokens":13`+test.details, 1))(w, r)
			}, traced(spans), patient)
			s.postTraced(plainBody)
			s.settled()
			all := spans.GetSpans()
			if len(all) != 3 {
				t.Fatalf("%d spans, want 3", len(all))
			}
			has(t, all[0].Attributes, map[string]any{"gen_ai.usage.input_tokens": nil, "gen_ai.usage.output_tokens": nil, cached: nil, reasoning: nil})
			for _, span := range all[1:] {
				has(t, span.Attributes, test.want)
				has(t, span.Attributes, map[string]any{"gen_ai.usage.input_tokens": int64(11), "gen_ai.usage.output_tokens": int64(2)})
			}
			line := s.lines()[0]
			for field, key := range map[string]string{"cached_input_tokens": cached, "reasoning_tokens": reasoning} {
				if line.Get(field).Exists() != (test.want[key] != nil) {
					t.Errorf("the log's %s is %q", field, line.Get(field).Raw)
				}
			}
		})
	}
}

// The span of a try says what was asked for, in numbers alone.
func TestSpansTellWhatWasAsked(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	s := serve(t, replies(200, plainReply), traced(spans))
	s.postTraced(strings.Replace(plainBody, `"model"`, `"temperature":0.5,"top_p":1,"top_k":"many","seed":7,"n":2,"stop":"secret","max_tokens":9,"model"`, 1))
	s.settled()
	all := spans.GetSpans()
	if len(all) != 2 {
		t.Fatalf("%d spans, want 2", len(all))
	}
	has(t, all[0].Attributes, map[string]any{
		"gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": 1.0, "gen_ai.request.top_k": nil, "gen_ai.request.seed": int64(7),
		"gen_ai.request.choice.count": int64(2), "gen_ai.request.max_tokens": int64(9), "gen_ai.request.stop_sequences": nil, "gen_ai.request.stream": false,
	})
}
