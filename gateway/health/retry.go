package health

import (
	"math/bits"
	"time"
)

// Budget bounds retries to a share of the requests: while few requests fail, all
// of those are retried; when nearly all fail, retries add only that share to a
// load that is too large already. The bound is Ratio × requests + MinPerS ×
// seconds, both over the latest Window: the rule of Finagle's RetryBudget and of
// the Kubernetes Gateway API's retry budgets (GEP-3388).
type Budget struct {
	ratio float64
	floor float64 // retries per window that are always granted
	sent  window  // requests, and retries that were granted
}

// BudgetWindow is the time over which a budget is counted, and MinRetriesPerS
// what it grants at least, so that a service with few requests retries at all.
const (
	BudgetWindow   = 10 * time.Second
	MinRetriesPerS = 1.0
)

// NewBudget returns a budget of ratio retries per request.
func NewBudget(ratio float64) *Budget {
	return &Budget{ratio: ratio, floor: MinRetriesPerS * BudgetWindow.Seconds(), sent: newWindow(BudgetWindow)}
}

// Request notes a request, which is no retry.
func (b *Budget) Request(now time.Duration) { b.sent.add(now, 1, 0) }

// Retry grants a retry, and counts it, or refuses it.
func (b *Budget) Retry(now time.Duration) bool {
	sum := b.sent.add(now, 0, 0)
	if float64(sum.some+1) > float64(b.ratio*float64(sum.all))+b.floor {
		return false
	}
	b.sent.add(now, 0, 1)
	return true
}

// MaxBackoff bounds the pause before a retry, without its jitter.
const MaxBackoff = 30 * time.Second

// Backoff is the pause before the n-th retry, n ≥ 1: base, doubled for each
// further one up to MaxBackoff, times a factor that is uniform over ½ ≤ f < 1½, so
// that requests which failed together do not come back together. u is uniform over
// all of uint64.
func Backoff(base time.Duration, n int, u uint64) time.Duration {
	pause := min(base, MaxBackoff)
	for i := 1; i < n && pause > 0 && pause < MaxBackoff; i++ {
		pause = min(2*pause, MaxBackoff)
	}
	jitter, _ := bits.Mul64(u, uint64(max(0, pause)))
	return pause/2 + time.Duration(jitter)
}
