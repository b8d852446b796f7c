package reports

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/search"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

func known(v float64) *float64 { return &v }

// curvePoint is a run of 500 requests at a load.
func curvePoint(load, attainment, goodput, seconds float64) CurvePoint {
	return CurvePoint{
		Load: load, Requests: 500, OK: 500, CompletedRPS: known(min(load, 9)), OutputTokensPerS: known(100 * min(load, 9)),
		OfferedRPS: known(load), TTFT: &stats.Dist{N: 500, P50: seconds / 20, P99: seconds / 10}, TPOT: &stats.Dist{N: 500, P50: 0.01, P99: 0.02},
		E2E: &stats.Dist{N: 500, Mean: seconds, P50: seconds, P99: 2 * seconds}, Attainment: known(attainment), TargetShare: 0.99, Counted: 500,
		Holds: attainment >= 0.99, GoodputRPS: known(goodput), Trusted: true, Verdict: "held",
	}
}

func limitCurve() *Curve {
	c := &Curve{Schema: CurveSchema, Kind: LimitCurve, Axis: search.Rate, Asked: "chat, poisson, 30 s for each load", Target: record.Target{Model: "m"},
		Ended: "the interval is tight enough", Warnings: []record.Warning{}}
	for _, p := range []CurvePoint{
		curvePoint(8, 0.995, 7.9, 2.2), curvePoint(1, 1, 1, 1), curvePoint(16, 0.2, 2, 30), curvePoint(2, 1, 2, 1.1), curvePoint(4, 0.999, 4, 1.3),
		curvePoint(8, 0.992, 7.9, 2.3), curvePoint(9, 0.985, 8.7, 3), curvePoint(9, 0.98, 8.6, 3.1),
	} {
		c.Add(p, 1)
	}
	return c
}

func TestCurve(t *testing.T) {
	c := limitCurve()
	var loads []float64
	for _, p := range c.Points {
		loads = append(loads, p.Load)
	}
	if diff := cmp.Diff([]float64{1, 2, 4, 8, 8, 9, 9, 16}, loads); diff != "" {
		t.Error(diff)
	}
	if c.Knee == nil || *c.Knee != 8 {
		t.Errorf("knee %v", c.Knee)
	}
	l := c.Limit
	if l == nil || l.Holds != 8 || *l.Misses != 9 || !(l.Low >= 4 && l.Low <= l.Load && l.Load <= l.High && l.High <= 16) || l.Load < 8 || l.Load > 9 {
		t.Errorf("limit %+v", l)
	}
	doc, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseCurve(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Error(diff)
	}
}

func TestCurveText(t *testing.T) {
	sweep := &Curve{Schema: CurveSchema, Kind: SweepCurve, Axis: search.Concurrency, Asked: "chat, closed loop, 30 s for each load",
		Warnings: []record.Warning{{Code: "window", Text: "requests reach 9,000 tokens"}}}
	for _, p := range []CurvePoint{curvePoint(1, 1, 1, 1), curvePoint(4, 1, 4, 1), {Load: 64, Verdict: "client-limited", ClientLimited: true, TargetShare: 0.99},
		{Load: 128, Verdict: "nothing measured", TargetShare: 0.99}} {
		sweep.Add(p, 1)
	}
	none := &Curve{Schema: CurveSchema, Kind: LimitCurve, Axis: search.Rate, Asked: "chat", Interrupted: true}
	none.Add(curvePoint(0.5, 0.3, 0.1, 9), 1)
	for name, c := range map[string]*Curve{"curve_limit": limitCurve(), "curve_sweep": sweep, "curve_none": none, "curve_empty": {Kind: SweepCurve, Axis: search.Rate}} {
		var b bytes.Buffer
		if err := WriteCurveText(&b, c, TextOptions{Width: 80}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		golden(t, name+".txt", b.String())
	}
	var md bytes.Buffer
	if err := WriteCurveMarkdown(&md, limitCurve()); err != nil {
		t.Fatal(err)
	}
	golden(t, "curve.md", md.String())
}

func TestCurveCSV(t *testing.T) {
	var b bytes.Buffer
	c := limitCurve()
	c.Add(CurvePoint{Load: 32, Verdict: "nothing measured", TargetShare: 0.99}, 1)
	if err := CurveTable(c).WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 10 || rows[1][0] != "1" || rows[9][5] != "" {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestParseCurveRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "x", "another schema": `{"schema":"llmctl/run/v1"}`, "no load": `{"schema":"llmctl/curve/v1","points":[{"load":0}]}`,
		"out of order": `{"schema":"llmctl/curve/v1","points":[{"load":2},{"load":1}]}`,
	} {
		if c, err := ParseCurve([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", name, c)
		}
	}
}

// TestWorstObjective: of several objectives the one that is missed the most
// decides, and a run that the client limited holds nothing.
func TestWorstObjective(t *testing.T) {
	r := &Report{SLO: &SLO{Counted: 10, Objectives: []Objective{{Target: 0.5, Attainment: known(0.6)}, {Class: "batch", Target: 0.99, Attainment: known(0.95)},
		{Class: "none", Target: 0.99}}}}
	p := NewCurvePoint(3, "", r)
	if *p.Attainment != 0.95 || p.TargetShare != 0.99 || p.Holds {
		t.Errorf("%+v", p)
	}
	r.SLO.Objectives[1].Attainment = known(1)
	if p = NewCurvePoint(3, "", r); !p.Holds || *p.Attainment != 1 {
		t.Errorf("%+v", p)
	}
	r.Client.Limited = true
	if p = NewCurvePoint(3, "", r); p.Holds || !p.SearchPoint().NotOffered {
		t.Errorf("%+v", p)
	}
}
