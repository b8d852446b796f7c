package route

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Shares are drawn by weighted rendezvous hashing (Thaler and Ravishankar 1998;
// with weights, Schindelhauer and Schomaker 2005): each target gets an exponential
// variate of the request's key and its own seed, divided by its weight, and the
// smallest goes first. Then
//
//   - target i is first with probability weight i / sum, and the order of all is
//     a draw without replacement;
//   - the same key gives the same order on every gateway, after every restart;
//   - a weight that is raised only draws keys to its target, and one that is
//     lowered only drives them away: a canary at 10 % keeps the keys it had at 5 %;
//   - what is drawn for one alias says nothing about another one, since the
//     alias is part of the seed.

// key is what the draws for a request are made of.
func (s Sticky) key(f *Features) uint64 {
	switch {
	case s == ByTenant:
		return xxhash.Sum64String(f.Tenant)
	case s == BySession && f.Session != "":
		return seed(f.Tenant, f.Session)
	}
	return f.Draw
}

// seed hashes texts so that no two lists of them run into each other by accident.
func seed(parts ...string) uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, p := range parts {
		_, _ = d.WriteString(p)
		_, _ = d.Write(boundary)
	}
	return d.Sum64()
}

// variate is uniform over (0, 1) and depends on both numbers as if drawn for the
// pair. It is the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
func variate(key, seed uint64) float64 {
	z := key ^ seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return (float64(z>>11) + 0.5) / (1 << 53)
}

// rank orders targets: the smallest goes first.
func rank(key, seed uint64, weight int) float64 {
	return -math.Log(variate(key, seed)) / float64(weight)
}

// on tells whether the flag is on for a request whose draws are made of key.
func (g *Flag) on(tenant string, key uint64) bool {
	if slices.Contains(g.Tenants, tenant) {
		return true
	}
	return variate(key, seed("flag", g.Name))*100 < g.Percent
}
