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
	capacity int64         // tokens, and tokens per minute; 0 is no limit
	level    int64         // tokens left; below zero is debt
	carry    uint64        // part of a token, in 1/minute of one
	at       time.Duration // when level was true
}

func newBucket(perMinute int64) bucket {
	return bucket{capacity: perMinute, level: perMinute}
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
	lo, carry := bits.Add64(lo, b.carry, 0)
	hi += carry
	if hi >= minute { // the quotient would not fit: more than 2⁶⁴ tokens
		b.fill()
		return
	}
	tokens, rest := bits.Div64(hi, lo, minute)
	if tokens >= uint64(b.capacity-b.level) {
		b.fill()
		return
	}
	b.level += int64(tokens)
	b.carry = rest
}

func (b *bucket) fill() { b.level, b.carry = b.capacity, 0 }

// wait is how long until n tokens are there, if nothing else takes any. The
// caller has refilled the bucket and knows that n is within the capacity.
func (b *bucket) wait(n int64) time.Duration {
	if n <= b.level {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n-b.level), minute)
	lo, borrow := bits.Sub64(lo, b.carry, 0)
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
func (b *bucket) take(n int64) {
	if b.limited() {
		b.level -= n
	}
}

// settle brings the level up to now and replaces a debit of reserved by one of
// used. Refilling comes first: a refund on top of a stale level would be cut off
// at the capacity, or hide debt, depending on when the bucket was last looked at.
func (b *bucket) settle(now time.Duration, reserved, used int64) {
	if b.limited() {
		b.refill(now)
		b.level = min(b.level+reserved-used, b.capacity)
	}
}
