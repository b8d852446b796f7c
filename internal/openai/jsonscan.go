package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/llmctl/llmctl/reports/record"
)

// maxDepth is the deepest nesting accepted, the same as in encoding/json.
const maxDepth = 10000

// scanner walks over one JSON document and checks its grammar on the way. The
// first mistake sets bad and moves the position to where it was seen; after it
// every method returns nothing.
//
//	for key, ok := s.key(); ok; key, ok = s.key() { read exactly one value }
type scanner struct {
	data  []byte
	pos   int
	depth int
	first bool // the innermost object or array was just entered
	bad   bool
	odd   bool // a number stood for a count that no count can be
}

// fail marks the document as broken; it returns false for convenience.
func (s *scanner) fail() bool {
	s.bad = true
	return false
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the first byte of the next value, 0 when there is none.
func (s *scanner) peek() byte {
	s.space()
	if s.bad || s.pos == len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

// enter steps into an object or array; ok is false when the next value is not
// one that opens with this bracket.
func (s *scanner) enter(open byte) (ok bool) {
	if s.peek() != open {
		return false
	}
	if s.depth == maxDepth {
		return s.fail()
	}
	s.pos++
	s.depth++
	s.first = true
	return true
}

// more steps to the next member of an object or array, or out of it.
func (s *scanner) more(end byte) bool {
	next := s.peek()
	first := s.first
	s.first = false
	switch {
	case s.bad:
		return false
	case next == end:
		s.pos++
		s.depth--
		return false
	case first:
		return true
	case next == ',':
		s.pos++
		return true
	default:
		return s.fail()
	}
}

// key steps to the next member of the object and returns its decoded key.
func (s *scanner) key() (key []byte, ok bool) {
	if !s.more('}') {
		return nil, false
	}
	if s.peek() != '"' {
		return nil, s.fail()
	}
	key = s.quoted()
	if s.peek() != ':' {
		return nil, s.fail()
	}
	s.pos++
	if bytes.IndexByte(key, '\\') >= 0 {
		key = appendUnquoted(nil, key)
	}
	return key, true
}

// element steps to the next element of the array.
func (s *scanner) element() bool { return s.more(']') }

// text reads a value and returns it, without its quotes but still escaped, when
// it is a string.
func (s *scanner) text() []byte {
	if s.peek() == '"' {
		return s.quoted()
	}
	s.skip()
	return nil
}

// maxCount is the largest count that is believed; no request has more tokens.
const maxCount = 1 << 31

// integer reads a value and returns it when it is a count. A number that no
// count can be sets odd.
func (s *scanner) integer() record.Count {
	s.space()
	start := s.pos
	s.skip()
	if s.bad {
		return 0
	}
	n := 0
	for i, c := range s.data[start:s.pos] {
		if c < '0' || c > '9' {
			s.odd = s.odd || i == 0 && c == '-'
			return 0
		}
		if n = 10*n + int(c-'0'); n > maxCount {
			s.odd = true
			return 0
		}
	}
	return record.Counted(n)
}

// filled reads a value and reports whether it is an object or array that is not
// empty.
func (s *scanner) filled() bool {
	open := s.peek()
	if open != '{' && open != '[' {
		s.skip()
		return false
	}
	start := s.pos
	s.skip()
	return !s.bad && len(bytes.TrimSpace(s.data[start+1:s.pos-1])) > 0
}

// skip reads one value of any kind. It recurses no deeper than maxDepth.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case s.bad:
	case c == '{':
		if s.enter('{') {
			for _, ok := s.key(); ok; _, ok = s.key() {
				s.skip()
			}
		}
	case c == '[':
		if s.enter('[') {
			for s.element() {
				s.skip()
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
		s.fail()
	}
}

func (s *scanner) word(w string) {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(w)) {
		s.fail()
		return
	}
	s.pos += len(w)
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number() {
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

func (s *scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

func (s *scanner) digits() {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == start {
		s.fail()
	}
}

// quoted reads a string at its opening quote and returns what is between the
// quotes.
func (s *scanner) quoted() []byte {
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
				s.fail()
				return nil
			}
			i += n - 1
		case c < ' ':
			s.pos = i
			s.fail()
			return nil
		}
	}
	s.pos = len(s.data)
	s.fail()
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

// appendUnquoted appends the text of a string whose quotes are gone and whose
// grammar has been checked. Bytes that are not UTF-8 become U+FFFD, as in
// encoding/json.
func appendUnquoted(dst, raw []byte) []byte {
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
