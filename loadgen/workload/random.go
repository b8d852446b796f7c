package workload

import (
	"math"
	"math/rand/v2"

	"github.com/llmctl/llmctl/internal/portable"
)

// purpose separates the random numbers of one request by what they decide, so
// that a change of one choice (another length distribution, say) leaves all
// others as they were. The order is part of what a seed means: new ones go to
// the end.
type purpose uint64

const (
	forArrival purpose = iota + 1
	forInput
	forOutput
	forGroup
	forTenant
	forClass
	_ // two purposes that texts once had; the others keep their numbers
	_
	forModel
	forTurns
	forThink
	forCancel
	forCancelAfter
	forTools
	forSchema
)

// random is a generator for one purpose and one index.
type random struct{ pcg rand.PCG }

func newRandom(seed uint64, why purpose, index int64) (r random) {
	r.pcg.Seed(mix(seed^mix(uint64(why))), mix(uint64(index)))
	return r
}

// newTurnRandom is the generator for one turn of session index. That of the
// first turn is the session's own.
func newTurnRandom(seed uint64, why purpose, index int64, turn int) (r random) {
	stream := mix(uint64(index))
	if turn > 0 {
		stream = mix(stream + uint64(turn))
	}
	r.pcg.Seed(mix(seed^mix(uint64(why))), stream)
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
func (r *random) exponential() float64 { return -portable.Log(r.uniform()) }

// normal returns a standard normal sample, by inversion: one uniform number
// per sample.
func (r *random) normal() float64 { return portable.NormalQuantile(r.uniform()) }

// gamma returns a sample with the given shape and mean 1, after G. Marsaglia
// and W. W. Tsang, "A simple method for generating gamma variables", ACM
// Transactions on Mathematical Software 26 (2000), 363–372: rejection for
// shapes from 1 on; a smaller shape a is that of a+1 times U^(1/a).
func (r *random) gamma(shape float64) float64 {
	if shape < 1 {
		boost := portable.Exp(portable.Log(r.uniform()) / shape)
		return r.gamma(shape+1) * (shape + 1) / shape * boost
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * v * v)
		bound := float64(float64(x*x)/2) + float64(d*(1-v+portable.Log(v)))
		if portable.Log(r.uniform()) < bound {
			return d * v / shape
		}
	}
}
