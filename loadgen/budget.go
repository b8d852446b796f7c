package loadgen

import (
	"context"
	"sync"
)

// budget bounds the bytes that one goroutine makes ahead of those that use
// them. It lets one thing through however large, or nothing would move.
type budget struct {
	limit int
	freed chan struct{}

	mu   sync.Mutex
	used int
}

func newBudget(limit int) *budget { return &budget{limit: limit, freed: make(chan struct{}, 1)} }

// take waits until there is room for n bytes and takes it; ok is false when ctx
// ends first. Only one goroutine may take.
func (b *budget) take(ctx context.Context, n int) (ok bool) {
	for !b.tryTake(n) {
		select {
		case <-b.freed:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (b *budget) tryTake(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used > 0 && b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

// give returns n bytes.
func (b *budget) give(n int) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	select {
	case b.freed <- struct{}{}:
	default: // the taker has yet to see the last one
	}
}
