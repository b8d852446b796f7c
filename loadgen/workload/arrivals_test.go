package workload_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	vegeta "github.com/tsenart/vegeta/v12/lib"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// process is a named arrival process.
type process struct {
	name    string
	arrival profiles.Arrival
}

var curve = &profiles.Curve{Steps: []profiles.Step{{RatePerS: 20, For: 3 * time.Second}, {For: 2 * time.Second}, {RatePerS: 500, For: time.Second}, {RatePerS: 5, For: time.Minute}}}

// open are all processes of an open loop.
var open = []process{
	{"constant", profiles.Arrival{Process: profiles.Constant, RatePerS: 70}},
	{"poisson", profiles.Arrival{Process: profiles.Poisson, RatePerS: 70}},
	{"bursty gamma", profiles.Arrival{Process: profiles.Gamma, RatePerS: 70, CV: 3}},
	{"smooth gamma", profiles.Arrival{Process: profiles.Gamma, RatePerS: 70, CV: 0.2}},
	{"ramp", profiles.Arrival{Process: profiles.Ramp, FromPerS: 1, ToPerS: 120, Over: 20 * time.Second}},
	{"ramp down, Poisson", profiles.Arrival{Process: profiles.Ramp, FromPerS: 120, ToPerS: 3, Over: 20 * time.Second, CV: 1}},
	{"steps", profiles.Arrival{Process: profiles.Steps, Curve: curve}},
	{"steps, gamma", profiles.Arrival{Process: profiles.Steps, Curve: curve, CV: 0.5}},
	{"sine", profiles.Arrival{Process: profiles.Sine, RatePerS: 70, AmplitudePerS: 60, Period: 8 * time.Second}},
	{"sine down to 0, Poisson", profiles.Arrival{Process: profiles.Sine, RatePerS: 70, AmplitudePerS: 70, Period: 8 * time.Second, CV: 1}},
	{"trace", profiles.Arrival{Process: profiles.TraceArrival, Speed: 3}},
}

// arriving is a stream of short requests under a process; a trace has 6,000
// sessions.
func arriving(t testing.TB, a profiles.Arrival, o workload.Options) *workload.Stream {
	t.Helper()
	w := profiles.Workload{Arrival: a, Input: fixed(10), Output: fixed(10)}
	if a.Process == profiles.TraceArrival && o.Recorded == nil {
		for i := range 6000 {
			o.Recorded = append(o.Recorded, workload.Session{
				Offset: time.Hour + time.Duration(i*i)*time.Microsecond,
				Turns:  []workload.Turn{{Group: workload.NoGroup, Input: 10 + i, Output: 5}},
			})
		}
	}
	return stream(t, w, o)
}

func fixed(mean float64) profiles.Distribution {
	return profiles.Distribution{Kind: profiles.Fixed, Mean: mean}
}

// TestOffsetAnyOrder asks for offsets of every process out of order.
func TestOffsetAnyOrder(t *testing.T) {
	for _, p := range open {
		t.Run(p.name, func(t *testing.T) {
			ordered := arriving(t, p.arrival, workload.Options{Seed: 3})
			var want []time.Duration
			for i := range int64(5000) {
				want = append(want, ordered.Offset(i))
			}
			if !slices.IsSorted(want) || want[0] < 0 {
				t.Fatal("offsets decrease")
			}
			rapid.Check(t, func(r *rapid.T) {
				s := arriving(t, p.arrival, workload.Options{Seed: 3})
				for _, i := range rapid.SliceOfN(rapid.Int64Range(0, 4999), 1, 10).Draw(r, "indexes") {
					if s.Offset(i) != want[i] {
						r.Fatalf("offset %d is %v, in order it is %v", i, s.Offset(i), want[i])
					}
				}
			})
		})
	}
}

// TestGoldenOffsets pins every nanosecond of every process, on every machine:
// it also holds with GOAMD64=v3, where the compiler fuses.
func TestGoldenOffsets(t *testing.T) {
	golden := map[string]uint64{
		"constant":                0x2420e0ec999027a,
		"poisson":                 0xa08798bf9c65dc93,
		"bursty gamma":            0xbed8834e0ecbb57,
		"smooth gamma":            0x10bf30652b4db0b2,
		"ramp":                    0x80a0eb38c1b2f7ed,
		"ramp down, Poisson":      0xd19456a1931adc68,
		"steps":                   0x5d598b19b8a3783b,
		"steps, gamma":            0x2964526c41c7998f,
		"sine":                    0xa04376b42edfdd26,
		"sine down to 0, Poisson": 0x4a143458a3b509e8,
		"trace":                   0xa6c53c23803b17e0,
	}
	for _, p := range open {
		h := fnv.New64a()
		s := arriving(t, p.arrival, workload.Options{Seed: 11})
		for i := range int64(5000) {
			fmt.Fprintln(h, int64(s.Offset(i)))
		}
		if got := h.Sum64(); got != golden[p.name] {
			t.Errorf("%s: hash of the offsets %#x, want %#x", p.name, got, golden[p.name])
		}
	}
}

// TestRateIsTheCount integrates the rate of the pacer and compares it with how
// many sessions are due.
func TestRateIsTheCount(t *testing.T) {
	const ends = 40 * time.Second
	for _, p := range open {
		if p.arrival.Process == profiles.TraceArrival {
			continue // the rate is that of the whole recording
		}
		t.Run(p.name, func(t *testing.T) {
			s := arriving(t, p.arrival, workload.Options{Seed: 2})
			rate, area := s.Pacer(), 0.0
			const step = time.Millisecond
			for at := time.Duration(0); at < ends; at += step {
				area += rate.Rate(at+step/2) * step.Seconds()
			}
			n := 0.0
			for s.Offset(int64(n)) < ends {
				n++
			}
			// The count of a renewal process has a standard deviation of about
			// cv·√n; even gaps have none.
			cv := p.arrival.CV
			if p.arrival.Process == profiles.Poisson {
				cv = 1
			}
			if allowed := 1 + 4*cv*math.Sqrt(area); math.Abs(n-area) > allowed {
				t.Errorf("%v sessions in %v, the rate amounts to %.2f", n, ends, area)
			}
		})
	}
}

// moments are when vegeta's pacer lets its hits go. It is asked again after half
// of the time that it says to wait, because a linear one looks ahead along the
// rate of the moment.
func moments(p vegeta.Pacer, n uint64) []time.Duration {
	var out []time.Duration
	elapsed := time.Duration(0)
	for hits := range n {
		for range 100 {
			wait, _ := p.Pace(elapsed, hits)
			if wait <= 0 {
				break
			}
			elapsed += (wait + 1) / 2
		}
		out = append(out, elapsed)
	}
	return out
}

// TestAgainstVegeta compares with vegeta's pacers. Their hit k is due when k+1
// are, where ours begin at once, so that it is our session k+1; but for the
// first hit of a linear pacer, which is due at once.
func TestAgainstVegeta(t *testing.T) {
	second := func(n int) vegeta.Rate { return vegeta.Rate{Freq: n, Per: time.Second} }
	tests := []struct {
		name    string
		arrival profiles.Arrival
		pacer   vegeta.Pacer
		first   uint64
	}{
		{"constant", profiles.Arrival{Process: profiles.Constant, RatePerS: 50}, second(50), 0},
		{"linear", profiles.Arrival{Process: profiles.Ramp, FromPerS: 10, ToPerS: 70, Over: time.Minute}, vegeta.LinearPacer{StartAt: second(10), Slope: 1}, 1},
		{"linear down", profiles.Arrival{Process: profiles.Ramp, FromPerS: 100, ToPerS: 20, Over: 40 * time.Second}, vegeta.LinearPacer{StartAt: second(100), Slope: -2}, 1},
		{"sine", profiles.Arrival{Process: profiles.Sine, RatePerS: 50, AmplitudePerS: 40, Period: 20 * time.Second}, vegeta.SinePacer{Period: 20 * time.Second, Mean: second(50), Amp: second(40)}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := arriving(t, tt.arrival, workload.Options{})
			for k, want := range moments(tt.pacer, 2000) {
				if uint64(k) < tt.first {
					continue
				}
				got := s.Offset(int64(k) + 1)
				// vegeta stops searching at a thousandth of a hit.
				if off := math.Abs((got - want).Seconds()) * tt.pacer.Rate(want); off > 2e-3 {
					t.Fatalf("hit %d is due at %v, vegeta sends it at %v: %.4f hits off", k, got, want, off)
				}
				if rate, want := s.Pacer().Rate(want), tt.pacer.Rate(want); math.Abs(rate-want) > 1e-6*want {
					t.Fatalf("rate %v, vegeta's is %v", rate, want)
				}
			}
		})
	}
}

// TestGammaGaps checks mean, coefficient of variation and distribution of the
// gaps; the latter by Kolmogorov and Smirnov at a significance of 0.001.
func TestGammaGaps(t *testing.T) {
	const n, rate = 20000, 50.0
	for _, cv := range []float64{0.1, 0.5, 1, 1.7, 4} {
		s := arriving(t, profiles.Arrival{Process: profiles.Gamma, RatePerS: rate, CV: cv}, workload.Options{Seed: 9})
		gaps := make([]float64, n)
		before := time.Duration(0)
		for i := range gaps {
			gaps[i] = (s.Offset(int64(i)) - before).Seconds()
			before = s.Offset(int64(i))
		}
		mean, spread := stat.MeanStdDev(gaps, nil)
		if math.Abs(mean*rate-1) > 4*cv/math.Sqrt(n) {
			t.Errorf("cv %g: mean gap %v s", cv, mean)
		}
		if got := spread / mean; math.Abs(got/cv-1) > 0.1 {
			t.Errorf("cv %g: got %v", cv, got)
		}
		shape := 1 / (cv * cv)
		slices.Sort(gaps)
		distance, cdf := 0.0, distuv.Gamma{Alpha: shape, Beta: shape * rate}
		for i, g := range gaps {
			if g > 1e-6 { // smaller ones are rounded to nanoseconds
				distance = max(distance, math.Abs(cdf.CDF(g)-float64(i)/n), math.Abs(cdf.CDF(g)-float64(i+1)/n))
			}
		}
		if distance > 1.95/math.Sqrt(n) {
			t.Errorf("cv %g: distance of Kolmogorov and Smirnov %.4f", cv, distance)
		}
	}
}

func TestGammaOfOneIsPoisson(t *testing.T) {
	gamma := arriving(t, profiles.Arrival{Process: profiles.Gamma, RatePerS: 9, CV: 1}, workload.Options{Seed: 4})
	poisson := arriving(t, profiles.Arrival{Process: profiles.Poisson, RatePerS: 9}, workload.Options{Seed: 4})
	for i := range int64(3000) {
		if gamma.Offset(i) != poisson.Offset(i) {
			t.Fatalf("session %d at %v and %v", i, gamma.Offset(i), poisson.Offset(i))
		}
	}
}

// TestStepsAreExact follows steps with a pause session by session.
func TestStepsAreExact(t *testing.T) {
	s := arriving(t, profiles.Arrival{Process: profiles.Steps, Curve: curve}, workload.Options{})
	for _, tt := range []struct {
		i    int64
		want time.Duration
	}{
		{0, 0}, {1, 50 * time.Millisecond}, {59, 2950 * time.Millisecond},
		{60, 5 * time.Second}, // what is due when the pause begins waits for its end
		{61, 5002 * time.Millisecond}, {559, 5998 * time.Millisecond}, {560, 6 * time.Second},
		{561, 6200 * time.Millisecond}, {1560, 206 * time.Second}, // the last step goes on
	} {
		if got := s.Offset(tt.i); got != tt.want {
			t.Errorf("session %d at %v, want %v", tt.i, got, tt.want)
		}
	}
}

// TestTraceEnds asks for what comes after the last session of a trace. Other
// processes have no end.
func TestTraceEnds(t *testing.T) {
	s := arriving(t, profiles.Arrival{Process: profiles.TraceArrival}, workload.Options{})
	if n, finite := s.Len(); !finite || n != 6000 {
		t.Fatalf("Len = %d, %v", n, finite)
	}
	if last := s.Session(5999); last.Offset == workload.Never || len(last.Turns) != 1 {
		t.Errorf("the last session is %+v", last)
	}
	if after := s.Session(6000); s.Offset(6000) != workload.Never || after.Offset != workload.Never || len(after.Turns) != 0 {
		t.Errorf("after the last session comes %+v", after)
	}
	if _, stop := s.Pacer().Pace(0, 6000); !stop {
		t.Error("the pacer does not stop")
	}
	for _, p := range open {
		if n, finite := arriving(t, p.arrival, workload.Options{}).Len(); finite != (p.name == "trace") {
			t.Errorf("%s ends after %d sessions: %v", p.name, n, finite)
		}
	}
}

func TestTraceOffsets(t *testing.T) {
	s := arriving(t, profiles.Arrival{Process: profiles.TraceArrival, Speed: 2}, workload.Options{})
	for _, i := range []int64{0, 1, 100, 5999} {
		if got, want := s.Offset(i), time.Duration(i*i)*time.Microsecond/2; got != want {
			t.Errorf("session %d at %v, want %v", i, got, want)
		}
	}
}

func BenchmarkOffset(b *testing.B) {
	for _, p := range open {
		b.Run(p.name, func(b *testing.B) {
			s := arriving(b, p.arrival, workload.Options{})
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				_ = s.Offset(i)
			}
		})
	}
}
