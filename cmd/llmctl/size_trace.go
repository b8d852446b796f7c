package main

import (
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/loadgen/workload/trace"
	"github.com/llmctl/llmctl/profiles"
)

// recordedSessions are those of a workload's trace, nil when it has none. What
// was skipped and assumed goes to standard error.
func recordedSessions(s *iostreams.IO, w profiles.Workload) ([]workload.Session, error) {
	if w.Trace.File == "" {
		return nil, nil
	}
	sessions, report, err := trace.Load(w.Trace.File, trace.Options{Format: w.Trace.Format})
	if report != nil {
		tell(s, report)
	}
	return sessions, err
}
