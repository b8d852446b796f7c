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

// maxMemory bounds the answers in memory. The oldest of the tenant that holds most make
// room: no tenant can push out another's answers while that one stays within an equal
// share.
const maxMemory = 64 << 20

// Memory keeps keys of one gateway.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[ID]*entry
	shelves map[string]*shelf // by tenant; none that is empty
	bytes   int
}

// shelf is the answers of one tenant.
type shelf struct {
	tenant string
	kept   list.List // of *entry, the oldest first
	bytes  int
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
	return &Memory{now: now, entries: map[ID]*entry{}, shelves: map[string]*shelf{}}
}

// Claim implements Keys.
func (m *Memory) Claim(_ context.Context, id ID, request Fingerprint) (*Answer, Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(m.shelves[id.Tenant])
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

// sweep forgets what of a tenant has expired, from the oldest on.
func (m *Memory) sweep(s *shelf) {
	for s != nil && s.kept.Len() > 0 {
		e := s.kept.Front().Value.(*entry)
		if m.now().Before(e.until) {
			return
		}
		m.remove(e)
	}
}

// shrink makes room: what has expired goes first.
func (m *Memory) shrink() {
	if m.bytes <= maxMemory {
		return
	}
	for _, s := range m.shelves {
		m.sweep(s)
	}
	for m.bytes > maxMemory {
		m.remove(m.largest().kept.Front().Value.(*entry))
	}
}

// largest is the tenant that holds most.
func (m *Memory) largest() *shelf {
	var most *shelf
	for _, s := range m.shelves {
		if most == nil || s.bytes > most.bytes || s.bytes == most.bytes && s.tenant < most.tenant {
			most = s
		}
	}
	return most
}

// put keeps an entry that has its answer.
func (m *Memory) put(e *entry) {
	s := m.shelves[e.id.Tenant]
	if s == nil {
		s = &shelf{tenant: e.id.Tenant}
		m.shelves[s.tenant] = s
	}
	e.place = s.kept.PushBack(e)
	s.bytes += e.size()
	m.bytes += e.size()
	m.shrink()
}

func (m *Memory) remove(e *entry) {
	delete(m.entries, e.id)
	if e.place == nil {
		return
	}
	s := m.shelves[e.id.Tenant]
	s.kept.Remove(e.place)
	s.bytes -= e.size()
	m.bytes -= e.size()
	if s.kept.Len() == 0 {
		delete(m.shelves, s.tenant)
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
		c.m.put(c.e)
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
