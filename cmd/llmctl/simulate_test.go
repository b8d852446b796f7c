package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/profiles"
)

func TestVariants(t *testing.T) {
	f := variantFlags{texts: []string{"replicas=2,3", "slo=ttft=1s,tpot=50ms|e2e=9s"}}
	if err := f.parse(&curveFlags{}, nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	sc := profiles.Scenario{SLO: []profiles.SLO{{TTFT: 1}}}
	err := f.each(sc, func(name string, varied profiles.Scenario) error {
		names = append(names, name)
		if len(varied.SLO) != 1 || varied.Cluster.Replicas == 0 {
			t.Errorf("%s: %+v", name, varied)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"2 ttft=1s,tpot=50ms", "2 e2e=9s", "3 ttft=1s,tpot=50ms", "3 e2e=9s"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if sc.SLO[0].TTFT != 1 || sc.Cluster.Replicas != 0 {
		t.Errorf("the scenario itself was changed: %+v", sc)
	}
}

// TestSweepOfASetting: a sweep that is not of a load is one of a setting, and
// leaves none of a load behind.
func TestSweepOfASetting(t *testing.T) {
	for text, want := range map[string][]string{
		"replicas=1..8": {"1", "2", "4", "8"}, "block_size=16,4,256": {"4", "16", "256"}, "gpu-memory-utilization=0.5,0.9": {"0.5", "0.9"},
	} {
		curve := curveFlags{sweepText: text}
		var f variantFlags
		if err := f.parse(&curve, nil); err != nil {
			t.Fatal(err)
		}
		if curve.wanted() || !f.wanted() || !cmp.Equal(f.axes[0].values, want) {
			t.Errorf("%s: %v, sweep %q", text, f.axes, curve.sweepText)
		}
	}
	curve := curveFlags{sweepText: "rate=1,2"}
	var f variantFlags
	if err := f.parse(&curve, nil); err != nil || f.wanted() || !curve.wanted() {
		t.Errorf("a sweep of a rate: %v, %v", f.axes, err)
	}
}

func FuzzVariants(f *testing.F) {
	for _, s := range []string{"replicas=1,2", "router=round_robin|prefix_affinity:load_cap=1.5", "=", "replicas=", "slo=a,,b", "tp=1..8:3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, curve := range []curveFlags{{}, {sweepText: text}} {
			v := variantFlags{texts: []string{text}}
			if err := v.parse(&curve, nil); err != nil {
				if strings.Contains(err.Error(), "\n") && !strings.Contains(text, "\n") {
					t.Errorf("%q: an error of several lines: %v", text, err)
				}
				continue
			}
			for _, a := range v.axes {
				if len(a.values) < 2 {
					t.Errorf("%q: %v", text, a.values)
				}
			}
		}
	})
}
