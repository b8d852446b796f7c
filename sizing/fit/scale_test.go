package fit

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// onCPU are points of the builtin model on a machine that is slower than the built-in
// constants have it, and slower still with prompts.
func onCPU(t *testing.T, clients ...string) (list []Point, truth cost.Constants) {
	t.Helper()
	text := "model,accelerator,engine,isl,osl,cached,concurrency,tpot_ms,ttft_ms\n"
	for _, n := range clients {
		text += "builtin,cpu,llmctl,576,32,512," + n + ",10,10\n"
	}
	list = points(t, text)
	truth = slower(cost.Pick(cost.Table(), profiles.BundledEngine, profiles.CPU, list[0].Facts), 2.5)
	truth.PromptS += 2e-3
	for i := range list {
		loop := list[i].predict(truth)
		list[i].TPOT, list[i].TTFT = loop.TPOT, loop.TTFT
	}
	return list, truth
}

// One load says how fast a machine is, and other loads follow from it.
func TestOneLoadScalesTheCPU(t *testing.T) {
	list, _ := onCPU(t, "4", "1", "8", "16")
	found, err := Calibrate(context.Background(), list[:1], nil)
	if err != nil {
		t.Fatal(err)
	}
	c := found[0]
	if math.Abs(c.Scaled/2.5-1) > 0.02 || c.Doubt() != nil {
		t.Errorf("scaled by %v, want 2.5; doubt %v", c.Scaled, c.Doubt())
	}
	if c.Entry.Engine != profiles.BundledEngine || c.Entry.Family != profiles.CPU {
		t.Errorf("the entry is for %s on %s", c.Entry.Engine, c.Entry.Family)
	}
	constants := cost.Pick([]cost.Entry{c.Entry}, c.Entry.Engine, c.Entry.Family, list[0].Facts)
	for _, p := range list {
		loop := p.predict(constants)
		if math.Abs(loop.TPOT/p.TPOT-1) > 0.03 || math.Abs(loop.TTFT/p.TTFT-1) > 0.03 {
			t.Errorf("%g clients: TPOT %v and TTFT %v, want %v and %v", p.Load.Concurrency, loop.TPOT, loop.TTFT, p.TPOT, p.TTFT)
		}
	}
}

// Several loads of a CPU are fitted as those of any accelerator.
func TestSeveralLoadsOfTheCPUAreFitted(t *testing.T) {
	list, _ := onCPU(t, "1", "4", "8", "16")
	found, err := Calibrate(context.Background(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := found[0]; c.Scaled != 0 || c.After.Relative > 0.1 {
		t.Errorf("scaled by %v, off by %v on loads that were held out", c.Scaled, c.After.Relative)
	}
}

// One load of an accelerator with a datasheet is refused.
func TestOneLoadDoesNotScaleAGPU(t *testing.T) {
	list := synthetic(t, func(c *cost.Constants) { *c = slower(*c, 2) })
	if _, err := Calibrate(context.Background(), list[:1], nil); err == nil || !strings.Contains(err.Error(), "can not determine") {
		t.Errorf("error %v", err)
	}
}
