package idempotency

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// MaxBody is the largest answer that is kept. A longer one is not, and the request
// is made anew when its client asks again.
const MaxBody = 8 << 20

// maxMemory bounds the answers in memory; the oldest make room.
const maxMemory = 64 << 20

// Memory keeps keys of one gateway.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[ID]*entry
	kept    *list.List // of *entry with an answer, the oldest first
	bytes   int
}

type entry struct {
	id      ID
	request Fingerprint
	answer  *Answer // nil while the request is in progress
	until   time.Time
	place   *list.Element
}

// NewMemory returns an empty store.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, entries: map[ID]*entry{}, kept: list.New()}
}

// Claim implements Keys.
func (m *Memory) Claim(_ context.Context, id ID, request Fingerprint) (*Answer, Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	e := m.entries[id]
	if e != nil && e.answer != nil && !m.now().Before(e.until) {
		m.remove(e)
		e = nil
	}
	switch {
	case e == nil:
		e = &entry{id: id, request: request}
		m.entries[id] = e
		return nil, &memoryClaim{m: m, e: e}, nil
	case e.request != request:
		return nil, nil, ErrConflict
	case e.answer == nil:
		return nil, nil, ErrInProgress
	}
	return e.answer, nil, nil
}

// sweep forgets what has expired, from the oldest on.
func (m *Memory) sweep() {
	for front := m.kept.Front(); front != nil; front = m.kept.Front() {
		e := front.Value.(*entry)
		if m.now().Before(e.until) && m.bytes <= maxMemory {
			return
		}
		m.remove(e)
	}
}

func (m *Memory) remove(e *entry) {
	delete(m.entries, e.id)
	if e.place != nil {
		m.kept.Remove(e.place)
		m.bytes -= e.size()
	}
}

// size is about what an entry with an answer holds.
func (e *entry) size() int { return len(e.answer.Body) + 512 }

// Close implements Keys.
func (m *Memory) Close() {}

type memoryClaim struct {
	m     *Memory
	e     *entry
	ended bool
}

func (c *memoryClaim) Keep(a Answer, ttl time.Duration) {
	c.end(func() {
		if len(a.Body) > MaxBody {
			c.m.remove(c.e)
			return
		}
		c.e.answer, c.e.until = &a, c.m.now().Add(ttl)
		c.e.place = c.m.kept.PushBack(c.e)
		c.m.bytes += c.e.size()
		c.m.sweep()
	})
}

func (c *memoryClaim) Release() { c.end(func() { c.m.remove(c.e) }) }

func (c *memoryClaim) end(how func()) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if !c.ended {
		c.ended = true
		how()
	}
}
