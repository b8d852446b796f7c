package kv

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// hostModel is the tier's contract in its plainest form.
type hostModel struct {
	blocks int
	order  []Hash // what may be dropped, oldest first
	pins   map[Hash]int
}

func (m *hostModel) has(h Hash) bool { return m.pins[h] > 0 || slices.Contains(m.order, h) }

func (m *hostModel) touch(h Hash) {
	if i := slices.Index(m.order, h); i >= 0 {
		m.order = append(slices.Delete(m.order, i, i+1), h)
	}
}

func (m *hostModel) put(h Hash) {
	if m.has(h) {
		m.touch(h)
		return
	}
	if len(m.order)+len(m.pins) == m.blocks {
		if len(m.order) == 0 {
			return
		}
		m.order = m.order[1:]
	}
	m.order = append(m.order, h)
}

// TestHostMatchesModel runs random operations on the tier and on the model.
func TestHostMatchesModel(t *testing.T) { rapid.Check(t, hostMatchesModel) }

func FuzzHost(f *testing.F) { f.Fuzz(rapid.MakeFuzz(hostMatchesModel)) }

func hostMatchesModel(t *rapid.T) {
	blocks := rapid.IntRange(1, 6).Draw(t, "blocks")
	h := NewHost(blocks)
	m := &hostModel{blocks: blocks, pins: map[Hash]int{}}
	content := func(t *rapid.T) Hash { return hashOf(rapid.IntRange(0, 9).Draw(t, "content")) }
	t.Repeat(map[string]func(*rapid.T){
		"put": func(t *rapid.T) {
			c := content(t)
			h.Put(c)
			m.put(c)
		},
		"touch": func(t *rapid.T) {
			c := content(t)
			if got := h.Touch(c); got != m.has(c) {
				t.Fatalf("Touch = %t", got)
			}
			m.touch(c)
		},
		"pin": func(t *rapid.T) {
			c := content(t)
			if !m.has(c) {
				return
			}
			h.Pin(c)
			m.order = slices.DeleteFunc(m.order, func(o Hash) bool { return o == c })
			m.pins[c]++
		},
		"unpin": func(t *rapid.T) {
			c := content(t)
			if m.pins[c] == 0 {
				return
			}
			h.Unpin(c)
			if m.pins[c]--; m.pins[c] == 0 {
				delete(m.pins, c)
				m.order = append(m.order, c)
			}
		},
		"": func(t *rapid.T) {
			var ring []Hash
			for i := h.slots[0].next; i != 0; i = h.slots[i].next {
				if h.slots[h.slots[i].prev].next != i {
					t.Fatalf("slot %d is not linked back", i)
				}
				ring = append(ring, h.slots[i].hash)
			}
			if !slices.Equal(ring, m.order) {
				t.Fatalf("order %v, want %v", ring, m.order)
			}
			if h.Len() != len(m.order)+len(m.pins) || h.Len() > h.Blocks() {
				t.Fatalf("%d blocks of %d, want %d", h.Len(), h.Blocks(), len(m.order)+len(m.pins))
			}
			first, limit := rapid.IntRange(0, 5).Draw(t, "first"), rapid.IntRange(0, 9).Draw(t, "limit")
			want := 0
			for i := first; i < limit && m.has(hashOf(i)); i++ {
				want++
			}
			if got := h.Match(hashOf, first, limit); got != want {
				t.Fatalf("Match from %d to %d = %d, want %d", first, limit, got, want)
			}
		},
	})
}

// TestPoolSpillsToHost: what the pool evicts is in the tier, and only that; a reset
// forgets both.
func TestPoolSpillsToHost(t *testing.T) {
	p := NewPool(4, 4)
	host := NewHost(8)
	p.SetHost(host)
	table, _ := p.Allocate(nil, 3)
	p.Register(table[0], hashOf(1))
	p.Register(table[1], hashOf(2))
	p.Release(table)
	table, _ = p.Allocate(nil, 2) // the unnamed block, and the one that was freed next
	if host.Len() != 1 || host.Match(hashOf, 2, 3) != 1 {
		t.Errorf("%d blocks in the host after one eviction, want that of content 2", host.Len())
	}
	p.Release(table)
	if err := p.Reset(); err != nil || host.Len() != 0 {
		t.Errorf("%d blocks in the host after a reset (%v)", host.Len(), err)
	}
	host.Put(hashOf(5))
	if host.Match(hashOf, 5, 6) != 1 || host.Len() != 1 {
		t.Errorf("a tier that was reset holds %d blocks, want 1", host.Len())
	}
}

func TestHostRefusesMisuse(t *testing.T) {
	for name, f := range map[string]func(){
		"no blocks":           func() { NewHost(0) },
		"pin of nothing":      func() { NewHost(1).Pin(hashOf(1)) },
		"unpin without a pin": func() { h := NewHost(1); h.Put(hashOf(1)); h.Unpin(hashOf(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
