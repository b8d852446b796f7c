package picker

import (
	"context"
	"net"

	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/llmctl/llmctl/gateway/fleet"
)

// Request is what a picker knows of a request.
type Request struct {
	Path   string
	Header func(name string) string // first value; names in lower case
	Body   []byte                   // nil when Envoy sends none
}

// Options are a server's dependencies.
type Options struct {
	// Pool is whose endpoints are picked from, at the moment of the call; nil when
	// there is none.
	Pool func() *fleet.Pool
	// Want says what the request asks of the pool. The picker adds which endpoints
	// Envoy allows.
	Want func(Request) fleet.Want
	// MaxBody is the largest request body, bytes.
	MaxBody int64
	// Hold counts more bytes of a request that are in memory, fewer when negative, and
	// reports whether there is room for them. They count either way. Nil has room for all.
	Hold func(r Request, bytes int64) bool
}

// Names under which the protocol asks for health.
const (
	liveness  = "liveness"
	readiness = "readiness"
)

// Server is an endpoint picker.
type Server struct {
	grpc   *grpc.Server
	health *health.Server
}

// overhead is what a message has beside a body.
const overhead = 1 << 20

// New returns a server that does not listen yet. More options of gRPC's, such as
// credentials, may be given.
func New(o Options, more ...grpc.ServerOption) *Server {
	s := &Server{
		grpc:   grpc.NewServer(append([]grpc.ServerOption{grpc.MaxRecvMsgSize(int(o.MaxBody) + overhead)}, more...)...),
		health: health.NewServer(),
	}
	extproc.RegisterExternalProcessorServer(s.grpc, &service{options: o})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	s.serving(healthpb.HealthCheckResponse_SERVING)
	s.health.SetServingStatus(liveness, healthpb.HealthCheckResponse_SERVING)
	return s
}

func (s *Server) serving(status healthpb.HealthCheckResponse_ServingStatus) {
	for _, name := range []string{"", readiness, extproc.ExternalProcessor_ServiceDesc.ServiceName} {
		s.health.SetServingStatus(name, status)
	}
}

// Serve answers on a listener until Close.
func (s *Server) Serve(l net.Listener) error { return s.grpc.Serve(l) }

// Drain says in health checks that the picker is not ready; it goes on answering.
func (s *Server) Drain() { s.serving(healthpb.HealthCheckResponse_NOT_SERVING) }

// Shutdown waits until all conversations are over, and cuts off those that are not
// when ctx ends.
func (s *Server) Shutdown(ctx context.Context) {
	defer context.AfterFunc(ctx, s.grpc.Stop)()
	s.grpc.GracefulStop()
}

// Close ends all conversations, and waits for them.
func (s *Server) Close() { s.grpc.Stop() }

// service implements the protocol.
type service struct {
	extproc.UnimplementedExternalProcessorServer
	options Options
}
