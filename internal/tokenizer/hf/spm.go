package hf

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// blank stands for a space in the vocabularies of SentencePiece.
const blank = "▁"

// spm is byte-pair encoding as SentencePiece stores it: any two neighbours may be
// joined whose texts together are a token, the one of the highest score first
// (https://github.com/google/sentencepiece, bpe_model.cc).
type spm struct {
	vocab   map[string]int32
	rank    []int32 // of tokens, the highest score first and equal ones alike
	bytes   [256]int32
	unknown int32
	cache   *wordCache
}

// newSPM ranks the tokens by their scores.
func newSPM(vocab map[string]int32, scores []float32, unknown int32) *spm {
	m := &spm{vocab: vocab, rank: make([]int32, len(scores)), unknown: unknown, cache: newWordCache()}
	for i := range m.bytes {
		m.bytes[i] = noID
	}
	order := make([]int32, len(scores))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
	for i, id := range order {
		m.rank[id] = int32(i)
		if i > 0 && cmp.Compare(scores[order[i-1]], scores[id]) == 0 {
			m.rank[id] = m.rank[order[i-1]]
		}
	}
	return m
}

func (m *spm) encode(dst []int32, piece string, s *scratch) []int32 {
	return m.cache.encode(m, dst, piece, s)
}

func (m *spm) split(dst []int32, piece string, s *scratch) []int32 {
	s.symbols = s.symbols[:0]
	for at := 0; at < len(piece); {
		_, size := utf8.DecodeRuneInString(piece[at:])
		id, ok := m.vocab[piece[at:at+size]]
		if !ok {
			id = noID
		}
		s.add(id, at, at+size)
		at += size
	}
	s.join(func(left, right *symbol) (merged, bool) {
		id, ok := m.vocab[piece[left.start:right.end]]
		if !ok {
			return merged{}, false
		}
		return merged{m.rank[id], id}, true
	})
	for i := int32(0); i >= 0; i = s.symbols[i].next {
		if one := &s.symbols[i]; one.id != noID {
			dst = append(dst, one.id)
		} else {
			dst = m.fallback(dst, piece[one.start:one.end])
		}
	}
	return dst
}

// fallback writes the bytes of a character that is no token.
func (m *spm) fallback(dst []int32, text string) []int32 {
	for i := range len(text) {
		if id := m.bytes[text[i]]; id != noID {
			dst = append(dst, id)
		} else if m.unknown != noID {
			dst = append(dst, m.unknown)
		}
	}
	return dst
}

// wordsApart says that no token goes on behind a word: none has a blank after
// something else. Words can then be encoded by themselves, and remembered.
func wordsApart(vocab map[string]int32) bool {
	if _, ok := vocab[blank]; !ok {
		return false // neighbours that are both unknown would be one
	}
	for text := range vocab {
		if strings.Contains(strings.TrimLeft(text, blank), blank) {
			return false
		}
	}
	return true
}

// splitWords splits before blanks that follow something else.
func splitWords(pieces []string, piece string, _ bool) []string {
	for {
		word := len(piece) - len(strings.TrimLeft(piece, blank))
		next := strings.Index(piece[word:], blank)
		if next < 0 {
			return append(pieces, piece)
		}
		pieces = append(pieces, piece[:word+next])
		piece = piece[word+next:]
	}
}
