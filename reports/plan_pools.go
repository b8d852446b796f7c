package reports

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// writePools writes separate pools for prefill and decode beside the plan.
func writePools(b *strings.Builder, p *sizing.Plan) {
	q := p.Pools
	if q == nil {
		return
	}
	fmt.Fprintf(b, "\nPrefill and decode apart, at %s/s\n", units.Of(q.RPS, "request"))
	t := Table{Indent: 2, Header: []string{"pool", "replicas", "accelerators", "requests/s each", "largest", "stopped by"}, Right: []bool{false, true, true, true, true}}
	for _, r := range []struct {
		name string
		pool sizing.Pool
	}{{"prefill", q.Prefill}, {"decode", q.Decode}} {
		t.Rows = append(t.Rows, []string{r.name, units.Count(int64(r.pool.Replicas)), units.Count(int64(r.pool.Accelerators)),
			units.Number(r.pool.RPS), units.Number(r.pool.MaxRPS), r.pool.Bound})
	}
	writeTable(b, t)
	sum := fmt.Sprintf("%s accelerators, %s per decode replica.", units.Count(int64(q.Accelerators)), units.Of(q.Ratio, "prefill replica"))
	if q.Aggregated > 0 {
		sum = fmt.Sprintf("%s accelerators against %s in one pool, %s per decode replica.",
			units.Count(int64(q.Accelerators)), units.Count(int64(q.Aggregated)), units.Of(q.Ratio, "prefill replica"))
	}
	paragraph(b, "  ", sum)
	paragraph(b, "  ", fmt.Sprintf("A request's cache, %s per accelerator, takes %s to send at %s GB/s. TTFT p99 %s with it, TPOT p99 %s, E2E p99 %s.",
		units.Bytes(int64(q.TransferBytes)), units.Seconds(q.TransferS), units.Number(q.BandwidthPerS/1e9),
		units.Seconds(q.TTFT.P99), units.Seconds(q.TPOT.P99), units.Seconds(q.E2E.P99)))
}
