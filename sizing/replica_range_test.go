package sizing

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// TestReplicaRange: near the bound of an objective a few percent of a step are
// many replicas.
func TestReplicaRange(t *testing.T) {
	at := func(tpot time.Duration) *Plan {
		return mustCompute(t, scenario(func(r *Request) {
			r.Scenario.Workload.Arrival = rps(200)
			r.Scenario.SLO = []profiles.SLO{{TPOT: tpot, TTFT: 10 * time.Second}}
		}))
	}
	p := at(40 * time.Millisecond)
	f := p.Fleet
	if f.ReplicaRange == nil || f.Low >= f.Replicas || f.High <= f.Replicas {
		t.Fatalf("%d replicas, range %+v", f.Replicas, f.ReplicaRange)
	}
	// A TPOT that the slow end of the interval never reaches.
	if f := at(8 * time.Millisecond).Fleet; f.ReplicaRange == nil || f.High != 0 || f.Low == 0 {
		t.Errorf("%d replicas, range %+v", f.Replicas, f.ReplicaRange)
	}
	if one := mustCompute(t, scenario(nil)); one.Fleet.ReplicaRange != nil {
		t.Errorf("a range %+v of no load", one.Fleet.ReplicaRange)
	}
}

func TestSlowerScalesSteps(t *testing.T) {
	r := newEvents(t, scenario(nil)).replica
	b := cost.Batch{Prefill: []cost.Prefill{{Tokens: 500, Final: true}}, Decode: []cost.Decode{{Sequences: 8, Context: 900}}}
	was := cost.StepTime(r.facts, r.device, r.constants, b).Seconds
	if got := cost.StepTime(r.facts, r.device, slower(r.constants, 1.25), b).Seconds; math.Abs(got/was-1.25) > 1e-12 {
		t.Errorf("%v times as long, want 1.25", got/was)
	}
}

// TestNotMeasured: what nobody measured is told apart, with a wider interval.
func TestNotMeasured(t *testing.T) {
	known := mustCompute(t, scenario(nil))
	other := mustCompute(t, scenario(func(r *Request) { r.Scenario.Accelerator = "mi300x-192gb" }))
	k, o := known.Performance.Error, other.Performance.Error
	if k.Basis != cost.HeldModel || o.Basis != cost.HeldFamily || o.High/o.Low <= k.High/k.Low || o.TTFT.High/o.TTFT.Low <= k.TTFT.High/k.TTFT.Low {
		t.Errorf("known %+v, other %+v", k, o)
	}
	for _, w := range other.Warnings {
		if w.Code == "not-measured" && strings.Contains(w.Text, "mi300x-192gb") {
			return
		}
	}
	t.Errorf("no warning: %v", other.Warnings)
}
