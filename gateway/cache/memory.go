package cache

import (
	"container/list"
	"sync"
	"time"
)

// DefaultSize is the memory of a Memory, in bytes, unless told otherwise.
const DefaultSize = 64 << 20

// Memory keeps answers, as many as its size holds. When it is full, the tenant
// that holds most gives up what it has not used for longest: nobody can push
// others out by asking much, nor learn from a miss that somebody did, as long as
// each stays within an equal share.
type Memory struct {
	mu      sync.Mutex
	size    int64
	bytes   int64
	items   map[Key]*item
	shelves map[string]*shelf
	spaces  map[Key][]*item // questions that may answer each other
}

// shelf is what belongs to one tenant.
type shelf struct {
	tenant string
	bytes  int64
	recent list.List // of *item, the one used last in front
}

type item struct {
	key     Key
	answer  *Answer
	stored  time.Duration
	expires time.Duration
	bytes   int64
	shelf   *shelf
	place   *list.Element

	space    Key // zero for answers that are found by key alone
	question Question
}

// NewMemory returns an empty cache of so many bytes.
func NewMemory(size int64) *Memory {
	return &Memory{size: size, items: map[Key]*item{}, shelves: map[string]*shelf{}, spaces: map[Key][]*item{}}
}

// Hit is an answer that was found.
type Hit struct {
	Answer     *Answer
	Age        time.Duration
	Similarity float64 // of the questions, by meaning; 0 for an equal request
}

// Get finds the answer of a tenant under a key. Times are offsets on one clock.
func (m *Memory) Get(tenant string, key Key, now time.Duration) (Hit, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.items[key]
	if it == nil || it.shelf.tenant != tenant {
		return Hit{}, false
	}
	return m.use(it, now)
}

// use marks an item as used, or drops it when its time is over.
func (m *Memory) use(it *item, now time.Duration) (Hit, bool) {
	if now >= it.expires {
		m.drop(it)
		return Hit{}, false
	}
	it.shelf.recent.MoveToFront(it.place)
	return Hit{Answer: it.answer, Age: now - it.stored}, true
}

// Put keeps an answer of a tenant under a key for ttl, in place of what was
// there. One that is larger than a quarter of the cache is not kept.
func (m *Memory) Put(tenant string, key Key, a *Answer, ttl, now time.Duration) {
	m.put(tenant, &item{key: key, answer: a, stored: now, expires: now + ttl, bytes: a.size()})
}

func (m *Memory) put(tenant string, it *item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if it.bytes > m.size/4 {
		return
	}
	if old := m.items[it.key]; old != nil {
		m.drop(old)
	}
	s := m.shelves[tenant]
	if s == nil {
		s = &shelf{tenant: tenant}
		m.shelves[tenant] = s
	}
	it.shelf = s
	it.place = s.recent.PushFront(it)
	m.items[it.key] = it
	s.bytes += it.bytes
	m.bytes += it.bytes
	if it.space != (Key{}) {
		m.enter(it)
	}
	m.shrink()
}

// Resize changes how many bytes are kept.
func (m *Memory) Resize(size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.size = size
	m.shrink()
}

func (m *Memory) shrink() {
	for m.bytes > m.size {
		m.drop(m.largest().recent.Back().Value.(*item))
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

func (m *Memory) drop(it *item) {
	delete(m.items, it.key)
	it.shelf.recent.Remove(it.place)
	it.shelf.bytes -= it.bytes
	m.bytes -= it.bytes
	if it.shelf.recent.Len() == 0 {
		delete(m.shelves, it.shelf.tenant)
	}
	if it.space != (Key{}) {
		m.leave(it)
	}
}

// Bytes and Len say how much is kept.
func (m *Memory) Bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// Len is the number of answers.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items)
}
