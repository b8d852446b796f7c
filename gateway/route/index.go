package route

import (
	"slices"
	"sort"
)

// Block identifies the content of one full block of a prompt and of everything
// before it, so that equal blocks have equal prompts up to their end.
type Block [16]byte

// Index remembers which endpoint was sent which prompts: an approximate picture
// of their prefix caches, kept without asking them. Of each endpoint it keeps the
// blocks that were used last, as the endpoint's own cache does, and as many as fit
// there.
//
// A block is never newer than the one before it in its prompt, so those that are
// dropped are ends of prompts: what an endpoint holds of a prompt is always a
// beginning.
type Index struct {
	room int
	held []recent // by endpoint
}

// NewIndex returns an index that keeps up to room blocks per endpoint, room ≥ 1.
func NewIndex(room int) *Index { return &Index{room: max(1, room)} }

// Resize changes how many blocks are kept per endpoint, room ≥ 1. Those that no
// longer fit are forgotten, the oldest first.
func (x *Index) Resize(room int) {
	room = max(1, room)
	if room < x.room {
		for i := range x.held {
			x.held[i] = x.held[i].newest(room)
		}
	}
	x.room = room
}

// Insert notes that the endpoint was sent a prompt of these blocks. Of a prompt
// that is longer than the whole room it keeps the beginning.
func (x *Index) Insert(endpoint int, prompt []Block) {
	for len(x.held) <= endpoint {
		x.held = append(x.held, recent{})
	}
	prompt = prompt[:min(len(prompt), x.room)]
	r := &x.held[endpoint]
	for i := len(prompt) - 1; i >= 0; i-- { // the first block becomes the newest
		r.touch(prompt[i], x.room)
	}
}

// Match returns how many leading blocks of a prompt the endpoint should hold.
func (x *Index) Match(endpoint int, prompt []Block) int {
	if endpoint >= len(x.held) || len(x.held[endpoint].at) == 0 {
		return 0
	}
	r := &x.held[endpoint]
	return sort.Search(len(prompt), func(i int) bool {
		_, ok := r.at[prompt[i]]
		return !ok
	})
}

// Forget drops all that an endpoint held: it has gone, or lost its cache.
func (x *Index) Forget(endpoint int) {
	if endpoint < len(x.held) {
		x.held[endpoint] = recent{}
	}
}

// Len returns how many blocks an endpoint is taken to hold.
func (x *Index) Len(endpoint int) int {
	if endpoint >= len(x.held) {
		return 0
	}
	return len(x.held[endpoint].at)
}

// recent is a set of blocks in order of their last use: a ring of nodes through
// node 0, which holds no block.
type recent struct {
	at    map[Block]int32
	nodes []node
}

type node struct {
	block        Block
	newer, older int32
}

// touch makes a block the newest. With room blocks it takes the oldest one's place.
func (r *recent) touch(b Block, room int) {
	if r.at == nil {
		r.at, r.nodes = map[Block]int32{}, []node{{}}
	}
	i, ok := r.at[b]
	switch {
	case ok:
		r.unlink(i)
	case len(r.at) < room:
		i = int32(len(r.nodes))
		r.nodes = append(r.nodes, node{})
	default:
		i = r.nodes[0].newer // round the ring: the oldest
		r.unlink(i)
		delete(r.at, r.nodes[i].block)
	}
	r.at[b] = i
	newest := r.nodes[0].older
	r.nodes[i] = node{block: b, newer: 0, older: newest}
	r.nodes[newest].newer, r.nodes[0].older = i, i
}

// newest returns the room newest blocks of r, in a set of their own size.
func (r *recent) newest(room int) recent {
	if len(r.at) <= room {
		return *r
	}
	var kept []Block
	for i := r.nodes[0].older; len(kept) < room; i = r.nodes[i].older {
		kept = append(kept, r.nodes[i].block)
	}
	var smaller recent
	for _, b := range slices.Backward(kept) {
		smaller.touch(b, room)
	}
	return smaller
}

func (r *recent) unlink(i int32) {
	n := &r.nodes[i]
	r.nodes[n.newer].older, r.nodes[n.older].newer = n.older, n.newer
}
