package infer

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mathext"

	"github.com/llmctl/llmctl/profiles"
)

const (
	// maxDistance is how far, as the Kolmogorov–Smirnov distance, a fit may be
	// from what was measured; with few samples chance alone is further, and its
	// 95% bound counts instead (1.36/√n; Massey 1951, table 1).
	maxDistance = 0.05
	ksCritical  = 1.36
	// quantiles is the values of an empirical distribution: each is the mean of
	// one hundredth of the samples, so that the mean of all is kept.
	quantiles = 100
	// fewest samples are fitted.
	fewest = 30
)

var z99 = mathext.NormalQuantile(0.99)

// fitLengths describes lengths, at least one, each at least 1: by one number
// when all are equal, lognormal when that fits, else by quantiles. It sorts them.
func fitLengths(lengths []int) (d profiles.Distribution, how string) {
	slices.Sort(lengths)
	n := len(lengths)
	if lengths[0] == lengths[n-1] {
		return profiles.Distribution{Kind: profiles.Fixed, Mean: float64(lengths[0])}, "all equal"
	}
	if n < fewest {
		values := make([]float64, n)
		for i, v := range lengths {
			values[i] = float64(v)
		}
		return empirical(values), "all of them, too few to fit"
	}
	var sum, squares float64
	for _, v := range lengths {
		sum += math.Log(float64(v))
	}
	for _, v := range lengths {
		d := math.Log(float64(v)) - sum/float64(n)
		squares += d * d
	}
	// The mean of the logarithms would fit best, and let the mean of the lengths,
	// which is what fills a server, come out as something else.
	sigma := math.Sqrt(squares / float64(n))
	mu := math.Log(meanOf(lengths)) - sigma*sigma/2
	distance := lognormalDistance(lengths, mu, sigma)
	if d, ok := lognormal(mu, sigma); ok && distance <= max(maxDistance, ksCritical/math.Sqrt(float64(n))) {
		return d, "lognormal, " + off(distance)
	}
	values := make([]float64, 0, quantiles)
	parts := min(n, quantiles)
	for i := range parts {
		part := lengths[i*n/parts : (i+1)*n/parts]
		total := 0.0
		for _, v := range part {
			total += float64(v)
		}
		values = append(values, max(1, math.Round(total/float64(len(part)))))
	}
	return empirical(values), "quantiles, since lognormal is " + off(distance)
}

// off words a distance.
func off(distance float64) string {
	return "off by " + percent(distance) + " of requests where it is worst"
}

func empirical(values []float64) profiles.Distribution {
	return profiles.Distribution{Kind: profiles.Empirical, Samples: &profiles.Samples{Values: values}}
}

// lognormal is the distribution with the given parameters of the logarithm; ok
// is false when its mean and 99th percentile do not tell it, which is so from
// σ = 2.33 on.
func lognormal(mu, sigma float64) (d profiles.Distribution, ok bool) {
	d = profiles.Distribution{
		Kind: profiles.Lognormal,
		Mean: round(math.Exp(mu + sigma*sigma/2)),
		P99:  round(math.Exp(mu + z99*sigma)),
	}
	return d, sigma < 0.95*z99 && d.Validate() == nil
}

// lognormalDistance is the largest difference between the share of lengths up
// to a value and what a lognormal distribution says; a length k stands for all
// that round to it.
func lognormalDistance(sorted []int, mu, sigma float64) (distance float64) {
	n := float64(len(sorted))
	for i, v := range sorted {
		if i+1 < len(sorted) && sorted[i+1] == v {
			continue
		}
		distance = max(distance, math.Abs(float64(i+1)/n-lognormalShare(float64(v)+0.5, mu, sigma)))
		if i+1 < len(sorted) {
			// Just below the next length the share is still the same.
			distance = max(distance, math.Abs(float64(i+1)/n-lognormalShare(float64(sorted[i+1])-0.5, mu, sigma)))
		}
	}
	return distance
}

// lognormalShare is the share of values up to v.
func lognormalShare(v, mu, sigma float64) float64 {
	return 0.5 * math.Erfc(-(math.Log(v)-mu)/(sigma*math.Sqrt2))
}

// meanOf is the mean of lengths.
func meanOf(lengths []int) float64 {
	sum := 0.0
	for _, v := range lengths {
		sum += float64(v)
	}
	return sum / float64(len(lengths))
}

// prefixFor is the length of a prefix that makes the given share of all tokens
// of prompts shared: a prompt shorter than it shares all but one token. Lengths
// are sorted.
func prefixFor(share float64, lengths []int) int {
	want := share * meanOf(lengths) * float64(len(lengths))
	return 1 + binarySearch(lengths[len(lengths)-1]-1, func(prefix int) bool {
		shared := 0.0
		for _, v := range lengths {
			shared += float64(min(prefix, v-1))
		}
		return shared >= want
	})
}

// binarySearch is the number of values 1..n that hold is false for, where it is
// false first and true then.
func binarySearch(n int, hold func(int) bool) int {
	low, high := 0, max(0, n)
	for low < high {
		middle := (low + high) / 2
		if hold(middle + 1) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// plural writes a count and its thing.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
