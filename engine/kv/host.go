package kv

import "fmt"

// Host is a tier of blocks in the host's memory, behind a Pool: it keeps the
// content of blocks that the pool evicts, the least recently used is dropped
// first. It knows names of content, and not where it lies: whoever moves the
// bytes keeps up with it. It is not safe for concurrent use.
type Host struct {
	capacity  int
	at        map[Hash]int32
	slots     []hostSlot // slot 0 is the sentinel of the ring, oldest first
	evictions int64
}

type hostSlot struct {
	hash       Hash
	pins       int   // a block that is being read is in no ring
	prev, next int32 // in the ring
}

// NewHost returns a tier that holds the given number of blocks. It panics when
// that is not positive.
func NewHost(blocks int) *Host {
	if blocks < 1 {
		panic(fmt.Sprintf("kv: host tier of %d blocks", blocks))
	}
	return &Host{capacity: blocks, at: map[Hash]int32{}, slots: make([]hostSlot, 1)}
}

// Blocks is how many blocks it can hold.
func (h *Host) Blocks() int { return h.capacity }

// Len is how many blocks it holds.
func (h *Host) Len() int { return len(h.at) }

// Evictions is how many blocks were dropped for others so far.
func (h *Host) Evictions() int64 { return h.evictions }

// Put keeps a block as the most recently used, unless all the others are pinned.
func (h *Host) Put(content Hash) {
	if h.Touch(content) {
		return
	}
	var i int32
	if len(h.slots) <= h.capacity {
		i = int32(len(h.slots))
		h.slots = append(h.slots, hostSlot{})
	} else {
		if i = h.slots[0].next; i == 0 {
			return
		}
		h.unlink(i)
		delete(h.at, h.slots[i].hash)
		h.evictions++
	}
	h.slots[i].hash = content
	h.at[content] = i
	h.link(i)
}

// Touch makes a block the most recently used one, and tells whether it is there.
func (h *Host) Touch(content Hash) bool {
	i, ok := h.at[content]
	if ok && h.slots[i].pins == 0 {
		h.unlink(i)
		h.link(i)
	}
	return ok
}

// Pin keeps a block that is there from being dropped, until as many calls of Unpin.
// It panics when it is not there.
func (h *Host) Pin(content Hash) {
	i, ok := h.at[content]
	if !ok {
		panic(fmt.Sprintf("kv: pinning block %x, which the host does not hold", content))
	}
	if h.slots[i].pins == 0 {
		h.unlink(i)
	}
	h.slots[i].pins++
}

// Unpin takes one Pin back; the block is then the most recently used one. It panics
// when there is none.
func (h *Host) Unpin(content Hash) {
	i, ok := h.at[content]
	if !ok || h.slots[i].pins == 0 {
		panic(fmt.Sprintf("kv: unpinning block %x, which is not pinned", content))
	}
	if h.slots[i].pins--; h.slots[i].pins == 0 {
		h.link(i)
	}
}

// Match is how many blocks of a sequence it holds in a row, from the first-th to
// before the limit-th. Nothing changes.
func (h *Host) Match(hash func(i int) Hash, first, limit int) int {
	for i := first; i < limit; i++ {
		if _, ok := h.at[hash(i)]; !ok {
			return i - first
		}
	}
	return max(0, limit-first)
}

func (h *Host) link(i int32) {
	last := h.slots[0].prev
	h.slots[i].prev, h.slots[i].next = last, 0
	h.slots[last].next, h.slots[0].prev = i, i
}

func (h *Host) unlink(i int32) {
	prev, next := h.slots[i].prev, h.slots[i].next
	h.slots[prev].next, h.slots[next].prev = next, prev
}

func (h *Host) reset() {
	clear(h.at)
	h.slots = h.slots[:1]
	h.slots[0] = hostSlot{}
}
