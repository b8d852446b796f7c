package gateway

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/gateway/usage"
)

// Defaults that other packages than config have are those of the documents, too.
func TestDefaultsOfPoliciesInTheDocsAreTrue(t *testing.T) {
	docs, err := os.ReadFile("../docs/gateway-configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := health.Unreliable()
	for key, want := range map[string]string{
		"router.load_cap":      fmt.Sprint(route.DefaultLoadCap),
		"store.usage_keep":     fmt.Sprintf("%gh", usage.DefaultKeep.Hours()),
		"breaker.window":       rules.Window.String(),
		"breaker.min_requests": fmt.Sprint(rules.MinRequests),
		"breaker.failure_rate": fmt.Sprint(rules.FailureRate),
		"breaker.open":         rules.Open.String(),
		"breaker.probes":       fmt.Sprint(rules.Probes),
	} {
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(key) + "` \\|.* \\| ([^|]*) \\|$").FindSubmatch(docs)
		if row == nil || string(row[1]) != want {
			t.Errorf("%s: the docs say %q, the code %q", key, row, want)
		}
	}
}
