package workload

import (
	"math"
	"sync"

	"github.com/llmctl/llmctl/profiles"
)

// Never is when sessions are due that do not come.
const Never = math.MaxInt64

// ticks says when session i is due on a clock that counts billionths: of a
// second, or of a session where the rate changes. Ticks never decrease.
type ticks interface{ at(i int64) int64 }

// even is a tick every 1/rate: none is moved by the rounding of those before it.
type even struct{ rate float64 }

func (e even) at(i int64) int64 { return toTicks(float64(i) / e.rate * 1e9) }

// irregular draws gaps with mean 1/rate, each rounded to a whole tick. The
// first session is due after the first gap.
//
// A tick is a sum over all gaps before it. Gaps come in blocks with a generator
// of their own, and the sums at the ends of blocks are kept, so that any tick
// costs at most one block once those before it are known; asking in order costs
// one gap. A million sessions keep 8 KiB.
type irregular struct {
	rate  float64
	shape float64 // of the gamma distribution; 1 is the exponential one
	seed  uint64

	mu     sync.Mutex
	ends   []int64 // sum of all gaps up to and with block k
	block  int64   // the block that r and sum stand in, −1 at first
	within int64   // gaps of that block that are in sum
	sum    int64
	r      random
}

const gapsPerBlock = 1024

// newTicks returns even ticks for a coefficient of variation of 0. That of a
// gamma distribution is 1/√shape.
func newTicks(rate, cv float64, seed uint64) ticks {
	if cv == 0 {
		return even{rate}
	}
	return &irregular{rate: rate, shape: 1 / (cv * cv), seed: seed, block: -1}
}

func (p *irregular) at(i int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	block, within := i/gapsPerBlock, i%gapsPerBlock+1
	for int64(len(p.ends)) < block {
		p.seek(int64(len(p.ends)), gapsPerBlock)
		p.ends = append(p.ends, p.sum)
	}
	p.seek(block, within)
	return p.sum
}

// seek moves the sum to the first n gaps of a block whose predecessor's end is
// known.
func (p *irregular) seek(block, n int64) {
	if block != p.block || n < p.within {
		p.block, p.within, p.sum = block, 0, 0
		if block > 0 {
			p.sum = p.ends[block-1]
		}
		p.r = newRandom(p.seed, forArrival, block)
	}
	for ; p.within < n; p.within++ {
		gap := 0.0
		if p.shape == 1 {
			gap = p.r.exponential()
		} else {
			gap = p.r.gamma(p.shape)
		}
		p.sum = later(p.sum, toTicks(gap/p.rate*1e9))
	}
}

// toTicks rounds to whole ticks; what does not fit is Never.
func toTicks(v float64) int64 {
	if v = math.Round(v); v < Never {
		return int64(v)
	}
	return Never
}

// later adds times that are not negative; what does not fit is Never.
func later(a, b int64) int64 {
	if a > Never-b {
		return Never
	}
	return a + b
}

// variation returns the coefficient of variation of a process's gaps.
func variation(a profiles.Arrival) float64 {
	switch a.Process {
	case profiles.Constant:
		return 0
	case profiles.Poisson:
		return 1
	}
	return a.CV
}
