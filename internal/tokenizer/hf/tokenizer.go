package hf

import (
	"sync"

	"github.com/llmctl/llmctl/internal/tokenizer"
)

// Tokenizer is the tokenizer of a model. It may be used from any goroutine.
type Tokenizer struct {
	verbatim   addedTokens // found in the text as it is
	normalized addedTokens // found after normalizing
	normalize  []normalizer
	split      splitters
	model      model
	begin      []int32
	decoder    decoder
	tokens     []token
	names      func() map[string]int32
}

// token is what is known about one.
type token struct {
	name    string // its marker or text
	text    string // what it adds to a text
	bytes   []byte // the same
	special bool
}

// model makes tokens of one piece of text, which is not empty.
type model interface {
	encode(dst []int32, piece string, s *scratch) []int32
}

var _ tokenizer.Tokenizer = (*Tokenizer)(nil)

// setTokens makes the texts of tokens known.
func (t *Tokenizer) setTokens(tokens []token) {
	var size int
	for _, one := range tokens {
		size += len(one.text)
	}
	blob := make([]byte, 0, size)
	for i := range tokens {
		blob = append(blob, tokens[i].text...)
		end := len(blob)
		tokens[i].bytes = blob[end-len(tokens[i].text) : end : end]
	}
	t.tokens = tokens
	t.names = sync.OnceValue(func() map[string]int32 {
		names := make(map[string]int32, len(tokens))
		for i, one := range tokens {
			known, twice := names[one.name]
			// A byte that is also a character has two tokens, of which that of the
			// character is meant: bytes come first in vocabularies.
			if one.name != "" && (!twice || !tokens[known].special) {
				names[one.name] = int32(i)
			}
		}
		return names
	})
}

// Size is the number of tokens that the vocabulary names. A model may have more
// rows, which have no text.
func (t *Tokenizer) Size() int { return len(t.tokens) }

// Begin are the tokens that the model wants before a sequence.
func (t *Tokenizer) Begin() []int32 { return t.begin }

// Bytes is what a token adds in the middle of a text.
func (t *Tokenizer) Bytes(token int32) []byte {
	if token < 0 || int(token) >= len(t.tokens) {
		return nil
	}
	return t.tokens[token].bytes
}

// Name is a token as a person reads it.
func (t *Tokenizer) Name(token int32) string {
	if token < 0 || int(token) >= len(t.tokens) {
		return ""
	}
	return t.tokens[token].name
}

// Special says whether a token marks something instead of being text.
func (t *Tokenizer) Special(token int32) bool {
	return token >= 0 && int(token) < len(t.tokens) && t.tokens[token].special
}

// Token finds a token by its marker or its text.
func (t *Tokenizer) Token(name string) (int32, bool) {
	token, ok := t.names()[name]
	return token, ok
}

// Encode appends the tokens of a text to dst.
func (t *Tokenizer) Encode(dst []int32, text string, special bool) []int32 {
	s := scratches.Get().(*scratch)
	defer s.release()
	return t.encode(dst, text, special, s)
}

// Count returns how many tokens a text has, without those that a model wants at
// its beginning or end. Markers of special tokens count as one each.
func (t *Tokenizer) Count(text string) int {
	s := scratches.Get().(*scratch)
	defer s.release()
	s.tokens = t.encode(s.tokens[:0], text, true, s)
	return len(s.tokens)
}

func (t *Tokenizer) encode(dst []int32, text string, special bool, s *scratch) []int32 {
	first := true // nothing stands before
	t.verbatim.parts(text, special, func(from, to int, added *addedToken) {
		if added != nil {
			dst = append(dst, *added.ID)
			first = false
			return
		}
		part := text[from:to]
		for _, normalize := range t.normalize {
			part = normalize(part)
		}
		t.normalized.parts(part, special, func(from, to int, added *addedToken) {
			if added != nil {
				dst = append(dst, *added.ID)
			} else {
				dst = t.plain(dst, part[from:to], first, s)
			}
			first = false
		})
	})
	return dst
}

// plain encodes a text that holds no added tokens.
func (t *Tokenizer) plain(dst []int32, text string, first bool, s *scratch) []int32 {
	s.pieces = append(s.pieces[:0], text)
	for _, split := range t.split.steps {
		s.finer = s.finer[:0]
		for i, piece := range s.pieces {
			s.finer = split(s.finer, piece, first && i == 0)
		}
		s.pieces, s.finer = s.finer, s.pieces
	}
	for _, piece := range s.pieces {
		if piece != "" {
			dst = t.model.encode(dst, piece, s)
		}
	}
	return dst
}
