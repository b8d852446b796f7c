package reports

import (
	"strings"
	"testing"

	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/fit"
)

func TestWriteCalibrationWarnsWhenItDoesNotHelp(t *testing.T) {
	c := fit.Calibration{
		Entry:  cost.Entry{Engine: "vllm", Family: "hopper", MoE: true},
		Points: 5, Before: cost.Error{Spread: cost.Spread{Relative: 0.05, Low: 0.9, High: 1.1}}, After: cost.Error{Spread: cost.Spread{Relative: 0.2, Low: 0.7, High: 1.4}},
		Terms: []fit.Term{{Name: "compute_factor", Prior: 2, Fitted: 2, Kept: true}, {Name: "layer_us", Prior: 35, Fitted: 40, Known: 0.7, Determined: true}, {Name: "memory_factor", Prior: 1.12, Fitted: 0.353, Known: 0.2}, {Name: "link_factor", Prior: 1.5, Fitted: 1.5}},
	}
	write := func() string {
		var b strings.Builder
		if err := WriteCalibration(&b, []fit.Calibration{c, c}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const warning = "do not predict each other better"
	text := write()
	for _, want := range []string{"vllm on hopper, mixtures of experts: 5 points", warning, "20.0%", "determined", "moved, but not determined alone", "as built in: only prompts tell", "No point has a time to first token", "memory_factor 0.353 is below 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	c.After.Relative = 0.01
	if strings.Contains(write(), warning) {
		t.Error("warned although the points predict each other")
	}
}
