package gateway

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/gateway/config"
)

// A kind that only the configuration knows would be found at its first request.
func TestKindsAreThoseOfTheConfiguration(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(slices.Values(config.Kinds())), slices.Sorted(maps.Keys(kinds))); diff != "" {
		t.Errorf("kinds that are spoken (+) are not those that can be configured (-):\n%s", diff)
	}
	for _, name := range append(config.Kinds(), "") {
		p := newProvider(config.Provider{Name: "p", Kind: name}, nil)
		if p.kind == nil || p.kindName == "" {
			t.Errorf("kind %q is %v under the name %q", name, p.kind, p.kindName)
		}
	}
}

// Each kind's header fields about limits are such that net/http has, and handed on.
func TestLimitsOfEveryKindAreTold(t *testing.T) {
	for name, k := range kinds {
		if k.limits() == "" || k.limits() != http.CanonicalHeaderKey(k.limits()) || !tellsLimits(k.limits()+"Remaining") {
			t.Errorf("kind %s: limits begin with %q", name, k.limits())
		}
	}
	if tellsLimits("X-Request-Id") {
		t.Error("a request's id is taken for a limit")
	}
}
