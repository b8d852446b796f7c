package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
)

// liveWidth is how wide a line of progress may be, in columns. What does not
// fit is left out, from the end.
const liveWidth = 110

// WriteLive writes one line about a run in progress, for progress that is not
// drawn on a terminal. Call it about once a second, with standard error.
func WriteLive(w io.Writer, l record.Live) error {
	number := func(name string, n int) string { return name + " " + units.Count(int64(n)) }
	parts := []string{
		livePhase(l),
		number("sent", l.Sent),
		fmt.Sprintf("%s (%s/s)", number("ok", l.OK), units.Number(l.CompletedRPS)),
		units.Count(int64(l.InFlight)) + " in flight",
	}
	if l.Failed > 0 {
		parts = append(parts, "failed "+record.ListFailures(l.Failures, 2))
	}
	if l.Dropped > 0 {
		parts = append(parts, number("dropped", l.Dropped))
	}
	parts = append(parts, "tokens/s "+units.Number(l.OutputTokensPerS))
	span := fmt.Sprintf("last %.0f s p99:", record.LiveSpan.Seconds())
	for _, m := range []struct {
		name string
		p    record.LivePercentiles
	}{{"ttft", l.TTFT}, {"tpot", l.TPOT}} {
		if m.p.N > 0 {
			parts = append(parts, strings.TrimSpace(span+" "+m.name+" "+units.Duration(m.p.P99)))
			span = ""
		}
	}
	line := parts[0]
	for _, part := range parts[1:] {
		if utf8.RuneCountInString(line)+2+utf8.RuneCountInString(part) > liveWidth {
			break
		}
		line += "  " + part
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// livePhase is how far the run is: "12 of 30 s", with the phase before it where
// that is not measuring. Draining has no end to be compared with.
func livePhase(l record.Live) string {
	text := fmt.Sprintf("%.0f s", l.Elapsed.Seconds())
	switch {
	case l.Phase == record.Draining:
	case l.Total > 0:
		text = fmt.Sprintf("%.0f of %.0f s", l.Elapsed.Seconds(), l.Total.Seconds())
	case l.PlannedRequests > 0:
		text += fmt.Sprintf(", %s of %s requests", units.Count(int64(l.Scheduled)), units.Count(int64(l.PlannedRequests)))
	}
	if l.Phase != record.Measuring {
		text = strings.TrimSpace(l.Phase + " " + text)
	}
	return text
}
