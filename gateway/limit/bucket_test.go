package limit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRefillDoesNotDependOnHowOftenItIsLookedAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Int64Range(1, 1<<40).Draw(t, "capacity")
		debit := rapid.Int64Range(0, 1<<41).Draw(t, "debit")
		steps := rapid.SliceOf(rapid.Int64Range(-int64(time.Second), int64(time.Hour))).Draw(t, "steps")
		often, once := newBucket(capacity), newBucket(capacity)
		often.take(debit)
		once.take(debit)
		now, latest := time.Duration(0), time.Duration(0)
		for _, step := range steps {
			now += time.Duration(step)
			latest = max(latest, now)
			often.refill(now)
			if often.Level > capacity {
				t.Fatalf("level %d above capacity %d", often.Level, capacity)
			}
		}
		once.refill(latest)
		if often.Level != once.Level || often.Carry != once.Carry {
			t.Fatalf("in steps: %d+%d, at once: %d+%d", often.Level, often.Carry, once.Level, once.Carry)
		}
	})
}

func TestWaitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBucket(rapid.Int64Range(1, 1<<40).Draw(t, "capacity"))
		b.take(rapid.Int64Range(0, 3*b.capacity).Draw(t, "debit"))
		b.refill(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "elapsed")))
		n := rapid.Int64Range(0, b.capacity).Draw(t, "n")
		wait := b.wait(n)
		there := b
		there.refill(b.at + wait)
		if there.Level < n {
			t.Fatalf("level %d after waiting %v for %d", there.Level, wait, n)
		}
		if early := b; wait > 0 {
			early.refill(b.at + wait - 1)
			if early.Level >= n {
				t.Fatalf("%d were there a nanosecond before %v", n, wait)
			}
		}
	})
}

func TestBucketFillsAfterAVeryLongTime(t *testing.T) {
	b := newBucket(1 << 40)
	b.take(1 << 40)
	b.refill(math.MaxInt64)
	if b.Level != b.capacity {
		t.Errorf("level %d after 292 years, want %d", b.Level, b.capacity)
	}
}

func TestWaitForAbsurdDebtDoesNotOverflow(t *testing.T) {
	b := newBucket(1)
	b.take(1 << 40)
	if got := b.wait(1); got != math.MaxInt64 {
		t.Errorf("wait = %v, want the largest duration", got)
	}
}
