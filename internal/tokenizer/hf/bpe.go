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
	vocab   map[string]int32
	merges  map[uint64]merged // by the two tokens
	cache   *wordCache
	bytes   [256]int32 // tokens of bytes: those of <0xNN>, or of a byte-level vocabulary; or noID
	raw     bool       // pieces are bytes, not characters
	whole   bool       // a piece that is a token is one, however it would be joined
	unknown int32      // the token for what is not in the vocabulary, or noID
	fuse    bool       // unknown neighbours are one
}

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

// readBPE reads the model of a tokenizer.json. raw says that what comes before it
// gives it bytes.
func readBPE(part json.RawMessage, raw bool) (*bpe, error) {
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
	b := newBPE(file.Vocab, len(file.Merges), raw)
	b.whole, b.fuse = file.IgnoreMerges, file.FuseUnknown
	if file.Unknown != nil {
		if id, ok := file.Vocab[*file.Unknown]; ok {
			b.unknown = id
		}
	}
	if !raw && file.ByteFallback {
		for i := range b.bytes {
			if id, ok := file.Vocab[fmt.Sprintf("<0x%02X>", i)]; ok {
				b.bytes[i] = id
			}
		}
	}
	for rank, p := range file.Merges {
		if err := b.merge(rank, p[0], p[1]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// newBPE has no merges yet.
func newBPE(vocab map[string]int32, merges int, raw bool) *bpe {
	b := &bpe{vocab: vocab, merges: make(map[uint64]merged, merges), raw: raw, unknown: noID, cache: newWordCache()}
	for i := range b.bytes {
		b.bytes[i] = noID
		if raw {
			if id, ok := vocab[visible[i]]; ok {
				b.bytes[i] = id
			}
		}
	}
	return b
}

// merge adds a pair that was learned as the rank-th.
func (b *bpe) merge(rank int, left, right string) error {
	l, ok := b.vocab[left]
	r, ok2 := b.vocab[right]
	id, ok3 := b.vocab[left+right]
	if !ok || !ok2 || !ok3 {
		return fmt.Errorf("model: merge %d of %q and %q is of pieces that the vocabulary does not hold", rank, left, right)
	}
	if _, twice := b.merges[both(l, r)]; !twice {
		b.merges[both(l, r)] = merged{int32(rank), id}
	}
	return nil
}

// both is the key of a pair of tokens.
func both(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

func (b *bpe) encode(dst []int32, piece string, s *scratch) []int32 {
	return b.cache.encode(b, dst, piece, s)
}

func (b *bpe) split(dst []int32, piece string, s *scratch) []int32 {
	if b.whole {
		if id, ok := b.token(piece); ok {
			return append(dst, id)
		}
	}
	s.symbols = s.symbols[:0]
	if b.raw {
		b.rawBytes(s, piece)
	} else {
		b.characters(s, piece)
	}
	if len(s.symbols) == 0 {
		return dst
	}
	s.join(func(left, right *symbol) (merged, bool) {
		m, ok := b.merges[both(left.id, right.id)]
		return m, ok
	})
	for i := int32(0); i >= 0; i = s.symbols[i].next {
		dst = append(dst, s.symbols[i].id)
	}
	return dst
}

// token finds the token that a whole piece is.
func (b *bpe) token(piece string) (int32, bool) {
	if b.raw {
		piece = seen(piece)
	}
	id, ok := b.vocab[piece]
	return id, ok
}

// rawBytes makes symbols of the bytes of a piece.
func (b *bpe) rawBytes(s *scratch, piece string) {
	for at := range len(piece) {
		if id := b.bytes[piece[at]]; id != noID {
			s.add(id, at, at+1)
		} else {
			b.addUnknown(s, at, at+1)
		}
	}
}

// characters makes symbols of the characters of a piece.
func (b *bpe) characters(s *scratch, piece string) {
	for at := 0; at < len(piece); {
		_, size := utf8.DecodeRuneInString(piece[at:])
		text := piece[at : at+size]
		id, ok := b.vocab[text]
		switch {
		case ok:
			s.add(id, at, at+size)
		case b.allBytes(text):
			for i := range size {
				s.add(b.bytes[text[i]], at+i, at+i+1)
			}
		default:
			b.addUnknown(s, at, at+size)
		}
		at += size
	}
}

func (b *bpe) addUnknown(s *scratch, start, end int) {
	if b.unknown == noID {
		return
	}
	if last := len(s.symbols) - 1; b.fuse && last >= 0 && s.symbols[last].id == b.unknown {
		s.symbols[last].end = int32(end)
		return
	}
	s.add(b.unknown, start, end)
}

func (b *bpe) allBytes(text string) bool {
	for i := range len(text) {
		if b.bytes[text[i]] == noID {
			return false
		}
	}
	return true
}
