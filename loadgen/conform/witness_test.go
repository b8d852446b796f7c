package conform_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/conform"
)

// lacking are cases that fail against the mock even without a fault: it checks
// little of what it is asked, and has no features of a model.
var lacking = []string{
	"models/card", "framing/accel-buffering",
	"errors/wrong-types", "errors/no-messages", "errors/negative-max-tokens", "errors/temperature", "errors/unknown-model-code",
	"errors/all-fields", "errors/allow", "errors/nesting", "errors/context-length", "errors/context-length-code", "errors/too-large",
	"auth/two-headers",
	"params/n", "params/stop", "params/logprobs", "params/tools", "params/json",
	"headers/request-id", "headers/request-id-kept", "headers/request-id-on-errors", "headers/nosniff", "caching/prefix-salt",
}

func TestWhatTheMockLacks(t *testing.T) {
	got := failures(check(t, faultless(), conform.Options{Context: 64}))
	if diff := cmp.Diff(lacking, got); diff != "" {
		t.Errorf("failed cases (-want +got):\n%s", diff)
	}
}

// elsewhere are the cases that a test of their own makes fail.
var elsewhere = []string{
	"stream/answered",                                                                      // noStream
	"buffering/spread", "buffering/header", "buffering/lumps", "slow/stream", "slow/whole", // hops_test.go
	"cancel/before-output", "cancel/mid-stream", "cancel/whole", "cancel/hundred",
	"cancel/freed-before-output", "cancel/freed-mid-stream", "cancel/freed-whole",
	"connection/after-idle", "connection/parallel", // twists_test.go
	"connection/half-closed", // halfclosed_test.go
}

// For every case there is a server that fails it: a case that can not fail says
// nothing.
func TestEveryCaseCanFail(t *testing.T) {
	witnessed := slices.Concat(lacking, elsewhere)
	for _, ids := range streamFaults {
		witnessed = append(witnessed, ids...)
	}
	for _, tt := range twists() {
		witnessed = append(witnessed, tt.want...)
	}
	for _, tt := range streamTwists {
		witnessed = append(witnessed, tt.want...)
	}
	for _, tt := range gatewayFlaws {
		witnessed = append(witnessed, tt.want...)
	}
	var missing []string
	for _, c := range conform.Cases() {
		if !slices.Contains(witnessed, c.ID) {
			missing = append(missing, c.ID)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no test makes these cases fail: %s", strings.Join(missing, ", "))
	}
}
