package workload

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// shards returns how many machines send the stream together, at least one.
func (s *Stream) shards() int64 { return int64(max(1, s.options.Shards)) }

// global is the index in the whole stream of the k-th session of this shard.
func (s *Stream) global(k int64) int64 { return k*s.shards() + int64(s.options.Shard) }

// share is how many of n things, numbered from 0 on, belong to this shard: every
// Shards-th of them. The shares of all shards add up to n.
func (s *Stream) share(n int64) int64 {
	return max(0, (n-int64(s.options.Shard)+s.shards()-1)/s.shards())
}

// Len is how many sessions this shard has; finite is false when they have no
// end. Only those of a trace with its own arrivals do.
func (s *Stream) Len() (n int64, finite bool) {
	n, finite = s.arrivals.count()
	return s.share(n), finite
}

// Closed returns how many requests this shard's part of a closed loop keeps in
// flight; ok is false when the loop is another one.
func (s *Stream) Closed() (concurrency int, ok bool) {
	if s.workload.Arrival.Process != profiles.Closed {
		return 0, false
	}
	return int(s.share(int64(s.workload.Arrival.Concurrency))), true
}

// Users returns how many users this shard's part of a closed loop of users has;
// ok is false when the loop is another one.
func (s *Stream) Users() (n int, ok bool) {
	if s.workload.Arrival.Process != profiles.Users {
		return 0, false
	}
	return int(s.share(int64(s.workload.Arrival.Count))), true
}

// Joins is when the k-th user of this shard, or the k-th of its requests that a
// closed loop keeps in flight, comes in: the first of all shards at once, the
// last one when Arrival.RampUp has passed, the others evenly between.
func (s *Stream) Joins(k int) time.Duration {
	last := population(s.workload.Arrival) - 1
	if last < 1 {
		return 0
	}
	return time.Duration(toTicks(float64(s.workload.Arrival.RampUp) * (float64(s.global(int64(k))) / float64(last))))
}

// checkShard reports a shard that does not exist, or that has nobody to send
// its sessions.
func checkShard(a profiles.Arrival, o Options) error {
	if o.Shards < 0 || o.Shard < 0 || o.Shard >= max(1, o.Shards) {
		return fmt.Errorf("shard %d of %d, expected 0 to %d", o.Shard, o.Shards, max(1, o.Shards)-1)
	}
	closed := a.Process == profiles.Closed || a.Process == profiles.Users
	if n := population(a); closed && o.Shards > max(1, n) {
		return fmt.Errorf("%d shards for a closed loop of %d, expected at most one for each", o.Shards, n)
	}
	return nil
}
