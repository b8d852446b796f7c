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

// find returns the slot of a piece, and its tokens if they are there.
func (c *wordCache) find(piece string) (slot *atomic.Pointer[word], tokens []int32) {
	slot = &c.slots[maphash.String(c.seed, piece)%cacheSlots]
	if w := slot.Load(); w != nil && w.text == piece {
		return slot, w.tokens
	}
	return slot, nil
}

// keepWord puts the tokens of a piece into its slot. Copies, since the piece is
// part of a text that should not be held.
func keepWord(slot *atomic.Pointer[word], piece string, tokens []int32) {
	slot.Store(&word{strings.Clone(piece), append([]int32(nil), tokens...)})
}
