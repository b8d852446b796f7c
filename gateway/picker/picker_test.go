package picker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	mode "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/gateway/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a picker for three endpoints, and a client of it.
type bench struct {
	t      *testing.T
	pool   *fleet.Pool
	server *Server
	client *grpc.ClientConn
}

// wanted asks for what the body's first byte stands for as a prompt.
func wanted(r Request) fleet.Want {
	w := fleet.Want{Tenant: r.Header("x-gateway-inference-fairness-id"), Model: r.Path, Tokens: int64(len(r.Body))}
	if len(r.Body) > 0 {
		w.Prompt = []route.Block{{r.Body[0]}}
	}
	return w
}

func newPool(t testing.TB, edit func(*config.Provider)) *fleet.Pool {
	t.Helper()
	start := time.Now()
	f := fleet.New(fleet.Options{
		Now:    func() time.Duration { return time.Since(start) },
		Client: &http.Client{},
	})
	t.Cleanup(f.Close)
	p := config.Provider{Name: "p", Endpoints: []string{"http://10.0.0.1:8000", "http://10.0.0.2:8000", "http://10.0.0.3"}}
	edit(&p)
	spec, err := fleet.NewSpec(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.Configure([]fleet.Spec{spec})[0]
}

func start(t *testing.T, edit func(*config.Provider)) *bench {
	t.Helper()
	b := &bench{t: t, pool: newPool(t, edit)}
	b.server = New(Options{Pool: func() *fleet.Pool { return b.pool }, Want: wanted, MaxBody: 1000})
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(listener) }()
	var err error
	b.client, err = grpc.NewClient("passthrough:picker",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.client.Close()
		b.server.Close()
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return b
}

// envoy is one request as Envoy tells of it.
type envoy struct {
	b      *bench
	stream extproc.ExternalProcessor_ProcessClient
	leave  context.CancelFunc
	modes  *extproc.ProtocolConfiguration
}

func (b *bench) envoy(request, response mode.ProcessingMode_BodySendMode) *envoy {
	b.t.Helper()
	ctx, leave := context.WithCancel(b.t.Context())
	stream, err := extproc.NewExternalProcessorClient(b.client).Process(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(leave)
	return &envoy{b, stream, leave, &extproc.ProtocolConfiguration{RequestBodyMode: request, ResponseBodyMode: response}}
}

func (e *envoy) send(m *extproc.ProcessingRequest) {
	e.b.t.Helper()
	m.ProtocolConfig, e.modes = e.modes, nil
	if err := e.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
		e.b.t.Fatal(err)
	}
}

func (e *envoy) receive() *extproc.ProcessingResponse {
	e.b.t.Helper()
	m, err := e.stream.Recv()
	if err != nil {
		e.b.t.Fatal(err)
	}
	return m
}

// finish closes the stream as Envoy does when the request is over, and waits until
// the picker has noted it.
func (e *envoy) finish() {
	e.b.t.Helper()
	_ = e.stream.CloseSend()
	if _, err := e.stream.Recv(); !errors.Is(err, io.EOF) {
		e.b.t.Errorf("the stream ended with %v", err)
	}
	e.leave()
}

func requestHeaders(end bool, headers ...string) *extproc.ProcessingRequest {
	return &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestHeaders{
		RequestHeaders: &extproc.HttpHeaders{Headers: headerMap(headers), EndOfStream: end},
	}}
}

func headerMap(pairs []string) *corev3.HeaderMap {
	m := &corev3.HeaderMap{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m.Headers = append(m.Headers, &corev3.HeaderValue{Key: pairs[i], RawValue: []byte(pairs[i+1])})
	}
	return m
}

func requestBody(text string, end bool) *extproc.ProcessingRequest {
	return &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestBody{
		RequestBody: &extproc.HttpBody{Body: []byte(text), EndOfStream: end},
	}}
}

func responseHeaders(end bool, headers ...string) *extproc.ProcessingRequest {
	return &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_ResponseHeaders{
		ResponseHeaders: &extproc.HttpHeaders{Headers: headerMap(headers), EndOfStream: end},
	}}
}

func responseBody(text string, end bool) *extproc.ProcessingRequest {
	return &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_ResponseBody{
		ResponseBody: &extproc.HttpBody{Body: []byte(text), EndOfStream: end},
	}}
}

// subsetted adds the hint to a request.
func subsetted(m *extproc.ProcessingRequest, hint *structpb.Value) *extproc.ProcessingRequest {
	m.MetadataContext = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
		"envoy.lb.subset_hint": {Fields: map[string]*structpb.Value{"x-gateway-destination-endpoint-subset": hint}},
	}}
	return m
}

func list(addresses ...any) *structpb.Value {
	v, err := structpb.NewList(addresses)
	if err != nil {
		panic(err) // strings alone are given
	}
	return structpb.NewListValue(v)
}

// picked checks an answer with an endpoint, and returns which.
func picked(t *testing.T, common *extproc.CommonResponse, metadata *structpb.Struct) string {
	t.Helper()
	mutation := common.GetHeaderMutation()
	if len(mutation.GetSetHeaders()) != 1 {
		t.Fatalf("headers %v", mutation.GetSetHeaders())
	}
	h := mutation.GetSetHeaders()[0]
	if h.GetHeader().GetKey() != "x-gateway-destination-endpoint" || h.GetAppendAction() != corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD {
		t.Errorf("header %v: what a client sends under that name must not stay", h)
	}
	if got := mutation.GetRemoveHeaders(); !cmp.Equal(got, []string{"x-gateway-destination-endpoint-subset"}) {
		t.Errorf("removed %v", got)
	}
	address := string(h.GetHeader().GetRawValue())
	if got := metadata.GetFields()["envoy.lb"].GetStructValue().GetFields()["x-gateway-destination-endpoint"].GetStringValue(); got != address {
		t.Errorf("the metadata says %q, the header %q", got, address)
	}
	return address
}

// atHeader sends a request without a body, and returns where it goes.
func (e *envoy) atHeader(m *extproc.ProcessingRequest) string {
	e.b.t.Helper()
	e.send(m)
	got := e.receive()
	return picked(e.b.t, got.GetRequestHeaders().GetResponse(), got.GetDynamicMetadata())
}

// refusal is an answer in the place of an endpoint.
func (e *envoy) refusal() (code int, retryAfter string) {
	e.b.t.Helper()
	r := e.receive().GetImmediateResponse()
	if r == nil {
		e.b.t.Fatal("the request was not refused")
	}
	for _, h := range r.GetHeaders().GetSetHeaders() {
		if h.GetHeader().GetKey() == "retry-after" {
			retryAfter = string(h.GetHeader().GetRawValue())
		}
	}
	if !bytes.Contains(r.GetBody(), []byte(`{"error":{"message":`)) {
		e.b.t.Errorf("body %s", r.GetBody())
	}
	return int(r.GetStatus().GetCode()), retryAfter
}

func (b *bench) inFlight() (n int64) {
	for _, e := range b.pool.Status().Endpoints {
		n += e.InFlight
	}
	return n
}

func plain(*config.Provider) {}

// As the protocol asks for: the body is streamed through, and comes back as it was,
// after the header with the endpoint.
func TestBodyIsStreamedThrough(t *testing.T) {
	for _, trailers := range []bool{false, true} {
		t.Run(fmt.Sprint("trailers: ", trailers), func(t *testing.T) {
			b := start(t, plain)
			e := b.envoy(mode.ProcessingMode_FULL_DUPLEX_STREAMED, mode.ProcessingMode_FULL_DUPLEX_STREAMED)
			e.modes = nil // an older Envoy says nothing of modes
			e.send(requestHeaders(false, ":path", "/v1/completions", "x-gateway-destination-endpoint", "10.9.9.9:1"))
			e.send(requestBody("one ", false))
			e.send(requestBody("two", !trailers))
			if trailers {
				e.send(&extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestTrailers{}})
			}
			header := e.receive()
			picked(t, header.GetRequestHeaders().GetResponse(), header.GetDynamicMetadata())
			if got := e.receive().GetRequestBody().GetResponse().GetBodyMutation().GetStreamedResponse(); string(got.GetBody()) != "one two" || got.GetEndOfStream() == trailers {
				t.Errorf("the body came back as %q, end %v", got.GetBody(), got.GetEndOfStream())
			}
			if trailers && e.receive().GetRequestTrailers() == nil {
				t.Error("the trailers were not answered")
			}
			if b.inFlight() != 1 {
				t.Errorf("%d in flight", b.inFlight())
			}
			e.send(responseHeaders(false, ":status", "200"))
			if e.receive().GetResponseHeaders() == nil {
				t.Error("the response's header was not answered")
			}
			e.send(responseBody("answer", true))
			if got := e.receive().GetResponseBody().GetResponse().GetBodyMutation().GetStreamedResponse(); string(got.GetBody()) != "answer" || !got.GetEndOfStream() {
				t.Errorf("the response came back as %q", got.GetBody())
			}
			e.finish()
			if b.inFlight() != 0 {
				t.Errorf("%d in flight at the end", b.inFlight())
			}
		})
	}
}

// A body that Envoy buffers comes after the header has been answered.
func TestBodyIsBuffered(t *testing.T) {
	b := start(t, plain)
	e := b.envoy(mode.ProcessingMode_BUFFERED, mode.ProcessingMode_NONE)
	e.send(requestHeaders(false, ":path", "/v1/completions"))
	if got := e.receive(); got.GetRequestHeaders().GetResponse().GetHeaderMutation() != nil || got.GetDynamicMetadata() != nil {
		t.Error("an endpoint was picked without the body")
	}
	e.send(requestBody("text", true))
	got := e.receive()
	picked(t, got.GetRequestBody().GetResponse(), got.GetDynamicMetadata())
	e.finish()
}

func TestRequestWithoutABody(t *testing.T) {
	for name, modes := range map[string]mode.ProcessingMode_BodySendMode{
		"at all": mode.ProcessingMode_FULL_DUPLEX_STREAMED, "that Envoy sends": mode.ProcessingMode_NONE,
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, plain)
			e := b.envoy(modes, mode.ProcessingMode_NONE)
			e.atHeader(requestHeaders(modes != mode.ProcessingMode_NONE, ":path", "/v1/models"))
			e.finish()
		})
	}
}

// Only endpoints of the hint are picked, in whatever form it comes; none of it is
// none at all.
func TestSubsetHint(t *testing.T) {
	tests := []struct {
		name string
		hint *structpb.Value
		want string // empty: refused
	}{
		{"a list", list("10.0.0.2:8000"), "10.0.0.2:8000"},
		{"a list with strangers", list("10.7.7.7:1", "10.0.0.1:8000"), "10.0.0.1:8000"},
		{"one text", structpb.NewStringValue("10.7.7.7:1, 10.0.0.2:8000"), "10.0.0.2:8000"},
		{"hosts alone", list("10.0.0.3"), "10.0.0.3:80"},
		{"another port", list("10.0.0.2:9999"), ""},
		{"an empty list", list(), ""},
		{"strangers alone", list("10.7.7.7:1"), ""},
		{"nonsense", structpb.NewNumberValue(5), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, plain)
			for range 3 {
				e := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
				m := subsetted(requestHeaders(true), test.hint)
				if test.want == "" {
					e.send(m)
					if code, _ := e.refusal(); code != 503 {
						t.Errorf("status %d, want 503", code)
					}
				} else if got := e.atHeader(m); got != test.want {
					t.Errorf("went to %s, want %s", got, test.want)
				}
				e.finish()
			}
		})
	}
}

// Without a healthy endpoint the answer is 503, without room it is 429, and both
// say when to come again.
func TestRefusals(t *testing.T) {
	b := start(t, func(p *config.Provider) {
		p.Endpoints, p.InFlight, p.MaxQueue = p.Endpoints[:1], 1, 1
		p.QueueTimeout = config.Duration(time.Millisecond)
		p.Breaker.MinRequests = 1
	})
	held := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
	held.atHeader(requestHeaders(true))
	full := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
	full.send(requestHeaders(true))
	if code, after := full.refusal(); code != 429 || after != "1" {
		t.Errorf("status %d, retry after %q; want 429", code, after)
	}
	full.finish()
	held.send(responseHeaders(true, ":status", "500"))
	held.receive()
	held.finish()
	sick := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
	sick.send(requestHeaders(true))
	if code, after := sick.refusal(); code != 503 || after != "5" {
		t.Errorf("status %d, retry after %q; want 503", code, after)
	}
	sick.finish()
	large := b.envoy(mode.ProcessingMode_FULL_DUPLEX_STREAMED, mode.ProcessingMode_NONE)
	large.send(requestHeaders(false))
	large.send(requestBody(string(make([]byte, 600)), false))
	large.send(requestBody(string(make([]byte, 600)), false))
	if code, _ := large.refusal(); code != 413 {
		t.Errorf("status %d for 1,200 bytes of 1,000", code)
	}
	large.finish()
	b.pool = nil
	none := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
	none.send(requestHeaders(true))
	if code, _ := none.refusal(); code != 503 {
		t.Errorf("status %d without a pool", code)
	}
	none.finish()
}

// What Envoy tells of a response says how the endpoint fares.
func TestResponsesAreJudged(t *testing.T) {
	for _, test := range []struct {
		name    string
		headers []string
		want    fleet.State
	}{
		{"a good one", []string{":status", "200"}, fleet.Up},
		{"a client's mistake", []string{":status", "422"}, fleet.Up},
		{"a server error", []string{":status", "503"}, fleet.Resting},
		{"too many requests", []string{":status", "429", "retry-after", "7"}, fleet.Cooling},
		{"too many requests, without a hint", []string{":status", "429"}, fleet.Up},
		{"nothing", nil, fleet.Up},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, func(p *config.Provider) { p.Endpoints, p.Breaker.MinRequests = p.Endpoints[:1], 1 })
			e := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
			e.atHeader(requestHeaders(true))
			if test.headers != nil {
				e.send(responseHeaders(true, test.headers...))
				e.receive()
			}
			e.finish()
			if got := b.pool.Status().Endpoints[0]; got.State != test.want || got.InFlight != 0 {
				t.Errorf("state %s with %d in flight, want %s", got.State, got.InFlight, test.want)
			}
		})
	}
}

// Requests with the same prompt go to the same endpoint.
func TestPicksGoByThePrompt(t *testing.T) {
	b := start(t, func(p *config.Provider) { p.Router.Policy = config.PolicyPrefixAffinity })
	seen := map[string]string{}
	for range 5 {
		for _, text := range []string{"a", "b", "c"} {
			e := b.envoy(mode.ProcessingMode_BUFFERED, mode.ProcessingMode_NONE)
			e.send(requestHeaders(false))
			e.receive()
			e.send(requestBody(text, true))
			got := e.receive()
			at := picked(t, got.GetRequestBody().GetResponse(), got.GetDynamicMetadata())
			if before := seen[text]; before != "" && before != at {
				t.Errorf("prompt %s went to %s and %s", text, before, at)
			}
			seen[text] = at
			e.finish()
		}
	}
}

// A client that leaves while its request waits is forgotten.
func TestClientThatLeavesTheQueue(t *testing.T) {
	b := start(t, func(p *config.Provider) { p.Endpoints, p.InFlight = p.Endpoints[:1], 1 })
	held := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
	held.atHeader(requestHeaders(true))
	waits := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
	waits.send(requestHeaders(true))
	until(t, func() bool { return b.pool.Status().Waiting[""] == 1 })
	waits.leave()
	until(t, func() bool { return len(b.pool.Status().Waiting) == 0 })
	if _, err := waits.stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("the stream ended with %v", err)
	}
	held.finish()
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timed out")
		}
	}
}

// A server that shuts down lets conversations end, for as long as it has patience.
func TestShutdown(t *testing.T) {
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprint("patient: ", patient), func(t *testing.T) {
			b := start(t, plain)
			e := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
			e.atHeader(requestHeaders(true))
			ctx, cut := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { b.server.Shutdown(ctx); close(done) }()
			if patient {
				e.finish()
			} else {
				cut()
			}
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("it does not end")
			}
			cut()
			if b.inFlight() != 0 {
				t.Errorf("%d in flight", b.inFlight())
			}
		})
	}
}

func TestHealth(t *testing.T) {
	b := start(t, plain)
	check := func(name string) healthpb.HealthCheckResponse_ServingStatus {
		t.Helper()
		r, err := healthpb.NewHealthClient(b.client).Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		return r.GetStatus()
	}
	names := []string{"", "readiness", "envoy.service.ext_proc.v3.ExternalProcessor"}
	for _, name := range append(names, "liveness") {
		if got := check(name); got != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q is %s", name, got)
		}
	}
	b.server.Drain()
	for _, name := range names {
		if got := check(name); got != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("%q is %s while draining", name, got)
		}
	}
	if got := check("liveness"); got != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("liveness is %s while draining", got)
	}
}
