package grammar

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// A Vocabulary is a tokenizer's tokens as a trie of their bytes. It is safe for
// concurrent use, and built once per tokenizer.
type Vocabulary struct {
	size     int
	end      []int32
	isEnd    map[int32]bool
	text     []byte   // of all tokens
	offset   []uint32 // token i is text[offset[i]:offset[i+1]]; empty for those that are never text
	trie     *trie
	brackets int32        // the most that any token opens
	kept     atomic.Int64 // bytes of masks that all grammars keep for it
	common   sync.Map     // of states of strings without bounds, which all grammars share: *stateMask
}

// maxToken is the longest token, in bytes, that can be constrained; longer ones are
// never allowed.
const maxToken = 1 << 12

// NewVocabulary reads the tokens 0 … size−1. text is what a token adds to a text,
// special whether it marks something instead; neither those nor tokens without bytes
// are ever allowed, but for the tokens that end a sequence.
func NewVocabulary(size int, text func(token int32) []byte, special func(int32) bool, end []int32) *Vocabulary {
	v := &Vocabulary{size: size, isEnd: map[int32]bool{}}
	for _, e := range end {
		if e >= 0 && int(e) < size && !v.isEnd[e] {
			v.isEnd[e] = true
			v.end = append(v.end, e)
		}
	}
	v.offset = make([]uint32, 1, size+1)
	for t := range int32(size) {
		if !v.isEnd[t] && !special(t) {
			if b := text(t); len(b) <= maxToken {
				v.text = append(v.text, b...)
			}
		}
		v.offset = append(v.offset, uint32(len(v.text)))
	}
	entries := make([]entry, 0, size)
	for t := range int32(size) {
		if b := v.bytesOf(t); len(b) > 0 {
			entries = append(entries, newEntry(v.text, v.offset[t], v.offset[t+1], t))
			v.brackets = max(v.brackets, int32(count(b, '[')+count(b, '{')))
		}
	}
	v.trie = newTrie(v.text, entries)
	return v
}

func count(b []byte, c byte) int { return bytes.Count(b, []byte{c}) }

// Size is the number of tokens, and of bits in a mask.
func (v *Vocabulary) Size() int { return v.size }

// bytesOf is a token's text.
func (v *Vocabulary) bytesOf(token int32) []byte {
	return v.text[v.offset[token]:v.offset[token+1]]
}
