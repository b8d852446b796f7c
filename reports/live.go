package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
)

// WriteLive writes one line about a run in progress, for progress that is not
// drawn on a terminal. Call it about once a second, with standard error.
func WriteLive(w io.Writer, l record.Live) error {
	elapsed := fmt.Sprintf("%.0f s", l.Elapsed.Seconds())
	switch {
	case l.Total > 0:
		elapsed = fmt.Sprintf("%.0f of %.0f s", l.Elapsed.Seconds(), l.Total.Seconds())
	case l.PlannedRequests > 0:
		elapsed += fmt.Sprintf(", %s of %s requests", units.Count(int64(l.Scheduled)), units.Count(int64(l.PlannedRequests)))
	}
	parts := []string{
		strings.TrimSpace(l.Phase + " " + elapsed),
		fmt.Sprintf("%s/s sent %s", units.Number(l.OfferedRPS), units.Count(int64(l.Sent))),
		fmt.Sprintf("%s/s ok %s", units.Number(l.CompletedRPS), units.Count(int64(l.OK))),
		fmt.Sprintf("%d in flight", l.InFlight),
	}
	if l.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%s failed (%s)", units.Count(int64(l.Failed)), record.ListFailures(l.Failures, 2)))
	}
	if l.Dropped > 0 {
		parts = append(parts, units.Count(int64(l.Dropped))+" dropped")
	}
	for _, m := range []struct {
		name string
		p    record.LivePercentiles
	}{{"ttft", l.TTFT}, {"tpot", l.TPOT}} {
		if m.p.N > 0 {
			parts = append(parts, fmt.Sprintf("%s p50 %s p99 %s", m.name, units.Duration(m.p.P50), units.Duration(m.p.P99)))
		}
	}
	parts = append(parts, units.Number(l.OutputTokensPerS)+" tokens/s")
	_, err := fmt.Fprintln(w, strings.Join(parts, "  "))
	return err
}
