package main

import (
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

// recordedSessions are those of a workload's trace, nil when it has none. What
// was skipped and assumed goes to standard error.
func recordedSessions(s *iostreams.IO, f *traceFlags, w profiles.Workload) ([]workload.Session, error) {
	if w.Trace.File == "" {
		return nil, nil
	}
	sessions, report, err := f.load(w)
	if report != nil {
		tell(s, report)
	}
	return sessions, err
}
