package sizing

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

const (
	// fewBeyond is the share of requests longer than the window from which a plan
	// says so, mostBeyond the one from which it plans for another workload.
	fewBeyond, mostBeyond = 0.01, 0.5
	unbounded             = math.MaxInt32
)

// beyond is the share of requests of more than n tokens, prompt and output
// together.
func beyond(w profiles.Workload, n float64) float64 {
	outputs := newLengths(w.Output, unbounded)
	share := 0.0
	for _, p := range newLengths(w.Input, unbounded).points() {
		share += p.weight * (1 - outputs.below(n-p.value))
	}
	return min(1, max(0, share))
}

// longestRequest is the length, prompt and output together, that one request of a
// thousand exceeds.
func longestRequest(w profiles.Workload) float64 {
	low, high := 0.0, 2.0*unbounded
	for high-low > 0.5 {
		if middle := (low + high) / 2; beyond(w, middle) > 1e-3 {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Round(high)
}

// checkWindow refuses a workload of which most requests are longer than an engine
// takes: it would plan for another one, cut to the window.
func (s *situation) checkWindow(w profiles.Workload) error {
	n := s.inputs.MaxModelLen
	input, output := newLengths(w.Input, unbounded).mean(), newLengths(w.Output, unbounded).mean()
	share := beyond(w, float64(n))
	switch {
	case s.lenGiven && share > mostBeyond:
		return fmt.Errorf("--max-model-len %d is less than most requests of the workload need: %s tokens on average, and %.0f%% of them are longer", n, units.Number(input+output), share*100)
	case s.lenGiven || share <= mostBeyond && input+output <= float64(n):
		return nil
	case s.sampled != nil:
		return fmt.Errorf("the requests of the workload's sessions are more than the window of %s, %s: %s tokens on average with what was said before, and %.0f%% of them are longer",
			s.model.Name, plural(n, "token"), units.Number(input+output), share*100)
	}
	return fmt.Errorf("--isl %s and --osl %s are more than the window of %s, %s: %s tokens on average, and %.0f%% of the requests are longer",
		w.Input.Words(), w.Output.Words(), s.model.Name, plural(n, "token"), units.Number(input+output), share*100)
}

// warnOfWindow says what part of the workload is cut to the window.
func (s *situation) warnOfWindow() {
	n := s.inputs.MaxModelLen
	if share := beyond(s.workload, float64(n)); share > fewBeyond {
		s.warn("window", "%.1f%% of the requests are longer than max_model_len %d, and the plan has them cut to it: one in a thousand has %s tokens or more; the engine refuses such prompts and ends such outputs early",
			share*100, n, units.Count(int64(longestRequest(s.workload))))
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return units.Count(int64(n)) + " " + what + "s"
}
