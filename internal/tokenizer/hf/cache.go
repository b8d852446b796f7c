package hf

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// wordCache remembers the tokens of short pieces, most of which come again and
// again. A newer piece takes the place of an older one of the same slot, so that it
// is bounded, and nobody waits for anybody.
type wordCache struct {
	seed  maphash.Seed
	slots [cacheSlots]atomic.Pointer[word]
}

// A cache takes about 3 MB when every slot is in use; English prose has few words
// beyond 32 bytes.
const (
	cacheSlots = 1 << 14
	cacheBytes = 32
)

type word struct {
	text   string
	tokens []int32
}

func newWordCache() *wordCache { return &wordCache{seed: maphash.MakeSeed()} }

// wordSplitter encodes a piece from scratch.
type wordSplitter interface {
	split(dst []int32, piece string, s *scratch) []int32
}

// encode encodes a piece by m unless it is remembered.
func (c *wordCache) encode(m wordSplitter, dst []int32, piece string, s *scratch) []int32 {
	if len(piece) > cacheBytes {
		return m.split(dst, piece, s)
	}
	slot := &c.slots[maphash.String(c.seed, piece)%cacheSlots]
	if w := slot.Load(); w != nil && w.text == piece {
		return append(dst, w.tokens...)
	}
	from := len(dst)
	dst = m.split(dst, piece, s)
	// Copies, since the piece is part of a text that should not be held.
	slot.Store(&word{strings.Clone(piece), append([]int32(nil), dst[from:]...)})
	return dst
}
