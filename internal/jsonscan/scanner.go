// Package jsonscan walks over one JSON document without reflection and without
// allocation, and checks its grammar exactly as encoding/json does.
package jsonscan

import (
	"bytes"
	"fmt"
)

// maxDepth is the deepest nesting accepted, the same as in encoding/json.
const maxDepth = 10000

// Scanner is a position in a document. The first mistake sticks and leaves the
// position where it was seen; after it every method returns nothing, so that
// Err need be asked for only once.
//
//	for key, ok := s.Key(); ok; key, ok = s.Key() { read exactly one value }
//
// Slices that it returns alias the document.
type Scanner struct {
	data   []byte
	pos    int
	depth  int
	first  bool // the innermost object or array was just entered
	bad    bool
	wanted string // what was expected where the document is broken
	err    error  // what a reader of values found, instead
	odd    bool   // Count met a number that can not be a count
}

// New returns a scanner at the start of a document.
func New(data []byte) Scanner { return Scanner{data: data} }

// Pos is the offset of the next byte, or of the mistake.
func (s *Scanner) Pos() int { return s.pos }

// At returns a scanner of the same document at an earlier position, with its
// own mistakes.
func (s *Scanner) At(pos int) Scanner { return Scanner{data: s.data, pos: pos} }

// Bad reports whether there was a mistake.
func (s *Scanner) Bad() bool { return s.bad }

// Err describes the first mistake, nil when there was none.
func (s *Scanner) Err() error {
	switch {
	case !s.bad:
		return nil
	case s.err != nil:
		return s.err
	case s.pos >= len(s.data):
		return fmt.Errorf("ends at byte %d, expected %s", s.pos, s.wanted)
	default:
		return fmt.Errorf("unexpected %q at byte %d, expected %s", s.data[s.pos], s.pos, s.wanted)
	}
}

// Fail ends the scan with a mistake in the meaning of a value.
func (s *Scanner) Fail(err error) {
	if !s.bad {
		s.bad, s.err = true, err
	}
}

// End checks that nothing follows.
func (s *Scanner) End() {
	s.space()
	if s.pos < len(s.data) {
		s.fail("the end")
	}
}

// fail marks the document as broken; it returns false for convenience.
func (s *Scanner) fail(wanted string) bool {
	if !s.bad {
		s.bad, s.wanted = true, wanted
	}
	return false
}

func (s *Scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// Peek returns the first byte of the next value, 0 when there is none.
func (s *Scanner) Peek() byte {
	s.space()
	if s.bad || s.pos == len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

// Enter steps into an object or array; ok is false when the next value is not
// one that opens with this bracket.
func (s *Scanner) Enter(open byte) (ok bool) {
	if s.Peek() != open {
		return false
	}
	if s.depth == maxDepth {
		return s.fail("at most 10,000 levels")
	}
	s.pos++
	s.depth++
	s.first = true
	return true
}

// more steps to the next member of an object or array, or out of it.
func (s *Scanner) more(end byte) bool {
	next := s.Peek()
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
	case end == '}':
		return s.fail("',' or '}'")
	default:
		return s.fail("',' or ']'")
	}
}

// Key steps to the next member of the object and returns its decoded key.
func (s *Scanner) Key() (key []byte, ok bool) {
	key, ok = s.RawKey()
	if bytes.IndexByte(key, '\\') >= 0 {
		key = AppendUnquoted(nil, key)
	}
	return key, ok
}

// RawKey steps to the next member of the object and returns its key as it stands in the
// document, still escaped.
func (s *Scanner) RawKey() (key []byte, ok bool) {
	if !s.more('}') {
		return nil, false
	}
	if s.Peek() != '"' {
		return nil, s.fail("a key")
	}
	key = s.quoted()
	if s.Peek() != ':' {
		return nil, s.fail("':'")
	}
	s.pos++
	return key, true
}

// Element steps to the next element of the array.
func (s *Scanner) Element() bool { return s.more(']') }
