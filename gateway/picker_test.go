package gateway

import (
	"fmt"
	"net"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	mode "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/llmctl/llmctl/gateway/config"
)

// Envoy and the gateway itself pick from the same endpoints, by the same prompts and
// counts; a new configuration holds for both.
func TestEnvoyPicksAsTheGatewayDoes(t *testing.T) {
	w := newWorkers(t, 4, upstreamAnswers(helloEvent, finishEvent, doneEvent), configure(func(c *config.Config) {
		c.Providers[0].Router.Policy, c.Providers[0].CacheSalt = "prefix_affinity", new(bool)
		c.Picker = config.Picker{Listen: "127.0.0.1:0", Provider: "cluster"}
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := w.gateway.Picker()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	client, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		server.Close()
		if err := wait(t, served, "the picker"); err != nil {
			t.Error(err)
		}
	})
	// The gateway's model names are its own; Envoy's requests have the engines'.
	body := func(model string, chat int) string {
		return fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"chat %d %s"}]}`, model, chat, strings.Repeat("What was said. ", 20))
	}
	for chat := range 8 {
		if a := w.post(body("small", chat)); a.status != 200 {
			t.Fatalf("status %d", a.status)
		}
		var here string
		for e := range w.called() {
			here = e
		}
		if there := "http://" + picked(t, client, body("real-model", chat)); there != here {
			t.Errorf("chat %d goes to %s, and through Envoy to %s", chat, here, there)
		}
	}
	next := testConfig("http://127.0.0.1:1")
	next.Picker = config.Picker{Listen: "127.0.0.1:0", Provider: "cluster"}
	if err := w.gateway.Reload(next); err != nil {
		t.Fatal(err)
	}
	if got := picked(t, client, body("real-model", 0)); got != "127.0.0.1:1" {
		t.Errorf("went to %s after the endpoints had changed", got)
	}
	next.Picker = config.Picker{}
	if err := w.gateway.Reload(next); err != nil {
		t.Fatal(err)
	}
	if got := picked(t, client, body("real-model", 0)); got != "" {
		t.Errorf("went to %s without a picker", got)
	}
}

// picked asks as Envoy does where a chat goes; empty when it is refused.
func picked(t *testing.T, client *grpc.ClientConn, body string) string {
	t.Helper()
	stream, err := extproc.NewExternalProcessorClient(client).Process(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*extproc.ProcessingRequest{
		{
			Request: &extproc.ProcessingRequest_RequestHeaders{RequestHeaders: &extproc.HttpHeaders{
				Headers: &corev3.HeaderMap{Headers: []*corev3.HeaderValue{{Key: ":path", RawValue: []byte("/v1/chat/completions?x=1")}}},
			}},
			ProtocolConfig: &extproc.ProtocolConfiguration{RequestBodyMode: mode.ProcessingMode_FULL_DUPLEX_STREAMED},
		},
		{Request: &extproc.ProcessingRequest_RequestBody{RequestBody: &extproc.HttpBody{Body: []byte(body), EndOfStream: true}}},
	} {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for _, h := range got.GetRequestHeaders().GetResponse().GetHeaderMutation().GetSetHeaders() {
		return string(h.GetHeader().GetRawValue())
	}
	if got.GetImmediateResponse().GetStatus().GetCode() != 503 {
		t.Errorf("answer %v", got)
	}
	return ""
}

// The configurations of Envoy ask the picker of the one beside them, and where they
// list endpoints, these are its.
func TestEnvoyConfigurationsFitTheGateways(t *testing.T) {
	c, err := config.Parse([]byte(readFile(t, "../deploy/envoy/gateway.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	socket := func(address string) string {
		host, port, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("socket_address: { address: %s, port_value: %s }", host, port)
	}
	closed, open := readFile(t, "../deploy/envoy/envoy.yaml"), readFile(t, "../deploy/envoy/envoy-fail-open.yaml")
	for _, text := range []string{closed, open} {
		if !strings.Contains(text, socket(c.Picker.Listen)) {
			t.Errorf("no cluster for the picker at %s", c.Picker.Listen)
		}
	}
	for _, e := range c.Providers[0].Endpoints {
		if !strings.Contains(open, socket(e)) || strings.Contains(closed, socket(e)) {
			t.Errorf("endpoint %s", e)
		}
	}
}
