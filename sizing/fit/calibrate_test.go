package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/sizing"
	"github.com/llmctl/llmctl/sizing/cost"
)

// table is a CSV of points of Llama 3.1 8B on an H100.
func table(lines ...string) string {
	return "model,accelerator,engine,tp,isl,osl,concurrency,tpot_ms\n" + strings.Join(lines, "\n") + "\n"
}

func points(t *testing.T, text string) []Point {
	t.Helper()
	rows, err := ReadRows(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var list []Point
	for _, r := range rows {
		p, err := r.Point(r.Text("model"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// synthetic are points that a server with other constants than the built-in ones
// would give.
func synthetic(t *testing.T, change func(*cost.Constants)) []Point {
	t.Helper()
	var lines []string
	for _, tp := range []int{1, 2, 4} {
		for _, clients := range []int{1, 8, 64, 256} {
			lines = append(lines, fmt.Sprintf("llama-3.1-8b,h100-sxm-80gb,vllm,%d,1024,512,%d,10", tp, clients))
		}
	}
	list := points(t, table(lines...))
	c := cost.Pick(cost.Table(), "vllm", "hopper", list[0].Facts)
	change(&c)
	for i := range list {
		list[i].TPOT = list[i].predict(c).TPOT
	}
	return list
}

// TestCalibrateRecovers measures a server whose layers cost twice as much and
// whose memory is a fifth slower, and finds both.
func TestCalibrateRecovers(t *testing.T) {
	var truth cost.Constants
	list := synthetic(t, func(c *cost.Constants) {
		c.LayerS *= 2
		c.MemoryFactor *= 1.2
		truth = *c
	})
	calls := 0
	found, err := Calibrate(context.Background(), list, func(int, int) { calls++ })
	if err != nil {
		t.Fatal(err)
	}
	c := found[0]
	if len(found) != 1 || c.Points != len(list) || calls != 4 {
		t.Fatalf("%d calibrations of %d points, %d calls", len(found), c.Points, calls)
	}
	if c.Before.Relative < 0.15 || c.After.Relative > 0.03 {
		t.Errorf("median error %v before, %v after", c.Before.Relative, c.After.Relative)
	}
	want := truth.Vector()
	for i, term := range c.Terms {
		switch term.Name {
		case "memory_factor", "layer_us":
			if math.Abs(term.Fitted/want[i]-1) > 0.25 {
				t.Errorf("%s %v, want %v", term.Name, term.Fitted, want[i])
			}
		case "expert_layer_us", "expert_memory_factor", "latent_layer_us":
			if term.Determined || math.Abs(term.Fitted/term.Prior-1) > 1e-6 {
				t.Errorf("a dense model moved %s from %v to %v", term.Name, term.Prior, term.Fitted)
			}
		}
	}
	// The entry takes the place of the built-in one.
	again := cost.Pick(append([]cost.Entry{c.Entry}, cost.Table()...), "vllm", "hopper", list[0].Facts)
	for i := range list {
		if r := list[i].Ratio(again); math.Abs(r-1) > 0.05 {
			t.Errorf("%s: ratio %v with the calibration", list[i].ID, r)
		}
	}
}

// TestCalibrateKeepsWhatPromptsTell: times per token at one length leave what
// only prompts determine, and the interval of TTFT, where they were.
func TestCalibrateKeepsWhatPromptsTell(t *testing.T) {
	change := func(c *cost.Constants) {
		c.ComputeFactor *= 1.5
		c.LayerS *= 1.5
		c.RequestS *= 2
	}
	list := synthetic(t, change)
	prior := cost.Pick(cost.Table(), "vllm", "hopper", list[0].Facts)
	for _, first := range []bool{false, true} {
		truth := prior
		change(&truth)
		for i := range list {
			list[i].TTFT = 0
			if first {
				list[i].TTFT = list[i].predict(truth).TTFT
			}
		}
		found, err := Calibrate(context.Background(), list, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range found[0].Terms {
			only := slices.Contains(promptTerms, term.Name)
			if moved := math.Abs(term.Fitted/term.Prior-1) > 1e-6; only && !first && moved || term.Kept != (only && !first) {
				t.Errorf("with TTFT %v: %+v", first, term)
			}
			if term.Name == "request_us" && first && math.Abs(term.Fitted/term.Prior/2-1) > 0.3 {
				t.Errorf("request_us %v of %v, want twice", term.Fitted, term.Prior)
			}
		}
		after := found[0].After.First
		if first && (after.Basis != cost.HeldLoad || after.Relative > 0.1) || !first && after != prior.Error.First {
			t.Errorf("with TTFT %v: %+v, prior %+v", first, after, prior.Error.First)
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	line := func(clients int) string {
		return fmt.Sprintf("llama-3.1-8b,h100-sxm-80gb,vllm,1,1024,512,%d,10", clients)
	}
	for _, tc := range []struct{ name, text, want string }{
		{"too few points", table(line(1), line(8), line(64)), "at least 4"},
		{"one load", table(line(8), line(8), line(8), line(8)), "all 4 points are at one load"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Calibrate(context.Background(), points(t, tc.text), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Calibrate(ctx, synthetic(t, func(*cost.Constants) {}), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestRepeatsCountOnce: runs of one configuration are one point, and yet each is
// compared.
func TestRepeatsCountOnce(t *testing.T) {
	line := func(clients int, tpot float64) string {
		return fmt.Sprintf("llama-3.1-8b,h100-sxm-80gb,vllm,1,1024,512,%d,%g", clients, tpot)
	}
	list := points(t, table(line(8, 10), line(64, 30), line(8, 12), line(8, 90)))
	unique, of := merged(list)
	if len(unique) != 2 || unique[0].TPOT != 0.012 || unique[0].count != 3 || unique[1].TPOT != 0.03 || unique[1].count != 1 {
		t.Errorf("%+v", unique)
	}
	if diff := gocmp.Diff([]int{0, 1, 0, 0}, of); diff != "" {
		t.Error(diff)
	}
	if o := newObjective(around(cost.Constants{}), unique); o.weights[0] != 3 || o.weights[1] != 1 {
		t.Errorf("weights %v", o.weights)
	}
}

// TestReaderBoundsConfigurations: what a fit costs is bounded by the cells.
func TestReaderBoundsConfigurations(t *testing.T) {
	rows, err := ReadRows(strings.NewReader(table("llama-3.1-8b,h100-sxm-80gb,vllm,1,1024,512,8,10", "llama-3.1-8b,h100-sxm-80gb,vllm,1,1025,512,8,10")))
	if err != nil {
		t.Fatal(err)
	}
	d := Reader{known: map[string]sizing.TimeModel{}}
	for i := range maxConfigurations - 1 {
		d.known[fmt.Sprint(i)] = sizing.TimeModel{}
	}
	for range 2 {
		if p, err := d.Point(rows[0]); err != nil || p.TPOT != 0.01 {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if _, err := d.Point(rows[1]); err == nil || !strings.Contains(err.Error(), "line 3: the points are of more than 1000 configurations") {
		t.Error(err)
	}
}

func TestDoubt(t *testing.T) {
	for _, tc := range []struct {
		before, after float64
		want          string
	}{{0.2, 0.1, ""}, {0.99, 0.6, "do not agree with each other: predicted from the others, they are 60.0% off"}, {0.1, 0.2, "by the built-in constants 10.0%"}} {
		c := Calibration{
			Before: cost.Error{Spread: cost.Spread{Relative: tc.before}},
			After:  cost.Error{Spread: cost.Spread{Relative: tc.after}},
		}
		if err := c.Doubt(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v after %v: %v, want %q", tc.after, tc.before, err, tc.want)
		}
	}
}

func TestRowsAreRefused(t *testing.T) {
	const good = "llama-3.1-8b,h100-sxm-80gb,vllm,1,1024,512,8,10"
	for _, tc := range []struct{ name, old, replacement, want string }{
		{"no model", "llama-3.1-8b", "", "line 2: model is missing"},
		{"unknown model", "llama-3.1-8b", "lama-3.1-8b", "did you mean"},
		{"unknown device", "h100-sxm-80gb", "h100-sxm", "unknown accelerator"},
		{"text for a number", ",8,", ",eight,", `line 2: concurrency "eight"`},
		{"no time", ",8,10", ",8,", "line 2: tpot_ms is missing"},
		{"no time at all", ",8,10", ",8,0", `line 2: tpot_ms "0"`},
		{"half a rank", ",1,1024", ",1.5,1024", `tp "1.5"`},
		{"another unit", ",8,10", ",8,1e9", `line 2: tpot_ms "1e9" is not a number from 0.05 to 60000`},
		{"too fast", ",8,10", ",8,0.01", `line 2: tpot_ms "0.01"`},
		{"no load", ",8,", ",,", "line 2: concurrency is missing"},
		{"what does not fit", "llama-3.1-8b", "llama-3.1-405b", "does not fit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows, err := ReadRows(strings.NewReader(table(strings.Replace(good, tc.old, tc.replacement, 1))))
			if err != nil {
				t.Fatal(err)
			}
			if p, err := rows[0].Point(rows[0].Text("model")); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, %v, want %q", p, err, tc.want)
			}
		})
	}
	if p := points(t, table(good)); p[0].TPOT != 0.01 || p[0].Load.Concurrency != 8 || p[0].Facts.Layers != 32 {
		t.Errorf("%+v", p[0])
	}
	if _, err := ReadRows(strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "header") {
		t.Errorf("an empty file: %v", err)
	}
}

// TestOpenLoad: a known rate of answers is the closed load of as many clients as
// are in flight, and an overload takes all slots.
func TestOpenLoad(t *testing.T) {
	const header = "model,accelerator,engine,isl,osl,max_num_seqs,load_kind,load_value,request_rate,tpot_ms\n"
	p := points(t, header+"llama-3.1-8b,h100-sxm-80gb,vllm,1024,256,64,open,4,4,10\nllama-3.1-8b,h100-sxm-80gb,vllm,1024,256,64,open,40,20,10\n")
	c := cost.Pick(cost.Table(), "vllm", "hopper", p[0].Facts)
	load := p[0].Load
	load.Concurrency = 4 * 256 * p[0].predict(c).TPOT // without the first token's time
	if near := cost.ClosedLoop(p[0].Facts, p[0].Device, c, load).TPOT; p[0].Rate != 4 || math.Abs(p[0].predict(c).TPOT/near-1) > 0.03 {
		t.Errorf("rate %v: %v, the closed loop %v", p[0].Rate, p[0].predict(c).TPOT, near)
	}
	if p[1].Rate != 0 || p[1].Load.Concurrency != 64 {
		t.Errorf("an overload: rate %v, %v clients", p[1].Rate, p[1].Load.Concurrency)
	}
}

func TestColumnsAreOnce(t *testing.T) {
	if _, err := ReadRows(strings.NewReader("model,TP, tp \n")); err == nil || !strings.Contains(err.Error(), `line 1: column "tp" is there twice`) {
		t.Error(err)
	}
	if rows, err := ReadRows(strings.NewReader("model,,\nx,,\n")); err != nil || len(rows) != 1 {
		t.Errorf("columns without a name: %v, %v", rows, err)
	}
	if _, err := Calibrate(context.Background(), nil, nil); !errors.Is(err, ErrNoPoints) {
		t.Errorf("no points: %v", err)
	}
}

func FuzzReadRows(f *testing.F) {
	f.Add(table("llama-3.1-8b,h100-sxm-80gb,vllm,1,1024,512,8,10"))
	f.Add("model_key,accelerator_key,engine_key,load_kind,load_value,isl,osl,tpot_ms_mean\nbuiltin,h100-sxm-80gb,vllm@?,concurrency,1,2,2,1e3\n")
	f.Add("\ufeffmodel,\"a\nb\"\n,")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ReadRows(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, r := range rows {
			p, err := r.Point("builtin")
			if err == nil && !(p.TPOT > 0 && p.Load.Input > 0) {
				t.Errorf("accepted %+v", p)
			}
		}
	})
}
