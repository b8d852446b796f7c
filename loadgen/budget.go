package loadgen

import (
	"context"
	"sync"
)

// budget bounds the bytes, and the number, of bodies that are made ahead of
// those that use them. It lets one through however large, or nothing would move.
type budget struct {
	bytes, bodies int
	freed         chan struct{}

	mu   sync.Mutex
	used int // bytes
	held int // bodies
}

func newBudget(bytes, bodies int) *budget {
	return &budget{bytes: bytes, bodies: bodies, freed: make(chan struct{}, 1)}
}

// take waits until there is room for a body of n bytes and takes it; ok is false
// when ctx ends first. Only one goroutine may take.
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

// tryTake takes room for a body of n bytes if there is some. Anyone may try.
func (b *budget) tryTake(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held > 0 && (b.used+n > b.bytes || b.held == b.bodies) {
		return false
	}
	b.used += n
	b.held++
	return true
}

// give returns the room of a body of n bytes.
func (b *budget) give(n int) {
	b.mu.Lock()
	b.used -= n
	b.held--
	b.mu.Unlock()
	select {
	case b.freed <- struct{}{}:
	default: // the taker has yet to see the last one
	}
}
