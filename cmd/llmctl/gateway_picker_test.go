package main

import (
	"strings"
	"syscall"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// The picker listens beside the API, and ends with it.
func TestGatewayPicksEndpointsForEnvoy(t *testing.T) {
	g := startGateway(t, gatewayFile("http://10.0.0.5:8000", "a", "picker: { listen: 127.0.0.1:0, provider: p }"))
	client, err := grpc.NewClient(g.await("listening")["picker"].(string), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // the test is over
	ready, err := healthpb.NewHealthClient(client).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "readiness"})
	if err != nil || ready.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("readiness %v, %v", ready, err)
	}
	stream, err := extproc.NewExternalProcessorClient(client).Process(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestHeaders{
		RequestHeaders: &extproc.HttpHeaders{Headers: &corev3.HeaderMap{}, EndOfStream: true},
	}}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if text := answer.String(); !strings.Contains(text, "10.0.0.5:8000") {
		t.Errorf("answer %s", text)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	g.signal(syscall.SIGTERM)
	g.end()
}
