package picker

import (
	"math"
	"net"
	"net/url"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/internal/openai"
)

// Names of the endpoint picker protocol.
const (
	destinationHeader    = "x-gateway-destination-endpoint"
	destinationNamespace = "envoy.lb"
	subsetHeader         = "x-gateway-destination-endpoint-subset"
	subsetNamespace      = "envoy.lb.subset_hint"
)

// destination is where a request goes.
type destination struct{ address string } // host:port

// addressOf is an endpoint as Envoy dials it: with a port, always.
func addressOf(e *fleet.Endpoint) string {
	if _, _, err := net.SplitHostPort(e.Host); err == nil {
		return e.Host
	}
	port := "80"
	u, err := url.Parse(e.URL)
	if err != nil {
		return e.Host
	}
	if u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func one(m *extproc.ProcessingResponse) []*extproc.ProcessingResponse {
	return []*extproc.ProcessingResponse{m}
}

// mutation sets the destination in the place of one that the client may have sent,
// and takes out what only data planes say. A nil destination changes nothing.
func (d *destination) mutation() *extproc.CommonResponse {
	if d == nil {
		return &extproc.CommonResponse{}
	}
	return &extproc.CommonResponse{
		ClearRouteCache: true, // routes may go by the header
		HeaderMutation: &extproc.HeaderMutation{
			SetHeaders:    []*corev3.HeaderValueOption{header(destinationHeader, d.address)},
			RemoveHeaders: []string{subsetHeader},
		},
	}
}

// header replaces whatever the request has under the name: a header that is added
// to one of the client's would leave the choice to the client.
func header(name, value string) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:       &corev3.HeaderValue{Key: name, RawValue: []byte(value)},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}

// metadata says the destination once more, where Envoy's load balancers look.
func (d *destination) metadata() *structpb.Struct {
	if d == nil {
		return nil
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		destinationNamespace: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			destinationHeader: structpb.NewStringValue(d.address),
		}}),
	}}
}

func headersReply(d *destination) *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{
		Response:        &extproc.ProcessingResponse_RequestHeaders{RequestHeaders: &extproc.HeadersResponse{Response: d.mutation()}},
		DynamicMetadata: d.metadata(),
	}
}

func bodyReply(d *destination) *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{
		Response:        &extproc.ProcessingResponse_RequestBody{RequestBody: &extproc.BodyResponse{Response: d.mutation()}},
		DynamicMetadata: d.metadata(),
	}
}

// replacedBodyReply is bodyReply with another body in the place of the one that Envoy
// has buffered.
func replacedBodyReply(d *destination, body []byte) *extproc.ProcessingResponse {
	reply := bodyReply(d)
	response := reply.GetRequestBody().GetResponse()
	response.BodyMutation = &extproc.BodyMutation{Mutation: &extproc.BodyMutation_Body{Body: body}}
	// Envoy refuses a body that has not the length that its header says.
	response.HeaderMutation.SetHeaders = append(response.HeaderMutation.SetHeaders, header("content-length", strconv.Itoa(len(body))))
	return reply
}

// streamed gives back a part of a body that is streamed both ways.
func streamed(part *extproc.StreamedBodyResponse) *extproc.BodyResponse {
	return &extproc.BodyResponse{Response: &extproc.CommonResponse{BodyMutation: &extproc.BodyMutation{
		Mutation: &extproc.BodyMutation_StreamedResponse{StreamedResponse: part},
	}}}
}

func streamedBodyReply(part *extproc.StreamedBodyResponse) *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestBody{RequestBody: streamed(part)}}
}

func streamedResponseBodyReply(b *extproc.HttpBody) *extproc.ProcessingResponse {
	part := &extproc.StreamedBodyResponse{Body: b.GetBody(), EndOfStream: b.GetEndOfStream()}
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseBody{ResponseBody: streamed(part)}}
}

func responseHeadersReply() *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseHeaders{
		ResponseHeaders: &extproc.HeadersResponse{Response: &extproc.CommonResponse{}},
	}}
}

func responseBodyReply() *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseBody{
		ResponseBody: &extproc.BodyResponse{Response: &extproc.CommonResponse{}},
	}}
}

func requestTrailersReply() *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestTrailers{RequestTrailers: &extproc.TrailersResponse{}}}
}

func responseTrailersReply() *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseTrailers{ResponseTrailers: &extproc.TrailersResponse{}}}
}

// immediateReply answers the client in the place of an endpoint.
func immediateReply(code int, kind, message, name string, retryAfter time.Duration) *extproc.ProcessingResponse {
	headers := []*corev3.HeaderValueOption{header("content-type", "application/json")}
	if retryAfter > 0 {
		headers = append(headers, header("retry-after", strconv.Itoa(int(math.Ceil(retryAfter.Seconds())))))
	}
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ImmediateResponse{
		ImmediateResponse: &extproc.ImmediateResponse{
			Status:  &typev3.HttpStatus{Code: typev3.StatusCode(code)},
			Headers: &extproc.HeaderMutation{SetHeaders: headers},
			Body:    openai.ErrorBody(openai.NewError(kind, message, "", name)),
			Details: name,
		},
	}}
}
