package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSampleFollowsTheDistribution draws at many positions and compares the
// frequencies with the probabilities that the parameters leave.
func TestSampleFollowsTheDistribution(t *testing.T) {
	logits := []float32{0, 1, 2, float32(math.Inf(-1)), 1.5}
	e := func(x float64) float64 { return math.Exp(x) }
	for _, c := range []struct {
		name    string
		p       Sampling
		weights []float64
	}{
		{"temperature 1", Sampling{Temperature: 1}, []float64{1, e(1), e(2), 0, e(1.5)}},
		{"temperature 2", Sampling{Temperature: 2}, []float64{1, e(0.5), e(1), 0, e(0.75)}},
		{"top_k 2", Sampling{Temperature: 1, TopK: 2}, []float64{0, 0, e(2), 0, e(1.5)}},
		{"top_k beyond the vocabulary", Sampling{Temperature: 1, TopK: 9}, []float64{1, e(1), e(2), 0, e(1.5)}},
		{"top_p small keeps one", Sampling{Temperature: 1, TopP: 0.01}, []float64{0, 0, 1, 0, 0}},
		// The two likeliest have 0.76 of the probability, so the third is needed for 0.8.
		{"top_p 0.8", Sampling{Temperature: 1, TopP: 0.8}, []float64{0, e(1), e(2), 0, e(1.5)}},
		{"min_p 0.5", Sampling{Temperature: 1, MinP: 0.5}, []float64{0, 0, e(2), 0, e(1.5)}},
		{"top_k and top_p", Sampling{Temperature: 1, TopK: 3, TopP: 0.6}, []float64{0, 0, e(2), 0, e(1.5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const draws = 20000
			var s Sampler
			counts := make([]float64, len(logits))
			c.p.Seed = 3
			for position := range draws {
				counts[s.Sample(logits, c.p, position)]++
			}
			sum := 0.0
			for _, w := range c.weights {
				sum += w
			}
			for i, w := range c.weights {
				p := w / sum
				if limit := 5 * math.Sqrt(p*(1-p)*draws); math.Abs(counts[i]-p*draws) > limit {
					t.Errorf("token %d: drawn %v times, want %.0f ± %.0f", i, counts[i], p*draws, limit)
				}
			}
		})
	}
}

func TestGreedy(t *testing.T) {
	never, nan := float32(math.Inf(-1)), float32(math.NaN())
	long := make([]float32, 100)
	long[70], long[90] = 2, 2
	for _, c := range []struct {
		name   string
		logits []float32
		want   int32
	}{
		{"largest", []float32{1, 3, 2}, 1},
		{"first of equals", []float32{1, 3, 3}, 1},
		{"first of equals, far behind", long, 70},
		{"below zero", []float32{-3, -1, -2}, 1},
		{"some are no numbers", append(slices.Repeat([]float32{nan}, 64), 1), 64},
		{"nothing allowed", []float32{never}, -1},
		{"nothing of many allowed", slices.Repeat([]float32{never}, 100), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Sampler
			if got := s.Sample(c.logits, Sampling{}, 0); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestSampleDependsOnItsArgumentsOnly: another sampler, used for something else
// before, gives the same token, and logits stay as they are.
func TestSampleDependsOnItsArgumentsOnly(t *testing.T) {
	var used Sampler
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float32Range(-20, 20), 1, 50).Draw(t, "logits")
		p := Sampling{
			Temperature: rapid.Float32Range(0, 3).Draw(t, "temperature"), TopK: rapid.IntRange(0, 60).Draw(t, "top_k"),
			TopP: rapid.Float32Range(0, 1).Draw(t, "top_p"), MinP: rapid.Float32Range(0, 1).Draw(t, "min_p"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		position := rapid.IntRange(0, 1<<20).Draw(t, "position")
		before := slices.Clone(logits)
		var fresh Sampler
		a, b := fresh.Sample(logits, p, position), used.Sample(logits, p, position)
		if a != b || int(a) >= len(logits) {
			t.Fatalf("got %d and %d of %d tokens", a, b, len(logits))
		}
		if !slices.Equal(before, logits) {
			t.Fatal("logits were changed")
		}
	})
}

// BenchmarkSample picks from the vocabularies of SmolLM2 and Qwen.
func BenchmarkSample(b *testing.B) {
	for _, vocab := range []int{49152, 151936} {
		logits := make([]float32, vocab)
		for i := range logits {
			logits[i] = 4 * float32(uniform(1, i))
		}
		for _, c := range []struct {
			name string
			q    Sequence
		}{
			{"greedy", Sequence{}},
			{"temperature", Sequence{Sampling: Sampling{Temperature: 1}}},
			{"top_p", Sequence{Sampling: Sampling{Temperature: 1, TopP: 0.9}}},
			{"top_k", Sequence{Sampling: Sampling{Temperature: 1, TopK: 40}}},
			{"penalties", Sequence{Sampling: Sampling{Frequency: 0.1}, History: NewHistory(make([]int32, 1000), nil)}},
			{"logprobs", Sequence{Logprobs: true, Top: 5}},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, vocab), func(b *testing.B) {
				var s Sampler
				c.q.Tokens, c.q.Sample = []int32{1}, true
				b.ReportAllocs()
				for b.Loop() {
					s.Take(&c.q, 0, logits)
				}
			})
		}
	}
}

func TestSortByWeight(t *testing.T) {
	var spare []candidate
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOf(rapid.OneOf(rapid.Float32Range(math.SmallestNonzeroFloat32, 1), rapid.SampledFrom([]float32{1, 0.5, 0.25}))).Draw(t, "weights")
		var got []candidate
		for i, w := range weights {
			got = append(got, candidate{int32(i), w})
		}
		want := slices.Clone(got)
		slices.SortStableFunc(want, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
		got, spare = sortByWeight(got, spare)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}
