package gateway

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
)

// A tenant pays for the answer that it gets: what an upstream reports with a failure is
// the operator's, whether another try answers or none.
func TestUsageOfFailedTriesIsNoTenantsDebt(t *testing.T) {
	const failed = `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"broken"},"usage":{"input_tokens":1000,"output_tokens":50}}}` + "\n\n"
	const sum = `llmctl_gateway_failed_tries_tokens_total{alias="small",deployment="cluster/real-model",kind="input"} 1000`
	const cost = `llmctl_gateway_failed_tries_cost_usd_total{alias="small",deployment="cluster/real-model"} 0.0011`
	for _, test := range []struct {
		name    string
		more    func(*config.Config, *Options)
		status  int
		charged int64
	}{
		{"without another try", priced, 502, 0},
		{"with a fallback that answers", func(c *config.Config, o *Options) { withFallback(c, o); priced(c, o) }, 200, 16},
	} {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			s := serve(t, script(&calls, upstreamAnswers(failed), upstreamAnswers(deltaEvent, completed)), test.more)
			body := `{"model":"small","stream":true,"input":"` + strings.Repeat("word ", 1000) + `"}`
			if got := s.at("/v1/responses", body); got.status != test.status {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			s.settled()
			if used := s.gateway.limits.Ledger().Settled; used != test.charged {
				t.Errorf("%d tokens charged, want %d", used, test.charged)
			}
			metrics := s.metrics()
			for _, line := range []string{sum, cost} {
				if !strings.Contains(metrics, line+"\n") {
					t.Errorf("metrics lack %s", line)
				}
			}
		})
	}
}
