package grammar

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// Bounds of what a grammar keeps for vocabularies.
const (
	maxKept         = 64 << 20  // bytes of masks per grammar and vocabulary
	maxKeptOfAll    = 256 << 20 // bytes of masks per vocabulary, of all grammars
	maxVocabularies = 4
)

// A keeper holds what was found out about tokens, per vocabulary.
type keeper struct {
	mu   sync.Mutex
	sets []*masks
}

// of is what is kept for a vocabulary.
func (k *keeper) of(v *Vocabulary, states int) *masks {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.sets {
		if m.v == v {
			return m
		}
	}
	if len(k.sets) == maxVocabularies {
		k.sets = k.sets[1:]
	}
	m := newMasks(v, states)
	k.sets = append(k.sets, m)
	return m
}

// memory is what is kept, in bytes.
func (k *keeper) memory() (n int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.sets {
		n += m.bytes.Load() + int64(8*len(m.slots))
	}
	return n
}

// Memory is about what the grammar takes, in bytes, with the masks that it keeps by now.
func (g *Grammar) Memory() int64 {
	return int64(len(g.rules))*300 + int64(len(g.states))*80 + int64(len(g.cells))*4 + g.kept.memory()
}

type atomicMask = atomic.Pointer[stateMask]

func newMasks(v *Vocabulary, states int) *masks {
	m := &masks{v: v, slots: make([]atomicMask, states), rests: map[string]*trie{}, bytes: new(atomic.Int64)}
	runtime.AddCleanup(m, func(bytes *atomic.Int64) { v.kept.Add(-bytes.Load()) }, m.bytes)
	return m
}

// masks are the tokens of each state that do not depend on where its rule was called.
type masks struct {
	v     *Vocabulary
	slots []atomicMask
	bytes *atomic.Int64

	mu    sync.Mutex
	rests map[string]*trie // by the nodes that they follow: most states of a long string have the same
}

// A stateMask says what may come in a state as long as its rule has not ended: that is
// the same whoever called it.
type stateMask struct {
	bits   []uint64 // of all tokens, or nil when they are few
	tokens []int32  // when they are few
	rest   *trie    // what is left of tokens after the rule may have ended, or nil
}

// or adds the tokens to a mask.
func (m *stateMask) or(mask []uint64) {
	for i, word := range m.bits {
		mask[i] |= word
	}
	for _, t := range m.tokens {
		mask[t>>6] |= 1 << (t & 63)
	}
}

// state is the mask of a state, from the walk or from what is kept. Matchers that need
// the same one at the same time each find it: it comes out the same.
func (m *masks) state(w *walker, s int32) *stateMask {
	if found := m.slots[s].Load(); found != nil {
		return found
	}
	r := &w.g.rules[w.g.states[s].rule]
	if r.common {
		if found, ok := m.v.common.Load(s - r.start); ok {
			m.slots[s].Store(found.(*stateMask))
			return found.(*stateMask)
		}
	}
	words := (m.v.size + 63) / 64
	found := &stateMask{bits: make([]uint64, words)}
	w.reset()
	w.limited, w.keep = false, false
	w.items = append(w.items, item{s, &node{rule: -1}})
	var escapes []int32
	w.scan(m.v.trie, w.here(0), found.bits, &escapes)
	found.thin()
	if r.common {
		if len(escapes) > 0 {
			found.rest = m.v.rest(escapes)
		}
		m.v.common.Store(s-r.start, found)
		m.slots[s].Store(found)
		return found
	}
	keep := true
	if len(escapes) > 0 {
		found.rest, keep = m.rest(escapes)
	}
	if keep && m.fits(8*len(found.bits)+4*len(found.tokens)+96) {
		m.slots[s].Store(found)
	}
	return found
}

// fits takes memory, if so much is left.
func (m *masks) fits(size int) bool {
	n := int64(size)
	if m.v.kept.Add(n) <= maxKeptOfAll {
		if m.bytes.Add(n) <= maxKept {
			return true
		}
		m.bytes.Add(-n)
	}
	m.v.kept.Add(-n)
	return false
}

// rest is the trie for some nodes, and whether it is kept.
func (m *masks) rest(nodes []int32) (*trie, bool) {
	hash := sha256.New()
	for _, n := range nodes {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], uint32(n))
		hash.Write(b[:])
	}
	key := string(hash.Sum(nil))
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.rests[key]; t != nil {
		return t, true
	}
	t := m.v.rest(nodes)
	if !m.fits(t.memory()) {
		return t, false
	}
	m.rests[key] = t
	return t, true
}

// rest is a trie of what follows some nodes in tokens. Many tokens go on in the same
// way, after the end of a string above all, so that it is small.
func (v *Vocabulary) rest(nodes []int32) *trie {
	n := 0
	for _, node := range nodes {
		n += len(v.trie.below(node))
	}
	entries := make([]entry, 0, n)
	for _, n := range nodes {
		for _, token := range v.trie.below(n) {
			entries = append(entries, newEntry(v.text, v.offset[token]+uint32(v.trie.depth[n]), v.offset[token+1], token))
		}
	}
	return newTrie(v.text, entries)
}

// thin keeps few tokens as a list.
func (m *stateMask) thin() {
	n := 0
	for _, word := range m.bits {
		n += bits.OnesCount64(word)
	}
	if n > len(m.bits) { // a list would take half of the bits' memory, or more
		return
	}
	m.tokens = make([]int32, 0, n)
	for i, word := range m.bits {
		for ; word != 0; word &= word - 1 {
			m.tokens = append(m.tokens, int32(64*i+bits.TrailingZeros64(word)))
		}
	}
	m.bits = nil
}
