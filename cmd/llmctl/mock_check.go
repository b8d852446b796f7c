package main

import (
	"context"
	"fmt"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/mock"
)

// exact is how late the 99th percentile of the mock's writes may be. It is a tenth
// of the usual time between tokens.
const exact = time.Millisecond

// runCheck measures the mock server's own accuracy.
func (f *mockFlags) runCheck(ctx context.Context, s *iostreams.IO) error {
	c, err := mock.Check(ctx, &f.server, f.streams, f.duration)
	if err != nil {
		return err
	}
	if c.Server.Late.N() == 0 || c.Gap.N() == 0 {
		return fmt.Errorf("no gap between tokens in %s; a longer --check-duration measures", f.duration)
	}
	_, err = fmt.Fprintf(s.Out, `%d streams, %d answers, %.0f events/s, client and server in one process
%-28s %10s %10s %10s
%s
%s
%s
`, c.Streams, c.Answers, float64(c.Events)/c.Duration.Seconds(), "", "p50", "p99", "max",
		row("writes late by (server)", c.Server.Late), row("TTFT over "+units.Duration(f.server.TTFT), c.TTFT), row("gap off by (either way)", c.Gap))
	if err != nil {
		return err
	}
	if p99, _ := c.Server.Late.Percentile(0.99); p99 > exact {
		return fmt.Errorf("writes are late by %s (p99), more than %s: this machine is too busy, or --check-streams too many", units.Duration(p99), units.Duration(exact))
	}
	return nil
}

func row(name string, l mock.Lateness) string {
	p50, _ := l.Percentile(0.5)
	p99, _ := l.Percentile(0.99)
	return fmt.Sprintf("%-28s %10s %10s %10s", name, units.Duration(p50), units.Duration(p99), units.Duration(l.Max()))
}
