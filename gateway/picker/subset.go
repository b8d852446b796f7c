package picker

import (
	"net"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"
)

// subset is the endpoints that Envoy allows for a request.
type subset struct {
	set       bool            // else all are
	addresses map[string]bool // host:port, or a host for all of its ports
}

// subsetOf reads the hint: a list of addresses, or one text with commas, as filters
// that copy a header into metadata write it. A hint that is empty, or makes no
// sense, allows none: it is there because not all are allowed.
func subsetOf(metadata *corev3.Metadata) subset {
	hint, ok := metadata.GetFilterMetadata()[subsetNamespace].GetFields()[subsetHeader]
	if !ok {
		return subset{}
	}
	s := subset{set: true, addresses: map[string]bool{}}
	values := []*structpb.Value{hint}
	if list := hint.GetListValue(); list != nil {
		values = list.GetValues()
	}
	for _, v := range values {
		for address := range strings.SplitSeq(v.GetStringValue(), ",") {
			if address = strings.TrimSpace(address); address != "" {
				s.addresses[address] = true
			}
		}
	}
	return s
}

// allows tells whether a host:port is one of the subset.
func (s subset) allows(address string) bool {
	if s.addresses[address] {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	return err == nil && s.addresses[host]
}

// valueOf is a header's value: Envoy fills one of the two fields.
func valueOf(h *corev3.HeaderValue) string {
	if raw := h.GetRawValue(); len(raw) > 0 {
		return string(raw)
	}
	return h.GetValue()
}
