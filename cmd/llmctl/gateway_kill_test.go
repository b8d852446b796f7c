package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	ledger "github.com/llmctl/llmctl/gateway/usage"
)

// paidGateway is a configuration whose requests cost $0.000015 each, by an upstream
// that says they took 11 and 2 tokens.
func paidGateway(endpoint, store, limits string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
admin: { listen: 127.0.0.1:0, token_env: GATEWAY_ADMIN_TOKEN }
store: { %s }
tenants: [{ name: search, keys: [{ key_env: GATEWAY_KEY }], limits: { %s } }]
providers: [{ name: p, endpoints: [%q] }]
models: [{ alias: small, targets: [{ provider: p, model: m, usd_per_1m: { input: 1, output: 2 } }], max_tokens: { default: 2 } }]
`, store, limits, endpoint)
}

func paidUpstream(t *testing.T) string {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, gatewayHello+`data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2,"total_tokens":13}}`+"\n\n"+gatewayRest)
	}))
	t.Cleanup(up.Close)
	return up.URL
}

// kill ends a gateway as the kernel does when memory runs out.
func (g *runningGateway) kill() {
	g.t.Helper()
	if err := g.cmd.Process.Kill(); err != nil {
		g.t.Fatal(err)
	}
	<-g.done
}

// recorded reads how many requests the file of usage has, and what they cost.
func recorded(t *testing.T, file string) (requests, nanoUSD int64) {
	t.Helper()
	reader, err := ledger.OpenReader(t.Context(), "sqlite:"+file, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	now := time.Now().Truncate(time.Hour)
	groups, err := reader.Sums(t.Context(), ledger.Query{From: now.AddDate(0, 0, -2), To: now.AddDate(0, 0, 2)})
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		requests, nanoUSD = group.Requests, group.InputCost+group.OutputCost
	}
	return requests, nanoUSD
}

// A gateway is killed under load, and started again on the same file: whatever the
// ledger had called written is there, the rest is no more than what came after, and
// the budget goes on from it. That the ledger writes within a second, its own tests
// say.
func TestKilledGatewayGoesOnFromItsUsage(t *testing.T) {
	const cost = 15_000 // nano-dollars of a request
	file := filepath.Join(t.TempDir(), "usage.db")
	endpoint := paidUpstream(t)
	budgeted := func(requests int64) string {
		return paidGateway(endpoint, fmt.Sprintf("usage: %q", "sqlite:"+file), fmt.Sprintf("usd_per_month: %.6f", float64(requests*cost)/1e9))
	}
	g := startGateway(t, budgeted(1e9))
	var served atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	const clients = 4
	for range clients {
		load.Go(func() {
			for ctx.Err() == nil {
				response, err := g.open("small")
				if err != nil {
					return // it was killed
				}
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if err == nil && response.StatusCode == 200 {
					served.Add(1)
				}
			}
		})
	}
	var written int64
	for deadline := time.Now().Add(gatewayPatience); written < 20; time.Sleep(5 * time.Millisecond) {
		_, page := g.get(g.admin + "/metrics")
		for line := range strings.Lines(page) {
			if text, ok := strings.CutPrefix(line, `llmctl_gateway_usage_records_total{event="written"} `); ok {
				_, _ = fmt.Sscan(text, &written)
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no usage was written")
		}
	}
	g.kill()
	stop()
	load.Wait()
	requests, spent := recorded(t, file)
	t.Logf("%d requests were answered, %d written when the metrics were read, %d are kept", served.Load(), written, requests)
	// At the moment of the kill each client may have had a request that is kept, and no answer.
	if requests < written || requests > served.Load()+clients || spent != cost*requests {
		t.Errorf("%d requests of %d nano-dollars are kept; %d were written, %d answered", requests, spent, written, served.Load())
	}

	const more = 10
	again := startGateway(t, budgeted(requests+more))
	admitted := 0
	for admitted <= more && again.status("small") == 200 {
		admitted++
	}
	if admitted > more || admitted < more-1 { // what a request reserves is less, or more, than it uses
		t.Errorf("%d requests fit into what %d leave of a budget for %d", admitted, requests, requests+more)
	}
	again.kill()
}

// The slots of a gateway that was killed come back when their time is over: others
// that share its Redis wait no longer.
func TestKilledGatewaysSlotsComeBack(t *testing.T) {
	m := miniredis.RunT(t)
	start := time.Now()
	m.SetTime(start)
	endpoint, _ := pausing(t)
	configuration := paidGateway(endpoint, fmt.Sprintf("usage: none, limits: %q, timeout: 1m", "redis://"+m.Addr()), "concurrent: 1")
	doomed := startGateway(t, configuration)
	stream := doomed.begin("small")
	defer stream.Close() //nolint:errcheck // its server was killed
	other := startGateway(t, configuration)
	if got := other.status("small"); got != http.StatusTooManyRequests {
		t.Errorf("status %d while the slot is taken", got)
	}
	doomed.kill()
	if got := other.status("small"); got != http.StatusTooManyRequests {
		t.Errorf("status %d while its holder may live", got)
	}
	m.SetTime(start.Add(time.Minute))
	next := other.begin("small")
	_ = next.Close()
	other.kill()
}
