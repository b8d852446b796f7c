package tokenizer

import "sync"

// Encode appends the tokens of text to dst. At each position it takes the
// longest piece of the vocabulary that matches, so its time is linear in the
// text, and falls back to one token per byte.
func Encode(dst []int32, text string) []int32 {
	t := pieces()
	for at := 0; at < len(text); {
		token, size := t.longest(text[at:])
		dst = append(dst, token)
		at += size
	}
	return dst
}

// Decode returns the text of tokens; specials write nothing.
func Decode(tokens []int32) string {
	var out []byte
	for _, t := range tokens {
		out = append(out, Text(t)...)
	}
	return string(out)
}

// trie holds every piece of the vocabulary that Encode can produce. Bytes are
// first mapped to a letter of a small alphabet, so that a node is small and the
// whole fits into a second-level cache.
type trie struct {
	letter [256]uint8 // 0: the byte begins and continues nothing
	width  int        // letters of the alphabet, letter 0 included
	next   []int16    // node·width + letter → child node, 0 when there is none
	token  []int32    // node → token that ends here, −1 when there is none
}

// pieces is built when the first text is encoded: most commands encode none.
var pieces = sync.OnceValue(func() *trie {
	t := &trie{width: 1}
	for _, text := range texts[firstPiece:] {
		for _, b := range []byte(text) {
			if t.letter[b] == 0 {
				t.letter[b] = uint8(t.width)
				t.width++
			}
		}
	}
	t.grow()
	for i, text := range texts[firstPiece:] {
		t.insert(text, int32(firstPiece+i))
	}
	return t
})

func (t *trie) grow() (node int16) {
	t.next = append(t.next, make([]int16, t.width)...)
	t.token = append(t.token, -1)
	return int16(len(t.token) - 1)
}

func (t *trie) insert(text string, token int32) {
	node := int16(0)
	for _, b := range []byte(text) {
		edge := int(node)*t.width + int(t.letter[b])
		if t.next[edge] == 0 {
			child := t.grow()
			t.next[edge] = child
		}
		node = t.next[edge]
	}
	t.token[node] = token
}

// longest returns the token of the longest piece that text begins with, and the
// piece's size in bytes. text is not empty.
func (t *trie) longest(text string) (token int32, size int) {
	token, size = firstByte+int32(text[0]), 1
	node := 0
	for i := range len(text) {
		letter := int(t.letter[text[i]])
		if letter == 0 {
			break
		}
		node = int(t.next[node*t.width+letter])
		if node == 0 {
			break
		}
		if ends := t.token[node]; ends >= 0 {
			token, size = ends, i+1
		}
	}
	return token, size
}
