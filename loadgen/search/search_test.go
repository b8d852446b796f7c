package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var options = Options{Start: 1, Min: 0.01, Max: 10000, Tolerance: 0.05, Repeats: 3, MaxRuns: 60, Seed: 1}

// server answers with an attainment that falls from 1 as the load nears its
// capacity, and to 0 beyond it; it is exactly the target at limit.
type server struct {
	limit float64
	n     int // requests per run
	noise float64
	r     *rand.Rand
}

func (s server) run(load float64) Point {
	x := load / s.limit
	attainment := 1 / (1 + math.Exp(12*(math.Log(x)))*0.01/0.99)
	if s.r != nil {
		attainment = binomialShare(min(max(attainment+s.noise*s.r.NormFloat64(), 0), 1), s.n, s.r)
	}
	return Point{Load: load, Attainment: attainment, Target: 0.99, Counted: s.n}
}

// find runs a whole search.
func find(t testing.TB, o Options, run func(float64) Point) (points []Point, last Step) {
	t.Helper()
	for range 1000 {
		step := Next(points, o)
		if step.Done {
			return points, step
		}
		if step.Load < o.Min || step.Load > o.Max || step.Why == "" {
			t.Fatalf("step %+v", step)
		}
		points = append(points, run(step.Load))
	}
	t.Fatal("the search does not end")
	return nil, Step{}
}

func TestFindsTheLimit(t *testing.T) {
	for _, limit := range []float64{0.05, 0.9, 1, 7.3, 1234} {
		points, _ := find(t, options, server{limit: limit, n: 100000}.run)
		got, ok := Find(points, 1)
		if !ok || math.Abs(got.Load/limit-1) > 0.05 || got.Low > limit*1.01 || got.High < limit*0.99 {
			t.Errorf("limit %g: found %+v, %v in %d runs", limit, got, ok, len(points))
		}
		if len(points) > 30 {
			t.Errorf("limit %g: %d runs", limit, len(points))
		}
	}
}

// TestIntervalCovers: of noisy searches, the interval holds the truth about as
// often as it says.
func TestIntervalCovers(t *testing.T) {
	covered, searches := 0, 60
	for seed := range searches {
		s := server{limit: 10, n: 400, r: rand.New(rand.NewPCG(uint64(seed), 1))}
		points, _ := find(t, options, s.run)
		got, ok := Find(points, uint64(seed))
		if ok && got.Low <= 10 && got.High >= 10 {
			covered++
		}
		if ok && (got.Load < 7 || got.Load > 13) {
			t.Errorf("seed %d: found %+v", seed, got)
		}
	}
	if covered < searches*85/100 {
		t.Errorf("%d of %d intervals hold the truth, want about 95 %%", covered, searches)
	}
}

func TestEdges(t *testing.T) {
	never := func(load float64) Point { return Point{Load: load, Attainment: 0.2, Target: 0.99, Counted: 100} }
	always := func(load float64) Point { return Point{Load: load, Attainment: 1, Target: 0.99, Counted: 100} }
	limited := func(load float64) Point {
		p := always(load)
		p.NotOffered = load > 100
		return p
	}
	for _, tt := range []struct {
		name string
		run  func(float64) Point
		ok   bool
		want func(Limit) bool
		why  string
	}{
		{"no load holds", never, false, func(l Limit) bool { return l == Limit{} }, "not even the smallest"},
		{"every load holds", always, true, func(l Limit) bool { return l.AtLeast && l.Load == 10000 && l.Misses == 0 }, "the largest load allowed"},
		{"the client is the limit", limited, true, func(l Limit) bool { return l.NotOffered && l.Holds <= 100 && l.Misses > 100 }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			points, last := find(t, options, tt.run)
			got, ok := Find(points, 1)
			if ok != tt.ok || !tt.want(got) || !strings.Contains(last.Why, tt.why) {
				t.Errorf("%+v, %v; %q", got, ok, last.Why)
			}
		})
	}
}

// TestDisturbedClient: a client that is late now and then changes neither what is
// tried next nor what is found.
func TestDisturbedClient(t *testing.T) {
	s := server{limit: 10, n: 100000}
	calm, _ := find(t, options, s.run)
	n := 0
	points, _ := find(t, options, func(load float64) Point {
		p := s.run(load)
		if n++; n%3 == 0 {
			p.Attainment, p.NotOffered = 0.3, true
		}
		return p
	})
	want, _ := Find(calm, 1)
	got, ok := Find(points, 1)
	if !ok || got.NotOffered || got.Holds != want.Holds || got.Misses != want.Misses {
		t.Errorf("found %+v, want %+v", got, want)
	}
}

// TestWholeLoads: concurrencies end at neighbours, each of them repeated.
func TestWholeLoads(t *testing.T) {
	o := options
	o.Whole, o.Min, o.Max = true, 1, 1000
	points, _ := find(t, o, server{limit: 37.4, n: 1000}.run)
	got, ok := Find(points, 1)
	if !ok || got.Holds < 35 || got.Misses > 39 {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, p := range points {
		if p.Load != math.Trunc(p.Load) {
			t.Errorf("load %g", p.Load)
		}
	}
}

// TestResume: what comes next depends on the points alone, so a search that was
// cut off anywhere goes on as if it had not been.
func TestResume(t *testing.T) {
	s := server{limit: 5, n: 30000}
	whole, _ := find(t, options, s.run)
	for cut := range whole {
		points := slices.Clone(whole[:cut])
		for step := Next(points, options); !step.Done; step = Next(points, options) {
			points = append(points, s.run(step.Load))
		}
		if diff := cmp.Diff(whole, points); diff != "" {
			t.Fatalf("cut after %d (-whole +resumed):\n%s", cut, diff)
		}
	}
}

func TestMostRuns(t *testing.T) {
	o := options
	o.MaxRuns = 4
	points, last := find(t, o, server{limit: 500, n: 100}.run)
	if len(points) != 4 || !strings.Contains(last.Why, "4 runs") {
		t.Errorf("%d points, %q", len(points), last.Why)
	}
}

// TestFitNeverRises: whatever was measured, the fitted margin falls with the
// load, keeps the mean, and is left alone where it already falls.
func TestFitNeverRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Point {
			return Point{Load: float64(rapid.IntRange(1, 6).Draw(t, "load")), Attainment: rapid.Float64Range(0, 1).Draw(t, "share"), Target: 0.9, Counted: 10}
		}), 1, 12).Draw(t, "points")
		ls := levels(points)
		sum, fitted := 0.0, 0.0
		for i, l := range ls {
			if i > 0 && l.fitted > ls[i-1].fitted+1e-12 {
				t.Fatalf("the margin rises: %+v", ls)
			}
			for _, m := range l.margins {
				sum += m
				fitted += l.fitted
			}
		}
		if math.Abs(sum-fitted) > 1e-9 {
			t.Fatalf("the mean moved by %g", sum-fitted)
		}
		if l, ok := Find(points, 3); ok && !(l.Low <= l.Load && l.Load <= l.High) {
			t.Fatalf("%+v", l)
		}
	})
}

func TestOptionsRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no minimum": func(o *Options) { o.Min = 0 }, "upside down": func(o *Options) { o.Max = 0.001 },
		"start outside": func(o *Options) { o.Start = 1e6 }, "no tolerance": func(o *Options) { o.Tolerance = 0 },
		"no repeats": func(o *Options) { o.Repeats = 0 }, "no runs": func(o *Options) { o.MaxRuns = 0 },
	} {
		o := options
		change(&o)
		if o.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := options.Validate(); err != nil {
		t.Error(err)
	}
}

func TestParseSweep(t *testing.T) {
	for in, want := range map[string][]float64{
		"rate=1,2,4/s,0.5":     {0.5, 1, 2, 4},
		"rate=1..64":           {1, 2, 4, 8, 16, 32, 64},
		"rate=1..60":           {1, 2, 4, 8, 16, 32, 60},
		"concurrency=1..256:5": {1, 4, 16, 64, 256},
		"concurrency=8..8":     {8},
		"concurrency=1k,1k":    {1000},
		"rate=1..10:3":         {1, 3.16, 10},
	} {
		got, err := ParseSweep(in)
		if err != nil || !cmp.Equal(got.Loads, want) {
			t.Errorf("%s: %v, %v, want %v", in, got.Loads, err, want)
		}
	}
	for in, want := range map[string]string{
		"rate":               "expected one like",
		"rps=1,2":            "expected one like",
		"rate=":              "rate",
		"rate=1,0":           "out of range",
		"rate=8..1":          "below its start",
		"concurrency=1.5":    "whole number",
		"concurrency=0..4":   "whole number",
		"rate=1..8:1":        "number of loads",
		"rate=1..8:100000":   "number of loads",
		"concurrency=1..8:x": "number of loads",
	} {
		if got, err := ParseSweep(in); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v, want an error with %q", in, got, err, want)
		}
	}
}

func FuzzParseSweep(f *testing.F) {
	for _, s := range []string{"rate=1,2", "rate=1..64", "concurrency=1..256:5", "rate=..", "=", "rate=1e-6..1e6:1000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sweep, err := ParseSweep(s)
		if err != nil {
			return
		}
		if len(sweep.Loads) == 0 || len(sweep.Loads) > maxLoads || !slices.IsSorted(sweep.Loads) || !(sweep.Loads[0] > 0) {
			t.Errorf("%q: %v", s, sweep)
		}
	})
}

func TestKnee(t *testing.T) {
	for _, tt := range []struct {
		name             string
		throughput, time []float64
		at               int
		ok               bool
	}{
		// M/M/1 with service time 1: time 1/(1−ρ), power ρ(1−ρ) is largest at ½.
		{"M/M/1", []float64{.1, .3, .5, .7, .9}, []float64{1 / .9, 1 / .7, 2, 1 / .3, 10}, 2, true},
		{"not reached", []float64{1, 2, 4}, []float64{1, 1, 1}, 2, false},
		{"too few", []float64{1, 2}, []float64{1, 9}, 0, false},
		{"gaps", []float64{1, 2, 4, 4.1}, []float64{1, 0, 1.2, 5}, 2, true},
		{"nothing", nil, nil, -1, false},
	} {
		if at, ok := Knee(tt.throughput, tt.time); at != tt.at || ok != tt.ok {
			t.Errorf("%s: %d, %v, want %d, %v", tt.name, at, ok, tt.at, tt.ok)
		}
	}
}
