package picker

import (
	"strings"

	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"

	"github.com/llmctl/llmctl/gateway/fleet"
)

// Where Envoy says who answered: the filter's attributes, if it is configured to
// send them, and the metadata of the endpoint picker protocol.
// https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/advanced/attributes
const (
	attributesOf   = "envoy.filters.http.ext_proc"
	detailsOf      = "response.code_details"
	addressOfReply = "upstream.address"
	attemptsOf     = "upstream.request_attempt_count"
	servedKey      = "x-gateway-destination-endpoint-served"
)

// answerer is who a response is from. Its zero value is the endpoint that was
// picked, for all that is known.
type answerer struct {
	address string        // of the endpoint that Envoy used; empty when it does not say
	again   bool          // Envoy has tried more than once
	envoy   bool          // Envoy answers itself, in the place of an endpoint
	outcome fleet.Outcome // if it does: how the endpoint fared
}

// answeredBy reads who a response is from.
func answeredBy(in *extproc.ProcessingRequest) answerer {
	attributes := in.GetAttributes()[attributesOf].GetFields()
	a := answerer{address: in.GetMetadataContext().GetFilterMetadata()[destinationNamespace].GetFields()[servedKey].GetStringValue()}
	if a.address == "" {
		a.address = attributes[addressOfReply].GetStringValue()
	}
	a.again = attributes[attemptsOf].GetNumberValue() > 1
	if details := attributes[detailsOf].GetStringValue(); details != "" && details != "via_upstream" {
		a.envoy, a.outcome = true, outcomeOf(details)
	}
	return a
}

// outcomeOf is how an endpoint fared of which Envoy's response code details tell:
// https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/response_code_details
func outcomeOf(details string) fleet.Outcome {
	reset, ok := strings.CutPrefix(details, "upstream_reset_before_response_started{")
	reset, _, _ = strings.Cut(reset, "|") // behind it is what the transport says
	switch {
	case ok && strings.HasPrefix(reset, "overflow"):
		return fleet.Neutral // Envoy's own bound on connections
	case ok && strings.Contains(reset, "connection_"):
		return fleet.Unreached
	case ok, strings.HasPrefix(details, "upstream_") && strings.HasSuffix(details, "_timeout"):
		return fleet.Failed
	}
	return fleet.Neutral // Envoy did not ask the endpoint, or gave up for another reason
}
