package grammar

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// A trie holds texts, each with a token. Nodes lie in preorder: a node's subtree is a
// stretch, so that a walk is a scan which skips stretches, and so are its tokens.
type trie struct {
	label   []byte
	depth   []uint16 // the root's children have 1
	after   []int32  // the first node that is not in a node's subtree
	first   []int32  // node i ends the texts of tokens[first[i]:first[i+1]]
	tokens  []int32
	deepest int // the most depth
	// tall is the height of a node's subtree, itself included, where all its bytes mean
	// nothing to JSON; tooTall where one does.
	tall []uint16
}

// An entry is a stretch of a text on its way into a trie. It has no pointers, because
// sorting many of them would otherwise keep the garbage collector informed.
type entry struct {
	begin  uint64 // the first eight bytes, which decide most comparisons
	at, to uint32
	token  int32
}

func newEntry(text []byte, at, to uint32, token int32) entry {
	var begin [8]byte
	copy(begin[:], text[at:to])
	return entry{binary.BigEndian.Uint64(begin[:]), at, to, token}
}

// newTrie lays out a trie of stretches of text that are not empty. It sorts the entries.
func newTrie(text []byte, entries []entry) *trie {
	slices.SortFunc(entries, func(a, b entry) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		if c := bytes.Compare(text[a.at:a.to], text[b.at:b.to]); c != 0 {
			return c
		}
		return cmp.Compare(a.token, b.token)
	})
	t := &trie{tokens: make([]int32, 0, len(entries))}
	var path []int32 // nodes from the root's child to the last text's
	var before []byte
	pop := func(depth int) {
		for _, n := range path[depth:] {
			t.after[n] = int32(len(t.label))
		}
		path = path[:depth]
	}
	for _, e := range entries {
		this := text[e.at:e.to]
		common := 0
		for common < len(before) && common < len(this) && before[common] == this[common] {
			common++
		}
		pop(common)
		for i := common; i < len(this); i++ {
			path = append(path, int32(len(t.label)))
			t.label = append(t.label, this[i])
			t.depth = append(t.depth, uint16(i+1))
			t.after = append(t.after, 0)
			t.first = append(t.first, int32(len(t.tokens)))
		}
		t.deepest = max(t.deepest, len(this))
		t.tokens = append(t.tokens, e.token)
		before = this
	}
	pop(0)
	t.first = append(t.first, int32(len(t.tokens)))
	t.tall = make([]uint16, len(t.label))
	for i := len(t.label) - 1; i >= 0; i-- {
		t.tall[i] = 1
		for child := int32(i) + 1; child < t.after[i]; child = t.after[child] {
			t.tall[i] = max(t.tall[i], 1+t.tall[child])
		}
		if t.tall[i] > endless || !plain(t.label[i]) {
			t.tall[i] = tooTall
		}
	}
	return t
}

// tooTall is the height of subtrees with bytes that mean something: no run is as long.
const tooTall = 2 * endless

// plain are the bytes that stand for themselves in a JSON string, but for those beyond
// ASCII. Most tokens have no others, so that they are not walked within strings.
func plain(b byte) bool { return ' ' <= b && b <= '~' && b != '"' && b != '\\' }

// below are the tokens whose texts go on after a node.
func (t *trie) below(node int32) []int32 { return t.tokens[t.first[node+1]:t.first[t.after[node]]] }

// memory is about how many bytes a trie takes.
func (t *trie) memory() int { return 13*len(t.label) + 4*len(t.tokens) + 128 }
