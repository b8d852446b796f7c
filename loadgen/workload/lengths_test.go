package workload

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmctl/llmctl/profiles"
)

// sample draws n counts, one per index.
func sample(t *testing.T, d profiles.Distribution, n int) []float64 {
	t.Helper()
	l, err := newLengths("test", d)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(l.draw(newRandom(17, forInput, int64(i))))
	}
	return out
}

// TestCountsFollowTheirShares compares how often each value is drawn with how
// often it should be, by Pearson's χ² at a significance of 0.001.
func TestCountsFollowTheirShares(t *testing.T) {
	const n = 50000
	zipf := func(low, high int, exponent float64) func(int) float64 {
		sum := 0.0
		for k := 1; k <= high-low+1; k++ {
			sum += math.Pow(float64(k), -exponent)
		}
		return func(v int) float64 { return math.Pow(float64(v-low+1), -exponent) / sum }
	}
	tests := []struct {
		d     profiles.Distribution
		low   int
		high  int // of the values that are counted one by one
		share func(int) float64
	}{
		{profiles.Distribution{Kind: profiles.Uniform, Min: 3, Max: 12}, 3, 12, func(int) float64 { return 0.1 }},
		{profiles.Distribution{Kind: profiles.Geometric, Mean: 3}, 1, 15, func(v int) float64 { return math.Pow(2.0/3, float64(v-1)) / 3 }},
		{profiles.Distribution{Kind: profiles.Geometric, Mean: 1}, 1, 1, func(int) float64 { return 1 }},
		{profiles.Distribution{Kind: profiles.Zipf, Min: 1, Max: 50, Exponent: 1}, 1, 50, zipf(1, 50, 1)},
		{profiles.Distribution{Kind: profiles.Zipf, Min: 100, Max: 130, Exponent: 1.1}, 100, 130, zipf(100, 130, 1.1)},
		{profiles.Distribution{Kind: profiles.Zipf, Min: 1, Max: 20, Exponent: 0}, 1, 20, zipf(1, 20, 0)},
		{profiles.Distribution{Kind: profiles.Zipf, Min: 1, Max: 1e6, Exponent: 1.000001}, 1, 40, zipf(1, 1e6, 1.000001)},
		{profiles.Distribution{Kind: profiles.Zipf, Min: 1, Max: 5, Exponent: 4}, 1, 5, zipf(1, 5, 4)},
		{profiles.Distribution{Kind: profiles.Empirical, Samples: &profiles.Samples{Values: []float64{2, 2, 3, 7}}}, 2, 7, func(v int) float64 { return map[int]float64{2: 0.5, 3: 0.25, 7: 0.25}[v] }},
	}
	for _, tt := range tests {
		name := fmt.Sprintf("%s %v to %v, %v", tt.d.Kind, tt.d.Min, tt.d.Max, tt.d.Exponent)
		t.Run(name, func(t *testing.T) {
			counts := map[int]float64{}
			for _, v := range sample(t, tt.d, n) {
				if v < float64(tt.low) || tt.d.Max > 0 && v > tt.d.Max {
					t.Fatalf("drew %v", v)
				}
				counts[min(int(v), tt.high+1)]++
			}
			var got, want []float64
			rest := 1.0
			for v := tt.low; v <= tt.high; v++ {
				if share := tt.share(v); share > 0 {
					got, want = append(got, counts[v]), append(want, share*n)
					rest -= share
				}
			}
			if rest > 1e-4 {
				got, want = append(got, counts[tt.high+1]), append(want, rest*n)
			}
			if len(got) == 1 {
				if got[0] != want[0] {
					t.Errorf("%v of %v", got[0], want[0])
				}
				return
			}
			limit := distuv.ChiSquared{K: float64(len(got) - 1)}.Quantile(0.999)
			if x := stat.ChiSquare(got, want); x > limit {
				t.Errorf("χ² %.1f, expected at most %.1f:\n got %v\nwant %v", x, limit, got, want)
			}
		})
	}
}

// TestMeanOfDraws compares the mean by formula with that of many draws.
func TestMeanOfDraws(t *testing.T) {
	for _, d := range []profiles.Distribution{
		{Kind: profiles.Fixed, Mean: 2.6},
		{Kind: profiles.Uniform, Min: 1, Max: 3},
		{Kind: profiles.Uniform, Min: 1.5, Max: 3.4},
		{Kind: profiles.Normal, Mean: 2, StdDev: 3},
		{Kind: profiles.Lognormal, Mean: 2, P99: 9},
		{Kind: profiles.Zipf, Min: 2, Max: 40, Exponent: 1.2},
		{Kind: profiles.Geometric, Mean: 4.5},
		{Kind: profiles.Empirical, Samples: &profiles.Samples{Values: []float64{1, 1.2, 5, 9}}},
	} {
		l, err := newLengths("test", d)
		if err != nil {
			t.Fatal(err)
		}
		got, spread := stat.MeanStdDev(sample(t, d, 100_000), nil)
		if want := l.mean(maxTurns); math.Abs(got-want) > 4*spread/math.Sqrt(100_000)+1e-9 {
			t.Errorf("%s: mean of the draws %v, want %v", d.Kind, got, want)
		}
	}
}

// TestDelays compares times with their distributions by Kolmogorov and Smirnov
// at a significance of 0.001.
func TestDelays(t *testing.T) {
	const n = 20000
	s := time.Second
	lognormal := profiles.Distribution{Kind: profiles.Lognormal, Mean: 2, P99: 9}
	mu, sigma := lognormal.LogParameters()
	tests := []struct {
		d   profiles.Delay
		cdf func(float64) float64 // of seconds
	}{
		{profiles.Delay{Kind: profiles.Exponential, Mean: 8 * s}, distuv.Exponential{Rate: 0.125}.CDF},
		{profiles.Delay{Kind: profiles.Uniform, Min: s, Max: 3 * s}, distuv.Uniform{Min: 1, Max: 3}.CDF},
		{profiles.Delay{Kind: profiles.Normal, Mean: 9 * s, StdDev: s}, distuv.Normal{Mu: 9, Sigma: 1}.CDF},
		{profiles.Delay{Kind: profiles.Lognormal, Mean: 2 * s, P99: 9 * s}, distuv.LogNormal{Mu: mu, Sigma: sigma}.CDF},
	}
	for _, tt := range tests {
		t.Run(string(tt.d.Kind), func(t *testing.T) {
			d, err := newDelays("test", tt.d)
			if err != nil {
				t.Fatal(err)
			}
			times := make([]float64, n)
			for i := range times {
				times[i] = d.draw(newRandom(5, forThink, int64(i))).Seconds()
			}
			slices.Sort(times)
			distance := 0.0
			for i, v := range times {
				distance = max(distance, math.Abs(tt.cdf(v)-float64(i)/n), math.Abs(tt.cdf(v)-float64(i+1)/n))
			}
			if distance > 1.95/math.Sqrt(n) {
				t.Errorf("distance of Kolmogorov and Smirnov %.4f", distance)
			}
		})
	}
}

func TestDelayEdges(t *testing.T) {
	tests := []struct {
		name      string
		d         profiles.Delay
		low, high time.Duration // of 1,000 draws
	}{
		{"none", profiles.Delay{}, 0, 0},
		{"fixed", profiles.Delay{Kind: profiles.Fixed, Mean: time.Second}, time.Second, time.Second},
		{"never below 0", profiles.Delay{Kind: profiles.Normal, Mean: 1, StdDev: time.Second}, 0, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := newDelays("test", tt.d)
			if err != nil {
				t.Fatal(err)
			}
			low, high := time.Duration(Never), time.Duration(0)
			for i := range int64(1000) {
				v := d.draw(newRandom(6, forThink, i))
				low, high = min(low, v), max(high, v)
			}
			if low != tt.low || high > tt.high || tt.high > 0 && high == 0 {
				t.Errorf("draws from %v to %v, want %v to %v", low, high, tt.low, tt.high)
			}
		})
	}
}
