package sizing

import (
	"math"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// idleBlocks is the share of a pool that no running sequence holds at the planned
// load, where prefixes stay. At 70% of the largest rate 0.3 makes hit rates up to
// 0.15 too low, 0.5 up to 0.1 and 0.7 up to 0.05 (prefix_test.go, by events); a
// half leaves room for loads nearer to the limit.
const idleBlocks = 0.5

// warnOfLongPrefix says when shared prefixes are longer than the prompts that they begin.
func (s *situation) warnOfLongPrefix(m mix) {
	p := s.workload.Prefix
	if p.Groups > 0 && float64(p.Tokens) >= m.input {
		s.warn("long-prefix", "the shared prefix of %d tokens is not shorter than the mean prompt of %s: it is cut to the prompt less one token, so that almost all is taken to be cached; --isl counts the prefix too",
			p.Tokens, units.Number(m.input))
	}
}

// prefixHits is the share of shared prefixes that requests find in the cache.
// Blocks are evicted when least recently used, and those of finished requests
// wait for it in the same queue: a prefix stays if it is used again before as
// many blocks have been taken as were free. With free blocks F, of which each
// request takes n, requests find the prefix of a group that has the share p of
// the requests with the chance 1 − e^(−p·F/n) (Che, Tung and Wang 2002; Fricker,
// Robert and Roberts 2012). A request that finds its prefix takes fewer blocks,
// hence the iteration.
func prefixHits(p profiles.Prefix, blocks, perRequest, perPrefix float64) float64 {
	if p.Groups == 0 || blocks <= 0 {
		return 1
	}
	groups := popularities(p)
	hits := 1.0
	for range 100 {
		taken := max(1, perRequest-hits*perPrefix)
		next := 0.0
		for _, g := range groups {
			next += g.weight * -math.Expm1(-g.value*idleBlocks*blocks/taken)
		}
		if math.Abs(next-hits) < 1e-9 {
			return next
		}
		hits = next
	}
	return hits
}

// popularities are the shares of requests that go to a group, as values, with the
// share of all requests that go to such groups as weights. Far in the tail of
// Zipf's law many groups stand together.
func popularities(p profiles.Prefix) []weighted {
	n := float64(p.Groups)
	if p.Popularity == 0 {
		return []weighted{{1, 1 / n}}
	}
	var points []weighted
	sum := 0.0
	for low := 1.0; low <= n; {
		width := min(math.Floor(1+low/20), n+1-low)
		value := math.Pow(low+(width-1)/2, -p.Popularity)
		points = append(points, weighted{value * width, value})
		sum += value * width
		low += width
	}
	for i := range points {
		points[i].weight /= sum
		points[i].value /= sum
	}
	return points
}
