package accuracy

import (
	"strings"
	"testing"

	plan "github.com/llmctl/llmctl/sizing/accuracy"
)

// Every runnable row with a load of its own is measured in a known way.
func TestEveryLoadHasAMethod(t *testing.T) {
	d, err := plan.Open("")
	if err != nil {
		t.Fatal(err)
	}
	runs, left, err := plan.Runs(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		if !strings.Contains(l.Reason, "more than the window") {
			t.Errorf("row %s is refused: %s", l.ID, l.Reason)
		}
	}
	groups := map[string]int{}
	for _, r := range runs {
		m, ok := methodOf(r)
		if !ok && r.Kind != "offline max throughput" && r.Kind != "batch" {
			t.Errorf("row %s: nothing is known of %q", r.ID, r.Kind)
		}
		groups[m.group]++
	}
	for _, m := range methods {
		if groups[m.group] == 0 {
			t.Errorf("no row was measured as in %q", m.group)
		}
	}
}

// The NIM page's curve has its knee between 50 and 100 clients, where the running set
// is full: throughput hardly grows while the time to first token explodes. The
// simulated knee is at most one step of the grid away.
func TestKnee(t *testing.T) {
	d, err := plan.Open("")
	if err != nil {
		t.Fatal(err)
	}
	runs, _, err := plan.Runs(d)
	if err != nil {
		t.Fatal(err)
	}
	var c Compared
	for _, r := range runs {
		if m, _ := methodOf(r); m.group == genAIPerf.group && r.Measured["output_tok_s"] > 500 {
			c.Figures = append(c.Figures, compare(t.Context(), r, nil).figures...)
		}
	}
	curves := c.Curves()
	if len(curves) != 1 {
		t.Fatalf("%d curves, want 1: %v", len(curves), c.Figures)
	}
	measured, simulated := curves[0].Knees()
	if measured < 0 || simulated < 0 || max(measured-simulated, simulated-measured) > 1 {
		t.Errorf("the knee is at %d, simulated at %d: %+v", measured, simulated, curves[0].Points)
	}
}

func TestKneeOfACurve(t *testing.T) {
	at := func(load, throughput float64) CurvePoint {
		return CurvePoint{Load: load, Measured: Pair{throughput, 1}, Simulated: Pair{load, 1}}
	}
	c := Curve{Points: []CurvePoint{at(10, 100), at(20, 190), at(40, 200), at(80, 201)}}
	if measured, simulated := c.Knees(); measured != 1 || simulated != -1 {
		t.Errorf("knees at %d and %d, want 1 and −1 (none)", measured, simulated)
	}
}

// Traces are simulated at all: the overload of the RTX 4090 answers about a sixth of
// what is asked for, and the first tokens wait for a minute.
func TestOverload(t *testing.T) {
	d, err := plan.Open("")
	if err != nil {
		t.Fatal(err)
	}
	runs, _, err := plan.Runs(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.ID != "130" {
			continue
		}
		got := compare(t.Context(), r, nil)
		if got.left != "" {
			t.Fatal(got.left)
		}
		for _, f := range got.figures {
			t.Logf("%s: %.4g, measured %.4g", f.Column, f.Simulated, f.Measured)
			if metric(f.Column) == "ttft" && f.Error() > 0.3 {
				t.Errorf("mean time to first token %.0f ms, measured %.0f", f.Simulated, f.Measured)
			}
		}
		return
	}
	t.Fatal("the data has no row 130")
}

// With four and with fifteen times as many clients as the cache has room for, the
// throughput stays what it is when the cache is full: about 3,000 tokens/s.
func TestSaturation(t *testing.T) {
	figures, err := Saturation(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		t.Logf("%g clients: %.0f tokens/s, measured %.0f", f.Load, f.Simulated, f.Measured)
		if f.Error() > saturationBar {
			t.Errorf("%g clients: %.0f tokens/s, measured %.0f", f.Load, f.Simulated, f.Measured)
		}
	}
}
