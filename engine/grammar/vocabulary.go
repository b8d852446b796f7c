package grammar

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A Vocabulary is a tokenizer's tokens as a trie of their bytes. It is immutable, safe
// for concurrent use, and built once per tokenizer.
//
// Nodes lie in preorder: a node's subtree is the stretch from it to its end, so that a
// walk is a scan which skips stretches.
type Vocabulary struct {
	size     int
	end      []int32
	isEnd    map[int32]bool
	text     []byte   // of all tokens
	offset   []uint32 // token i is text[offset[i]:offset[i+1]]; none for those that are never text
	label    []byte   // of each node
	depth    []uint16 // of each node: the root's children have 1
	after    []int32  // of each node: the first one that is not in its subtree
	token    []int32  // that ends at each node, or −1
	same     map[int32][]int32
	brackets int32 // the most that any token opens
}

// maxToken is the longest token, in bytes, that can be constrained; longer ones are
// never allowed.
const maxToken = 1 << 12

// NewVocabulary reads the tokens 0 … size−1. bytes is what a token adds to a text,
// special whether it marks something instead; neither those nor tokens without bytes
// are ever allowed, but for the tokens that end a sequence.
func NewVocabulary(size int, bytes func(token int32) []byte, special func(int32) bool, end []int32) *Vocabulary {
	v := &Vocabulary{size: size, isEnd: map[int32]bool{}, same: map[int32][]int32{}}
	for _, e := range end {
		if e >= 0 && int(e) < size && !v.isEnd[e] {
			v.isEnd[e] = true
			v.end = append(v.end, e)
		}
	}
	v.offset = make([]uint32, 1, size+1)
	for t := range int32(size) {
		if !v.isEnd[t] && !special(t) {
			if b := bytes(t); len(b) <= maxToken {
				v.text = append(v.text, b...)
			}
		}
		v.offset = append(v.offset, uint32(len(v.text)))
	}
	v.build(v.sorted())
	return v
}

// Size is the number of tokens, and of bits in a mask.
func (v *Vocabulary) Size() int { return v.size }

// bytesOf is a token's text.
func (v *Vocabulary) bytesOf(token int32) []byte {
	return v.text[v.offset[token]:v.offset[token+1]]
}

// sorted are the tokens that have a text, by their bytes.
func (v *Vocabulary) sorted() []int32 {
	type entry struct {
		begin uint64 // the first eight bytes, which decide most comparisons
		token int32
	}
	entries := make([]entry, 0, v.size)
	for t := range int32(v.size) {
		if b := v.bytesOf(t); len(b) > 0 {
			var begin [8]byte
			copy(begin[:], b)
			entries = append(entries, entry{binary.BigEndian.Uint64(begin[:]), t})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.begin != b.begin {
			if a.begin < b.begin {
				return -1
			}
			return 1
		}
		if c := bytes.Compare(v.bytesOf(a.token), v.bytesOf(b.token)); c != 0 {
			return c
		}
		return int(a.token - b.token)
	})
	out := make([]int32, len(entries))
	for i, e := range entries {
		out[i] = e.token
	}
	return out
}

// build lays out the trie.
func (v *Vocabulary) build(sorted []int32) {
	var path []int32 // nodes from the root's child to the last token's
	var before []byte
	pop := func(depth int) {
		for _, n := range path[depth:] {
			v.after[n] = int32(len(v.label))
		}
		path = path[:depth]
	}
	last := int32(-1)
	for _, t := range sorted {
		b := v.bytesOf(t)
		if last >= 0 && bytes.Equal(b, before) {
			v.same[last] = append(v.same[last], t)
			continue
		}
		common := 0
		for common < len(before) && common < len(b) && before[common] == b[common] {
			common++
		}
		pop(common)
		for i := common; i < len(b); i++ {
			path = append(path, int32(len(v.label)))
			v.label = append(v.label, b[i])
			v.depth = append(v.depth, uint16(i+1))
			v.after = append(v.after, 0)
			v.token = append(v.token, -1)
		}
		v.token[len(v.token)-1] = t
		v.brackets = max(v.brackets, int32(bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{"))))
		before, last = b, t
	}
	pop(0)
}
