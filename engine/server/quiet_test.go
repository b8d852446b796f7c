package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// A stream that has nothing to say for long gets comments, before its first token, when
// that opens the answer, and between tokens.
func TestQuietStreamsAreKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func() { time.Sleep(25 * time.Second) }
		e, err := engine.New(engine.Config{Blocks: 64, Executor: &script{text: "ab", prompt: 2, before: slow}})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", strings.NewReader(`{"prompt":"x","stream":true}`))
		New(e, Options{KeepAlive: 10 * time.Second}).ServeHTTP(w, r)
		e.Close()
		var order []string
		for event := range strings.SplitSeq(strings.TrimSpace(w.Body.String()), "\n\n") {
			switch {
			case event == ": keep-alive":
				order = append(order, "alive")
			case strings.Contains(event, `"text":"a"`), strings.Contains(event, `"text":"b"`):
				order = append(order, "token")
			}
		}
		if got := strings.Join(order, " "); got != "alive alive token alive alive token alive alive" {
			t.Errorf("events: %s\n%s", got, w.Body)
		}
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" {
			t.Errorf("status %d, header %v", w.Code, w.Header())
		}
	})
}

// After a comment the status is sent: an error can only be an event.
func TestErrorAfterAKeepAliveIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := &broken{script{text: "x", prompt: 2, before: func() { time.Sleep(time.Minute) }}, 0}
		e, err := engine.New(engine.Config{Blocks: 64, Executor: &slowFailure{failing}})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", strings.NewReader(`{"prompt":"x","stream":true}`))
		New(e, Options{KeepAlive: 10 * time.Second}).ServeHTTP(w, r)
		e.Close()
		if body := w.Body.String(); w.Code != 200 || !strings.HasPrefix(body, ": keep-alive\n\n") || !strings.HasSuffix(strings.TrimSpace(body), `"code":null}}`) {
			t.Errorf("status %d: %s", w.Code, body)
		}
	})
}

// slowFailure fails after its time.
type slowFailure struct{ *broken }

func (s *slowFailure) Execute(sequences []*model.Sequence) error {
	s.before()
	return s.broken.Execute(sequences)
}

// A body that says it is too large is refused before any of it is read.
func TestAHugeBodyIsRefusedUnread(t *testing.T) {
	e, err := engine.New(engine.Config{Blocks: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	body := &counted{}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", body)
	r.ContentLength = 100 << 20
	w := httptest.NewRecorder()
	New(e, Options{}).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge || body.read != 0 || !strings.Contains(w.Body.String(), "request_too_large") {
		t.Errorf("status %d after %d bytes: %s", w.Code, body.read, w.Body)
	}
	r = httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", body)
	r.ContentLength = -1 // it does not say
	w = httptest.NewRecorder()
	New(e, Options{MaxBody: 1 << 16}).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge || body.read > 1<<18 {
		t.Errorf("status %d after %d bytes", w.Code, body.read)
	}
}

// counted is a body without an end.
type counted struct{ read int }

func (c *counted) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	c.read += len(b)
	return len(b), nil
}

// Each request is a span of the caller's trace, with its phases and its usage.
func TestSpansTellWhereTheTimeWent(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	defer func() { _ = provider.Shutdown(context.WithoutCancel(t.Context())) }()
	f := serve(t, engine.Config{}, Options{Tracer: provider})
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	header := http.Header{"Traceparent": {"00-" + trace + "-" + parent + "-01"}}
	if status, _, body := f.do(t.Context(), http.MethodPost, "/v1/completions", `{"prompt":"the moon","max_tokens":3,"ignore_eos":true}`, header); status != 200 {
		t.Fatal(body)
	}
	spans := exporter.GetSpans()
	names := map[string]tracetest.SpanStub{}
	for _, s := range spans {
		names[s.Name] = s
	}
	root, ok := names["text_completion builtin"]
	if !ok || root.SpanKind.String() != "server" || root.SpanContext.TraceID().String() != trace || root.Parent.SpanID().String() != parent {
		t.Fatalf("spans %v", names)
	}
	for _, phase := range []string{"queue", "prefill", "decode"} {
		s, ok := names[phase]
		if !ok || s.Parent.SpanID() != root.SpanContext.SpanID() || s.EndTime.Before(s.StartTime) {
			t.Errorf("span %s: %+v", phase, s)
		}
	}
	got := map[string]string{}
	for _, a := range root.Attributes {
		got[string(a.Key)] = a.Value.String()
	}
	for key, want := range map[string]string{
		"gen_ai.request.model": "builtin", "gen_ai.usage.input_tokens": "3", "gen_ai.usage.output_tokens": "3",
		"gen_ai.request.max_tokens": "3", "gen_ai.response.finish_reasons": `["length"]`, "gen_ai.operation.name": "text_completion",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if got["gen_ai.latency.time_to_first_token"] == "" || got["gen_ai.latency.e2e"] == "" {
		t.Errorf("latencies are missing: %v", got)
	}
}

// With several answers a client that leaves ends all of them.
func TestClientThatLeavesEndsAllAnswers(t *testing.T) {
	g := newTurnstile()
	answered := make(chan struct{})
	f := serveWrapped(t, engine.Config{
		Executor: &script{text: strings.Repeat("x", 5000), before: g.pass}, Sched: sched.Config{MaxNumSeqs: 8},
	}, Options{}, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(answered)
			h.ServeHTTP(w, r)
		})
	})
	defer g.release()
	leave := f.request(`{"messages":[{"role":"user","content":"x"}],"n":4,"max_tokens":3000,"ignore_eos":true,"stream":true}`)
	<-g.arrived
	for range 3 {
		g.proceed <- struct{}{}
		<-g.arrived
	}
	leave()
	<-answered
	g.release()
	s := f.engine.Stats()
	for ; s.Running+s.Waiting > 0; s = f.engine.Stats() {
	}
	if s.Usage != 0 || s.Finished[sched.Aborted] != 4 {
		t.Errorf("usage %v, ends %v, want 4 aborted", s.Usage, s.Finished)
	}
}
