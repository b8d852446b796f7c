package chat

import (
	"slices"
	"strings"
	"unicode"

	"github.com/llmctl/llmctl/internal/tokenizer"
)

// Encoder turns segments into tokens, such that only trusted text becomes special
// tokens. It is safe for concurrent use.
//
// A prompt in which no client wrote a special token's text is encoded as one string,
// exactly as the model was trained. In one that has such text, the template's own
// markers are found first, and what stands between them is encoded without specials.
type Encoder struct {
	// Forgeable lets the text of clients become special tokens too, as vLLM does.
	Forgeable bool

	tok     tokenizer.Tokenizer
	special map[string]marker
	sizes   []int     // of the names in special, longest first
	first   [256]bool // bytes that they begin with
}

// marker is a special token; some swallow the white space beside them.
type marker struct {
	token                   int32
	trimsBefore, trimsAfter bool
}

// NewEncoder prepares a tokenizer's special tokens.
func NewEncoder(tok tokenizer.Tokenizer) *Encoder {
	e := &Encoder{tok: tok, special: map[string]marker{}}
	for t := range int32(tok.Size()) {
		name := tok.Name(t)
		if !tok.Special(t) || name == "" {
			continue
		}
		one := func(text string) bool {
			tokens := tok.Encode(nil, text, true)
			return len(tokens) == 1 && tokens[0] == t
		}
		if !one(name) {
			continue // it is not found in text at all
		}
		e.special[name] = marker{t, one("\n" + name), one(name + "\n")}
		e.first[name[0]] = true
		if !slices.Contains(e.sizes, len(name)) {
			e.sizes = append(e.sizes, len(name))
		}
	}
	slices.Sort(e.sizes)
	slices.Reverse(e.sizes)
	return e
}

// Encode appends the tokens of a prompt to dst.
func (e *Encoder) Encode(dst []int32, segments []Segment) []int32 {
	var b strings.Builder
	var trusted []int // where each trusted segment begins and ends
	for _, s := range segments {
		if n := len(trusted); s.Trusted && n > 0 && trusted[n-1] == b.Len() {
			trusted[n-1] += len(s.Text)
		} else if s.Trusted {
			trusted = append(trusted, b.Len(), b.Len()+len(s.Text))
		}
		b.WriteString(s.Text)
	}
	text := b.String()
	if e.Forgeable {
		return e.tok.Encode(dst, text, true)
	}
	marks := e.marks(text, trusted)
	if !e.forged(text, trusted) {
		n := len(dst)
		if dst = e.tok.Encode(dst, text, true); e.count(dst[n:]) == len(marks) {
			return dst
		}
		// A tokenizer that changes text before it looks for specials may find some
		// that are not there to the letter.
		dst = dst[:n]
	}
	return e.guarded(dst, text, marks)
}

func (e *Encoder) count(tokens []int32) (n int) {
	for _, t := range tokens {
		if e.tok.Special(t) {
			n++
		}
	}
	return n
}

// forged reports whether a special token's text stands anywhere outside of trusted
// text, or across its border.
func (e *Encoder) forged(text string, trusted []int) bool {
	for i := range len(text) {
		if !e.first[text[i]] {
			continue
		}
		for _, size := range e.sizes {
			if i+size > len(text) {
				continue
			}
			if _, ok := e.special[text[i:i+size]]; ok && !within(trusted, i, i+size) {
				return true
			}
		}
	}
	return false
}

// within reports whether one trusted stretch holds the bytes from lo to before hi.
func within(trusted []int, lo, hi int) bool {
	i, _ := slices.BinarySearch(trusted, lo+1) // the first border after lo
	return i%2 == 1 && hi <= trusted[i]
}

// mark is a special token that the template wrote into bytes lo to before hi.
type mark struct {
	marker
	lo, hi int
}

// marks finds the special tokens that the template wrote, the longest first.
func (e *Encoder) marks(text string, trusted []int) (out []mark) {
	for i := 0; i < len(text); {
		m, size := e.at(text, i, trusted)
		if size > 0 {
			out = append(out, mark{m, i, i + size})
		}
		i += max(size, 1)
	}
	return out
}

// guarded takes the tokens of the marks, and encodes the text between them without
// special ones.
func (e *Encoder) guarded(dst []int32, text string, marks []mark) []int32 {
	start, trim := 0, false
	plain := func(end int, trimEnd bool) {
		s := text[start:end]
		if trim {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		if trimEnd {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		if s != "" {
			dst = e.tok.Encode(dst, s, false)
		}
	}
	for _, m := range marks {
		plain(m.lo, m.trimsBefore)
		dst = append(dst, m.token)
		start, trim = m.hi, m.trimsAfter
	}
	plain(len(text), false)
	return dst
}

// at finds the longest special token that the template wrote at a place.
func (e *Encoder) at(text string, i int, trusted []int) (m marker, size int) {
	if !e.first[text[i]] {
		return marker{}, 0
	}
	for _, size := range e.sizes {
		if i+size <= len(text) && within(trusted, i, i+size) {
			if m, ok := e.special[text[i:i+size]]; ok {
				return m, size
			}
		}
	}
	return marker{}, 0
}
