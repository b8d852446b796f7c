package telemetry

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func variables(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestNobodyToTell(t *testing.T) {
	for name, o := range map[string]Options{
		"nothing is said":  {Lookup: variables()},
		"the SDK is off":   {Endpoint: "http://127.0.0.1:1", Lookup: variables("OTEL_SDK_DISABLED", "true")},
		"an empty address": {Lookup: variables("OTEL_EXPORTER_OTLP_ENDPOINT", " ")},
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := Traces(t.Context(), o); p != nil || err != nil {
				t.Errorf("provider %v, error %v, want none", p, err)
			}
		})
	}
}

// The collector gets what was sampled, under the gateway's name.
func TestSpansReachTheCollector(t *testing.T) {
	got := make(chan *collector.ExportTraceServiceRequest, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		got <- &request
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer server.Close()
	none, all := 0.0, 1.0
	for _, share := range []*float64{&none, &all} {
		p, err := Traces(t.Context(), Options{Endpoint: server.URL + "/", Sample: share, Version: "1.2", Lookup: variables()})
		if err != nil {
			t.Fatal(err)
		}
		_, span := p.Tracer("test").Start(t.Context(), "chat small", trace.WithSpanKind(trace.SpanKindServer))
		span.End()
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(got) != 1 {
		t.Fatalf("%d exports, want that of the sampled span", len(got))
	}
	resource := (<-got).GetResourceSpans()[0]
	attributes := map[string]string{}
	for _, a := range resource.GetResource().GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if attributes["service.name"] != "llmctl-gateway" || attributes["service.version"] != "1.2" {
		t.Errorf("resource %v", attributes)
	}
	if name := resource.GetScopeSpans()[0].GetSpans()[0].GetName(); name != "chat small" {
		t.Errorf("span %q", name)
	}
}

// A collector that is away costs its spans and one line of the log, however many
// batches fail; when it is back there is another line.
func TestCollectorThatIsAwayIsToldOnce(t *testing.T) {
	var status atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	var said bytes.Buffer
	p, err := Traces(t.Context(), Options{Endpoint: server.URL, Lookup: variables(), Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	send := func(answer int) {
		status.Store(int64(answer))
		_, span := p.Tracer("test").Start(t.Context(), "chat small")
		span.End()
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, answer := range []int{200, 400, 400, 400, 200, 200} {
		send(answer)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if text := said.String(); strings.Count(text, "takes no spans") != 1 || strings.Count(text, "takes spans again") != 1 || strings.Count(text, "\n") != 2 {
		t.Errorf("the log says\n%s", text)
	}
}
