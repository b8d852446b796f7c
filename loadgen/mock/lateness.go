package mock

import (
	"math"
	"math/bits"
	"time"
)

// Lateness counts durations in buckets of at most 1/32 of their value (or 64 ns),
// without allocating. It is how the server measures itself: how long after its
// due time each write was done.
type Lateness struct {
	n       int64
	max     time.Duration
	sum     time.Duration
	buckets [(64 - 6) * 32]int64
}

// bucketOf is the bucket of a duration, counted in units of 64 ns: linear up to
// 32 units, then 32 buckets in each octave.
func bucketOf(d time.Duration) int {
	u := uint64(max(d, 0)) / 64
	if u < 32 {
		return int(u)
	}
	octave := bits.Len64(u) - 6
	return octave*32 + int(u>>octave)
}

// upperEdge is the end of a bucket, which it does not hold.
func upperEdge(bucket int) time.Duration {
	if bucket < 32 {
		return time.Duration(bucket+1) * 64
	}
	octave := bucket/32 - 1
	return time.Duration((uint64(bucket%32+32)+1)<<octave) * 64
}

// Add counts one duration; a negative one is 0.
func (l *Lateness) Add(d time.Duration) {
	d = max(d, 0)
	l.n++
	l.sum += d
	l.max = max(l.max, d)
	l.buckets[bucketOf(d)]++
}

// N is how many durations were counted.
func (l *Lateness) N() int64 { return l.n }

// Max is the largest duration.
func (l *Lateness) Max() time.Duration { return l.max }

// Sum is all of them together.
func (l *Lateness) Sum() time.Duration { return l.sum }

// Percentile is a duration that the share p (0 to 1) of all does not pass: the
// end of the bucket that the type-1 percentile lies in, or the largest duration.
// ok is false when nothing was counted.
func (l *Lateness) Percentile(p float64) (d time.Duration, ok bool) {
	if l.n == 0 {
		return 0, false
	}
	rank := max(1, int64(math.Ceil(p*float64(l.n))))
	for i, count := range l.buckets {
		if rank -= count; rank <= 0 {
			return min(upperEdge(i), l.max), true
		}
	}
	return l.max, true
}

// atMost is how many are surely no longer than d: those of whole buckets below.
func (l *Lateness) atMost(d time.Duration) (n int64) {
	for i, count := range l.buckets {
		if upperEdge(i) > d {
			break
		}
		n += count
	}
	return n
}
