package workload

import (
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Pacer adapts the arrivals of this shard to vegeta, whose attacker then sends
// the first requests of the same sessions.
func (s *Stream) Pacer() vegeta.Pacer { return pacer{s} }

type pacer struct{ s *Stream }

// Pace implements vegeta.Pacer. It stops when no more sessions come.
func (p pacer) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	due := p.s.Offset(int64(hits))
	return max(0, due-elapsed), due == Never
}

// Rate implements vegeta.Pacer: sessions of this shard per second around a
// moment, 0 in a closed loop.
func (p pacer) Rate(elapsed time.Duration) float64 {
	return p.s.arrivals.rate(elapsed) / float64(p.s.shards())
}
