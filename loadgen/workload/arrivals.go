package workload

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/llmctl/llmctl/profiles"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// arrivals says when sessions start, as time since the start of sending.
type arrivals interface {
	// Offset is when session i is due. It never decreases.
	Offset(i int64) time.Duration
}

// minRate is the slowest open loop, in sessions per second: one in eleven days.
// Gaps of much slower ones would not fit into a time.Duration.
const minRate = 1e-6

func newArrivals(a profiles.Arrival, seed uint64, recorded []Session) (arrivals, error) {
	switch a.Process {
	case profiles.Closed:
		if a.Concurrency < 1 {
			return nil, fmt.Errorf("closed loop with %d requests in flight, expected at least 1", a.Concurrency)
		}
		return closed{}, nil
	case profiles.Users:
		if a.Count < 1 {
			return nil, fmt.Errorf("closed loop of %d users, expected at least 1", a.Count)
		}
		return closed{}, nil
	case profiles.TraceArrival:
		return replay(recorded), nil
	}
	if !(a.RatePerS > 0) || math.IsInf(a.RatePerS, 0) {
		return nil, fmt.Errorf("arrival rate of %g/s, expected more than 0", a.RatePerS)
	}
	if a.RatePerS < minRate {
		return nil, fmt.Errorf("arrival rate of %g/s, expected at least %g/s", a.RatePerS, minRate)
	}
	switch a.Process {
	case profiles.Constant:
		return constant{a.RatePerS}, nil
	case profiles.Poisson:
		return &poisson{rate: a.RatePerS, seed: seed, block: -1}, nil
	default:
		return nil, fmt.Errorf("unknown arrival process %q, expected constant, poisson or closed", a.Process)
	}
}

// closed is the loop in which a request is due when another has ended.
type closed struct{}

func (closed) Offset(int64) time.Duration { return 0 }

// replay takes the times of a trace.
type replay []Session

func (r replay) Offset(i int64) time.Duration { return r[i].Offset }

// constant spaces sessions evenly. Each offset is computed from the index, so
// that rounding to nanoseconds does not add up.
type constant struct{ rate float64 }

func (c constant) Offset(i int64) time.Duration {
	return time.Duration(math.Round(float64(i) / c.rate * 1e9))
}

// poisson draws exponential gaps with mean 1/rate, each rounded to whole
// nanoseconds. The first session is due after the first gap.
//
// An offset is a sum over all gaps before it. Gaps come in blocks with a
// generator of their own, and the sums at the ends of blocks are kept, so that
// any offset costs at most one block; asking in order costs one gap.
type poisson struct {
	rate float64
	seed uint64

	mu     sync.Mutex
	ends   []time.Duration // sum of all gaps up to and with block k
	block  int64           // the block that r and sum stand in, −1 at first
	within int64           // gaps of that block that are in sum
	sum    time.Duration
	r      random
}

const gapsPerBlock = 1024

func (p *poisson) Offset(i int64) time.Duration {
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
func (p *poisson) seek(block, n int64) {
	if block != p.block || n < p.within {
		p.block, p.within, p.sum = block, 0, 0
		if block > 0 {
			p.sum = p.ends[block-1]
		}
		p.r = newRandom(p.seed, forArrival, block)
	}
	for ; p.within < n; p.within++ {
		p.sum += time.Duration(math.Round(p.r.exponential() / p.rate * 1e9))
	}
}

// Pacer adapts the arrivals of an open loop to vegeta, whose attacker then
// sends the same stream.
func (s *Stream) Pacer() vegeta.Pacer { return pacer{s} }

type pacer struct{ s *Stream }

// Pace implements vegeta.Pacer.
func (p pacer) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	return max(0, p.s.Offset(int64(hits))-elapsed), false
}

// Rate implements vegeta.Pacer: the mean rate in hits per second.
func (p pacer) Rate(time.Duration) float64 { return p.s.workload.Arrival.RatePerS }
