package workload

import (
	"math"
	"math/rand/v2"
)

// purpose separates the random numbers of one request by what they decide, so
// that a change of one choice (another length distribution, say) leaves all
// others as they were.
type purpose uint64

const (
	forArrival purpose = iota + 1
	forInput
	forOutput
	forGroup
	forTenant
	forClass
)

// random is a generator for one purpose and one index.
type random struct{ pcg rand.PCG }

func newRandom(seed uint64, why purpose, index int64) (r random) {
	r.pcg.Seed(mix(seed^mix(uint64(why))), mix(uint64(index)))
	return r
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014): neighbours
// in, unrelated numbers out.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform returns a number in (0, 1), both ends excluded.
func (r *random) uniform() float64 {
	return (float64(r.pcg.Uint64()>>11) + 0.5) * 0x1p-53
}

// exponential returns a sample with mean 1, by inversion.
func (r *random) exponential() float64 { return -math.Log(r.uniform()) }

// normal returns a standard normal sample, by inversion: one uniform number
// per sample, the same on every machine.
func (r *random) normal() float64 {
	return math.Sqrt2 * math.Erfinv(2*r.uniform()-1)
}
