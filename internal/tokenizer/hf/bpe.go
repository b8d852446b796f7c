package hf

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/llmctl/llmctl/internal/userfile"
)

// bpe is byte-pair encoding (Sennrich, Haddow and Birch 2016): a piece starts as
// its characters, and the pair of neighbours that was learned first is joined
// again and again.
type bpe struct {
	vocab        map[string]int32
	merges       map[[2]int32]merged
	bytes        [256]bool // vocab holds <0xNN>
	byteFallback bool
	whole        bool // a piece that is a token is one, however it would be joined
	unknown      bool // there is a token for what is not in the vocabulary
	fuse         bool // of which neighbours are one
}

type merged struct {
	rank int32
	id   int32
}

// unknownID stands for characters that are not in the vocabulary, and byteID for
// the bytes of one.
const (
	unknownID = -1
	byteID    = -2
)

// pair is one merge, in the file as "a b" or as ["a", "b"].
type pair [2]string

// UnmarshalJSON implements json.Unmarshaler.
func (p *pair) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var list []string
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		if len(list) != 2 {
			return fmt.Errorf("a merge joins two pieces, not %d", len(list))
		}
		*p = pair{list[0], list[1]}
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	left, right, ok := strings.Cut(text, " ")
	if !ok {
		return fmt.Errorf("merge %q has no space between its two pieces", text)
	}
	*p = pair{left, right}
	return nil
}

func readBPE(part json.RawMessage) (*bpe, error) {
	var file struct {
		Vocab        map[string]int32 `json:"vocab"`
		Merges       []pair           `json:"merges"`
		Unknown      *string          `json:"unk_token"`
		Prefix       *string          `json:"continuing_subword_prefix"`
		Suffix       *string          `json:"end_of_word_suffix"`
		FuseUnknown  bool             `json:"fuse_unk"`
		ByteFallback bool             `json:"byte_fallback"`
		IgnoreMerges bool             `json:"ignore_merges"`
	}
	if err := json.Unmarshal(part, &file); err != nil {
		return nil, fmt.Errorf("model: %w", userfile.JSONError(err))
	}
	for name, value := range map[string]*string{"continuing_subword_prefix": file.Prefix, "end_of_word_suffix": file.Suffix} {
		if value != nil && *value != "" {
			return nil, fmt.Errorf("model: %s %q is not supported", name, *value)
		}
	}
	if len(file.Vocab) == 0 {
		return nil, fmt.Errorf("model: no vocabulary")
	}
	b := &bpe{
		vocab: file.Vocab, merges: make(map[[2]int32]merged, len(file.Merges)),
		byteFallback: file.ByteFallback, whole: file.IgnoreMerges, fuse: file.FuseUnknown,
	}
	if file.Unknown != nil {
		_, b.unknown = file.Vocab[*file.Unknown]
	}
	for i := range b.bytes {
		_, b.bytes[i] = file.Vocab[fmt.Sprintf("<0x%02X>", i)]
	}
	for rank, p := range file.Merges {
		left, ok := file.Vocab[p[0]]
		right, ok2 := file.Vocab[p[1]]
		id, ok3 := file.Vocab[p[0]+p[1]]
		if !ok || !ok2 || !ok3 {
			return nil, fmt.Errorf("model: merge %d of %q and %q is of pieces that the vocabulary does not hold", rank, p[0], p[1])
		}
		if _, twice := b.merges[[2]int32{left, right}]; !twice {
			b.merges[[2]int32{left, right}] = merged{int32(rank), id}
		}
	}
	return b, nil
}

// symbol is one part of a piece, in a list.
type symbol struct {
	id         int32
	prev, next int32 // −1 at the ends
	gone       bool
}

func (b *bpe) count(piece string) int {
	if b.whole {
		if _, ok := b.vocab[piece]; ok {
			return 1
		}
	}
	symbols := b.characters(make([]symbol, 0, len(piece)), piece)
	return b.join(symbols)
}

// characters appends the characters of a piece.
func (b *bpe) characters(symbols []symbol, piece string) []symbol {
	add := func(id int32) {
		symbols = append(symbols, symbol{id: id, prev: int32(len(symbols)) - 1, next: int32(len(symbols)) + 1})
	}
	for at := 0; at < len(piece); {
		_, size := utf8.DecodeRuneInString(piece[at:])
		text := piece[at : at+size]
		at += size
		id, ok := b.vocab[text]
		switch {
		case ok:
			add(id)
		case b.byteFallback && b.allBytes(text):
			for range size {
				add(byteID)
			}
		case b.unknown:
			if last := len(symbols) - 1; !b.fuse || last < 0 || symbols[last].id != unknownID {
				add(unknownID)
			}
		}
	}
	if len(symbols) > 0 {
		symbols[len(symbols)-1].next = -1
	}
	return symbols
}

func (b *bpe) allBytes(text string) bool {
	for i := range len(text) {
		if !b.bytes[text[i]] {
			return false
		}
	}
	return true
}

// join joins neighbours until no pair is left that was learned, and returns how
// many symbols remain. A queue of the pairs makes it n·log n: SentencePiece knows
// no pieces, so that n is the length of the text.
func (b *bpe) join(symbols []symbol) int {
	left := len(symbols)
	q := make(queue, 0, len(symbols))
	offer := func(at int32) {
		if at < 0 || symbols[at].next < 0 {
			return
		}
		ids := [2]int32{symbols[at].id, symbols[symbols[at].next].id}
		if m, ok := b.merges[ids]; ok {
			q.push(candidate{at, ids, m})
		}
	}
	for i := range symbols {
		offer(int32(i))
	}
	for len(q) > 0 {
		c := q.pop()
		s := &symbols[c.at]
		if s.gone || s.next < 0 || s.id != c.ids[0] || symbols[s.next].id != c.ids[1] {
			continue // one of the two has been joined with another
		}
		joined := &symbols[s.next]
		joined.gone = true
		s.id, s.next = c.id, joined.next
		if s.next >= 0 {
			symbols[s.next].prev = c.at
		}
		left--
		offer(s.prev)
		offer(c.at)
	}
	return left
}

// candidate is a pair that may be joined.
type candidate struct {
	at  int32 // of its first symbol
	ids [2]int32
	merged
}

func (c *candidate) before(other *candidate) bool {
	if c.rank != other.rank {
		return c.rank < other.rank
	}
	return c.at < other.at
}

// queue is a binary heap of candidates, the pair that was learned first on top
// and of equal ones the leftmost. container/heap would allocate for each.
type queue []candidate

func (q *queue) push(c candidate) {
	*q = append(*q, c)
	h := *q
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *queue) pop() candidate {
	h := *q
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&h[i]) {
			return top
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
