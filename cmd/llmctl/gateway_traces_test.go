package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanCollector is an OpenTelemetry collector that keeps what it gets.
type spanCollector struct {
	url   string
	mu    sync.Mutex
	spans []*tracepb.Span
}

func startCollector(t *testing.T) *spanCollector {
	t.Helper()
	c := &spanCollector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// A request makes a span, each attempt one below it, and the engine gets the
// context of the attempt. What has not been sent goes out when the gateway ends.
func TestGatewaySendsTraces(t *testing.T) {
	got := make(chan string, 1)
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Header.Get("Traceparent")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, gatewayHello+gatewayRest)
	}))
	t.Cleanup(engine.Close)
	c := startCollector(t)
	g := startGateway(t, gatewayFile(engine.URL, "small", "traces: { endpoint: "+c.url+", sample: 1 }"))
	if status := g.status("small"); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	g.signal(syscall.SIGTERM)
	g.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds := map[tracepb.Span_SpanKind]*tracepb.Span{}
	for _, s := range c.spans {
		kinds[s.GetKind()] = s
	}
	request, attempt := kinds[tracepb.Span_SPAN_KIND_SERVER], kinds[tracepb.Span_SPAN_KIND_CLIENT]
	if len(c.spans) != 2 || request == nil || attempt == nil {
		t.Fatalf("%d spans: %v", len(c.spans), c.spans)
	}
	if request.GetName() != "chat small" || attempt.GetName() != "chat m" || string(attempt.GetParentSpanId()) != string(request.GetSpanId()) {
		t.Errorf("%s above %s", request.GetName(), attempt.GetName())
	}
	if parent := <-got; len(parent) != 55 || !strings.Contains(parent, hex.EncodeToString(attempt.GetTraceId())+"-"+hex.EncodeToString(attempt.GetSpanId())) {
		t.Errorf("the engine got the context %q", parent)
	}
	for _, span := range c.spans {
		if text := span.String(); strings.Contains(text, "sk-gateway") || strings.Contains(text, gatewayToken) {
			t.Errorf("a secret is in %s", text)
		}
	}
}

// A collector that nobody runs costs spans and one line of the log: requests are
// served, and the gateway ends well.
func TestGatewayServesWithoutItsCollector(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	endpoint, release := pausing(t)
	release()
	g := startGateway(t, gatewayFile(endpoint, "small", "traces: { endpoint: "+gone.URL+" }"))
	for range 3 {
		if status := g.status("small"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	g.signal(syscall.SIGTERM)
	g.end()
	if text := g.log(); strings.Count(text, `"msg":"traces`) != 1 {
		t.Errorf("the log says\n%s", text)
	}
}
