package limit

import (
	"math"
	"math/bits"
	"time"
)

const minute = uint64(time.Minute)

// bucket is a token bucket that refills continuously: its capacity flows in
// evenly over each minute. It counts whole tokens and the exact remainder below
// one, in integers, so that no token is made or lost by rounding and results do
// not depend on how often it is looked at.
//
//	level
//	capacity ┤────╮         ╭──────  full: nothing flows in
//	         │    │       ╱
//	       0 ┼────│─────╱──────────
//	         │    ╰──╮╱              debt: a settlement above its reservation
type bucket struct {
	capacity int64 // tokens, and tokens per minute; 0 is no limit
	Bucket
	at time.Duration // when the level was true
}

// minLevel is the deepest debt that is counted. Together with the largest limit
// it keeps levels exact in the doubles of Lua, for limits that Redis keeps.
const minLevel = -1 << 52

func newBucket(perMinute int64) bucket {
	return bucket{capacity: perMinute, Bucket: Bucket{Level: perMinute}}
}

func (b *bucket) limited() bool { return b.capacity > 0 }

// refill brings the level up to now. A clock that steps back changes nothing.
func (b *bucket) refill(now time.Duration) {
	elapsed := now - b.at
	if elapsed <= 0 {
		return
	}
	b.at = now
	hi, lo := bits.Mul64(uint64(b.capacity), uint64(elapsed))
	lo, carry := bits.Add64(lo, b.Carry, 0)
	hi += carry
	if hi >= minute { // the quotient would not fit: more than 2⁶⁴ tokens
		b.fill()
		return
	}
	tokens, rest := bits.Div64(hi, lo, minute)
	if tokens >= uint64(b.capacity-b.Level) {
		b.fill()
		return
	}
	b.Level += int64(tokens)
	b.Carry = rest
}

func (b *bucket) fill() { b.Level, b.Carry = b.capacity, 0 }

// wait is how long until n tokens are there, if nothing else takes any. The
// caller has refilled the bucket and knows that n is within the capacity.
func (b *bucket) wait(n int64) time.Duration {
	if n <= b.Level {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n-b.Level), minute)
	lo, borrow := bits.Sub64(lo, b.Carry, 0)
	hi -= borrow
	rate := uint64(b.capacity)
	if hi >= rate {
		return math.MaxInt64
	}
	ns, rest := bits.Div64(hi, lo, rate)
	if rest > 0 {
		ns++
	}
	return time.Duration(min(ns, math.MaxInt64))
}

// take removes n tokens; the level may become negative.
func (b *bucket) take(n int64) { b.settle(0, n) }

// settle replaces a debit of reserved by one of used. The caller has refilled the
// bucket: a refund on top of a stale level would be cut off at the capacity, or
// hide debt, depending on when the bucket was last looked at.
func (b *bucket) settle(reserved, used int64) {
	if b.limited() {
		b.Level = max(min(b.Level+reserved-used, b.capacity), minLevel)
	}
}

// resize gives the bucket another capacity at now.
func (b *bucket) resize(now time.Duration, perMinute int64) {
	switch {
	case perMinute == b.capacity:
	case !b.limited() || perMinute == 0:
		at := max(b.at, now)
		*b = newBucket(perMinute)
		b.at = at
	default:
		b.capacity = perMinute
		if b.Level >= perMinute {
			b.fill()
		}
	}
}
