package study

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

// tooManyRefused is the share of a workload's requests that no replica takes from
// which there is nothing to simulate but refusals. Asked for it are sampledSessions
// sessions, of long ones as many as have sampledRequests, but at least longSessions.
const (
	tooManyRefused  = 0.5
	sampledSessions = 1000
	sampledRequests = 50_000
	longSessions    = 20
)

// checkRequests refuses a scenario in which most requests of a workload have
// prompts that no replica takes. Single ones fail as the engine would have them.
func (s *Study) checkRequests() error {
	window := 0
	for _, p := range s.pools {
		k := &p.Kind
		if k.Role != "decode" {
			window = max(window, min(k.Sched.MaxModelLen, k.Blocks*k.BlockSize))
		}
	}
	r := s.request.Sizing
	reasons, err := refused(r.Scenario.Workload, workload.Options{Recorded: r.Recorded}, window)
	if err != nil {
		return err
	}
	for i, w := range r.Scenario.Also {
		o := workload.Options{}
		if i < len(s.request.Also) {
			o.Recorded = s.request.Also[i]
		}
		if w.Trace.File != "" && len(o.Recorded) == 0 {
			continue // whose sessions are not at hand here
		}
		more, err := refused(w, o, window)
		if err != nil {
			return fmt.Errorf("also, workload %d: %w", i+1, err)
		}
		reasons = append(reasons, more...)
	}
	if len(reasons) > 0 {
		return &CannotServe{reasons}
	}
	return nil
}

// checkChunks refuses steps without chunks that do not take the longest prompt
// whole.
func (s *Study) checkChunks() error {
	for _, p := range s.pools {
		k := p.Kind.Sched
		if k.DisableChunkedPrefill && p.Kind.Serving.Batching != "static" && k.MaxNumBatchedTokens < k.MaxModelLen {
			of := ""
			if p.Name != "" {
				of = "pool " + p.Name + ": "
			}
			return fmt.Errorf("%s--max-num-batched-tokens %d is less than --max-model-len %d, and with --chunked-prefill off long prompts could never run: raise the one, lower the other, or leave chunks on",
				of, k.MaxNumBatchedTokens, k.MaxModelLen)
		}
	}
	return nil
}

// refused says why most requests of a workload can not run; nil when they can.
func refused(w profiles.Workload, o workload.Options, window int) ([]string, error) {
	sessions := max(longSessions, min(sampledSessions, int(sampledRequests/w.Session.MeanTurns())))
	totals, err := workload.Effective(w, o, sessions)
	if err != nil {
		return nil, err
	}
	long := 0
	for _, prompt := range totals.Input {
		if prompt >= window {
			long++
		}
	}
	share := float64(long) / float64(max(1, len(totals.Input)))
	if share <= tooManyRefused {
		return nil, nil
	}
	return []string{fmt.Sprintf("%.0f%% of the prompts of workload %s leave no room for an answer in the %s tokens that a replica takes of one request",
		share*100, w.Name, units.Count(int64(window)))}, nil
}
