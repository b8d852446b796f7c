// Package picker lets Envoy, or another data plane of the Kubernetes Gateway API
// Inference Extension, use the gateway's own choice of endpoint: it is an endpoint
// picker, a gRPC server of Envoy's external processing protocol
// (envoy.service.ext_proc.v3).
//
// For each request Envoy sends the header and, where it is configured to, the body.
// The picker asks a pool of package fleet for a place, waiting in its queue if it
// must, and answers with the endpoint in the header x-gateway-destination-endpoint
// and in the dynamic metadata envoy.lb. Messages about the response tell how the
// endpoint fared; the end of the stream gives the place back.
//
// The protocol: https://github.com/kubernetes-sigs/gateway-api-inference-extension/tree/main/docs/proposals/004-endpoint-picker-protocol
//
//   - server.go: the gRPC server, with health checks
//   - conversation.go: the messages about one request, and what answers them
//   - body.go: the request's body, and the model in it
//   - response.go: what those about its response say of the endpoint
//   - answerer.go: whether it was the endpoint that answered
//   - reply.go: the answers' forms
//   - subset.go: which endpoints Envoy allows
package picker
