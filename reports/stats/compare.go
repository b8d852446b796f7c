package stats

import (
	"math"
	"slices"

	"github.com/llmctl/llmctl/internal/portable"
)

// exactRanks is the number of values up to which MannWhitney counts all ways to
// divide their ranks; beyond it the normal approximation is as good.
const exactRanks = 60

// MannWhitney is the chance that two samples of the same distribution are at least
// as far apart as a and b are, by the sum of ranks and to either side (Mann and
// Whitney, "On a Test of Whether one of Two Random Variables is Stochastically
// Larger than the Other", Annals of Mathematical Statistics 18(1), 1947). Equal
// values share their mean rank. It is 1 when a or b is empty: then nothing tells
// them apart.
func MannWhitney(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	ranks := doubledRanks(a, b)
	sum := 0
	for _, r := range ranks[:len(a)] {
		sum += r
	}
	// The mean of the doubled sum, which is whole.
	off := sum - len(a)*(len(ranks)+1)
	if len(ranks) <= exactRanks {
		return exactP(ranks, len(a), max(off, -off))
	}
	return normalP(ranks, len(a), max(off, -off))
}

// doubledRanks are twice the ranks, from 1 up, of the values of a and then of b
// among all of them: whole numbers even where equal values share one.
func doubledRanks(a, b []float64) []int {
	all := slices.Concat(a, b)
	sorted := slices.Sorted(slices.Values(all))
	ranks := make([]int, len(all))
	for i, v := range all {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last+1 < len(sorted) && sorted[last+1] == v {
			last++
		}
		ranks[i] = first + last + 2
	}
	return ranks
}

// exactP counts the ways to take n of the ranks whose doubled sum is at least off
// from its mean, among all ways: the distribution of the statistic given the ties
// (Streitberg and Röhmel, "Exact Distributions for Permutation and Rank Tests",
// Statistical Software Newsletter 12(1), 1986).
func exactP(ranks []int, n, off int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// ways[k][s] is the number of ways to take k of the ranks seen so far with sum s.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	mean, far, all := n*(len(ranks)+1), 0.0, 0.0
	for s, w := range ways[n] {
		all += w
		if max(s-mean, mean-s) >= off {
			far += w
		}
	}
	return far / all
}

// normalP is the normal approximation with the correction for ties and for
// continuity. The tail is 26.2.17 of Abramowitz and Stegun, "Handbook of
// Mathematical Functions", 1964, which is off by at most 7.5e-8.
func normalP(ranks []int, n, off int) float64 {
	size := float64(len(ranks))
	squares := 0.0 // of the doubled ranks' distances from their mean
	for _, r := range ranks {
		d := float64(r) - (size + 1)
		squares += float64(d * d)
	}
	variance := float64(n) * (size - float64(n)) / (size * (size - 1)) * squares
	if variance == 0 || off == 0 {
		return 1 // all values are equal, or the sum is just its mean
	}
	z := max(float64(off)-1, 0) / math.Sqrt(variance)
	t := 1 / (1 + float64(0.2316419*z))
	p := 0.0
	for _, c := range [...]float64{1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530} {
		p = t * (c + p)
	}
	return min(1, 2*p*portable.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
}

// MedianInterval is the narrowest pair of order statistics, as far from one end as
// from the other, that holds the median with at least the given confidence (0..1),
// and the confidence that it has: 1 − 2·P(B < k) for the k-th smallest and the
// k-th largest, B binomial with one half (Conover, "Practical Nonparametric
// Statistics", 3rd edition, section 3.2). Below six values no pair reaches 0.95:
// then it is the smallest and the largest, with the confidence that those have.
// sorted must be in ascending order and not empty.
func MedianInterval(sorted []float64, confidence float64) (low, high, achieved float64) {
	n := len(sorted)
	k, below := 1, math.Ldexp(1, -n) // P(B < k)
	for term := below; 2*(k+1) <= n+1; k++ {
		term *= float64(n-k+1) / float64(k) // P(B = k)
		if 1-2*(below+term) < confidence {
			break
		}
		below += term
	}
	return sorted[k-1], sorted[n-k], 1 - 2*below
}
