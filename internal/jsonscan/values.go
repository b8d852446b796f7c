package jsonscan

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/llmctl/llmctl/internal/optional"
)

// Text reads a value and returns it, without its quotes but still escaped, when
// it is a string.
func (s *Scanner) Text() []byte {
	if s.Peek() == '"' {
		return s.quoted()
	}
	s.Skip()
	return nil
}

// Value reads a value of any kind and returns its text.
func (s *Scanner) Value() []byte {
	s.space()
	start := s.pos
	s.Skip()
	if s.bad {
		return nil
	}
	return s.data[start:s.pos]
}

// Object steps into an object, which the next value must be.
func (s *Scanner) Object() {
	if !s.Enter('{') {
		s.fail("'{'")
	}
}

// Array steps into an array, which the next value must be.
func (s *Scanner) Array() {
	if !s.Enter('[') {
		s.fail("'['")
	}
}

// String reads a string, which the next value must be, and returns what is
// between its quotes, still escaped.
func (s *Scanner) String() []byte {
	if s.Peek() != '"' {
		s.fail("a string")
		return nil
	}
	return s.quoted()
}

// Number reads a number, which the next value must be, and returns its text.
func (s *Scanner) Number() []byte {
	c := s.Peek()
	if c != '-' && (c < '0' || c > '9') {
		s.fail("a number")
		return nil
	}
	start := s.pos
	s.number()
	if s.bad {
		return nil
	}
	return s.data[start:s.pos]
}

// Bool reads true or false, which the next value must be.
func (s *Scanner) Bool() bool {
	switch s.Peek() {
	case 't':
		s.word("true")
		return !s.bad
	case 'f':
		s.word("false")
	default:
		s.fail("true or false")
	}
	return false
}

// maxCount is the largest count that is believed, 134 million: the longest
// contexts are of ten million tokens.
const maxCount = 1 << 27

// Count reads a value and returns it when it is a count, be it written 17, 17.0
// or 1.7e1; absent when it is something else.
func (s *Scanner) Count() optional.Count {
	text := s.Value()
	if s.bad || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return 0
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return s.realCount(text)
		}
		if n = 10*n + int(c-'0'); n > maxCount {
			return s.realCount(text)
		}
	}
	return optional.Counted(n)
}

// realCount is the count that a number is which is no row of digits.
func (s *Scanner) realCount(text []byte) optional.Count {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || text[0] == '-' || f > maxCount || f != math.Trunc(f) {
		s.odd = true
		return 0
	}
	return optional.Counted(int(f))
}

// ImpossibleCount reports whether Count has met a number that can not be a
// count, a negative one, a fraction or one beyond any, since it was last asked.
func (s *Scanner) ImpossibleCount() bool {
	odd := s.odd
	s.odd = false
	return odd
}

// Filled reads a value and reports whether it is an object or array that is not
// empty.
func (s *Scanner) Filled() bool {
	open := s.Peek()
	if open != '{' && open != '[' {
		s.Skip()
		return false
	}
	start := s.pos
	s.Skip()
	return !s.bad && len(bytes.TrimSpace(s.data[start+1:s.pos-1])) > 0
}

// Skip reads one value of any kind. It recurses no deeper than maxDepth.
func (s *Scanner) Skip() {
	switch c := s.Peek(); {
	case s.bad:
	case c == '{':
		if s.Enter('{') {
			for _, ok := s.Key(); ok; _, ok = s.Key() {
				s.Skip()
			}
		}
	case c == '[':
		if s.Enter('[') {
			for s.Element() {
				s.Skip()
			}
		}
	case c == '"':
		s.quoted()
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	case c == 't':
		s.word("true")
	case c == 'f':
		s.word("false")
	case c == 'n':
		s.word("null")
	default:
		s.fail("a value")
	}
}

func (s *Scanner) word(w string) {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(w)) {
		s.fail(w)
		return
	}
	s.pos += len(w)
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *Scanner) number() {
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else {
		s.digits()
	}
	if s.at('.') {
		s.pos++
		s.digits()
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		s.digits()
	}
}

func (s *Scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

func (s *Scanner) digits() {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == start {
		s.fail("a digit")
	}
}

// quoted reads a string at its opening quote and returns what is between the
// quotes.
func (s *Scanner) quoted() []byte {
	start := s.pos + 1
	for i := start; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			return s.data[start:i]
		case c == '\\':
			n := escapeLen(s.data[i:])
			if n == 0 {
				s.pos = i
				s.fail("an escape")
				return nil
			}
			i += n - 1
		case c < ' ':
			s.pos = i
			s.fail("no control character")
			return nil
		}
	}
	s.pos = len(s.data)
	s.fail("the end of a string")
	return nil
}

// escapeLen is the length of the escape at the start of p, 0 when it is none.
func escapeLen(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	switch p[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(p) < 6 {
			return 0
		}
		for _, c := range p[2:6] {
			if !isHex(c) {
				return 0
			}
		}
		return 6
	}
	return 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// AppendUnquoted appends the text of a string whose quotes are gone and whose
// grammar has been checked. Bytes that are not UTF-8 become U+FFFD, as in
// encoding/json.
func AppendUnquoted(dst, raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return append(dst, raw...)
	}
	var text string
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic("decoding a string that was checked: " + strconv.Quote(string(raw)))
	}
	return append(dst, text...)
}
