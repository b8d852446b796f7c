package trial

import (
	"context"
	"fmt"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// Until runs a measurement to its end, or until the user interrupts it, and returns
// the exit code: 1, with a line on standard error, when nothing could be measured.
func Until(s *iostreams.IO, measure func(context.Context, *iostreams.IO) error) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.Interrupts():
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := measure(ctx, s); err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 1
	}
	return 0
}
