package reports

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
)

// gateway says in a line what the gateway of a simulated cluster did beside handing
// requests on.
func (p *page) gateway(g *record.Gateway) {
	if g == nil {
		return
	}
	var parts []string
	for _, c := range []struct {
		n    int64
		what string
	}{
		{g.Limited, "above a tenant's limits"}, {g.Shed, "shed for a full queue"}, {g.TimedOut, "timed out"}, {g.Retried, "retried"},
		{g.Unretried, "left alone by the retry budget"},
	} {
		if c.n > 0 {
			parts = append(parts, units.Count(c.n)+" "+c.what)
		}
	}
	if f := g.Fallback; f != nil && f.Requests > 0 {
		text := fmt.Sprintf("%s by the fallback", units.Count(f.Requests))
		if f.USD > 0 {
			text += " for $" + dollars(f.USD)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		parts = []string{"turned nobody away, and tried nothing twice"}
	}
	p.field("gateway", list(parts, ", "))
}
