package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// scanner reads the JSON of one record without reflection. It checks what it
// uses; members that nobody asked for are checked by encoding/json.
type scanner struct {
	in []byte
	at int
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.in) {
		switch c := s.in[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.unexpected(fmt.Sprintf("%q", c))
	}
	s.at++
	return nil
}

func (s *scanner) unexpected(want string) error {
	if s.at >= len(s.in) {
		return fmt.Errorf("ends at byte %d, expected %s", s.at, want)
	}
	return fmt.Errorf("unexpected %q at byte %d, expected %s", s.in[s.at], s.at, want)
}

func (s *scanner) end() error {
	if s.peek() != 0 || s.at < len(s.in) {
		return s.unexpected("the end of the line")
	}
	return nil
}

// object calls member with the name of each member; member reads its value.
func (s *scanner) object(member func(key []byte) error) error {
	return s.list('{', '}', func() error {
		key, plain, err := s.quoted()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if !plain { // no known name needs escapes
			_, err := s.value()
			return err
		}
		return member(key[1 : len(key)-1])
	})
}

// array calls element for each element; element reads it.
func (s *scanner) array(element func() error) error { return s.list('[', ']', element) }

func (s *scanner) list(open, close byte, element func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.peek() == close {
		s.at++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.at++
		case close:
			s.at++
			return nil
		default:
			return s.unexpected(fmt.Sprintf("',' or %q", close))
		}
	}
}

// number returns the text of a number as JSON defines it.
func (s *scanner) number() ([]byte, error) {
	s.peek()
	start := s.at
	if s.at < len(s.in) && s.in[s.at] == '-' {
		s.at++
	}
	whole := s.digits()
	leadingZero := whole > 1 && s.in[s.at-whole] == '0'
	ok := whole > 0 && !leadingZero
	if s.at < len(s.in) && s.in[s.at] == '.' {
		s.at++
		ok = s.digits() > 0 && ok
	}
	if s.at < len(s.in) && (s.in[s.at] == 'e' || s.in[s.at] == 'E') {
		s.at++
		if s.at < len(s.in) && (s.in[s.at] == '+' || s.in[s.at] == '-') {
			s.at++
		}
		ok = s.digits() > 0 && ok
	}
	if !ok {
		s.at = start
		return nil, s.unexpected("a number")
	}
	return s.in[start:s.at], nil
}

func (s *scanner) digits() (n int) {
	for s.at < len(s.in) && s.in[s.at] >= '0' && s.in[s.at] <= '9' {
		s.at++
		n++
	}
	return n
}

// quoted returns a string with its quotes; plain means that the bytes between
// them are the value.
func (s *scanner) quoted() (text []byte, plain bool, err error) {
	if s.peek() != '"' {
		return nil, false, s.unexpected("a string")
	}
	plain = true
	for i := s.at + 1; i < len(s.in); i++ {
		switch c := s.in[i]; {
		case c == '"':
			text = s.in[s.at : i+1]
			s.at = i + 1
			return text, plain, nil
		case c == '\\':
			plain = false
			i++
		case c < 0x20:
			return nil, false, errors.New("control character in a string")
		case c > 0x7e: // may not be UTF-8
			plain = false
		}
	}
	return nil, false, errors.New("string without an end")
}

func (s *scanner) boolean(v *bool) error {
	s.peek()
	for _, b := range []bool{true, false} {
		if word := fmt.Append(nil, b); bytes.HasPrefix(s.in[s.at:], word) {
			*v = b
			s.at += len(word)
			return nil
		}
	}
	return s.unexpected("true or false")
}

// value returns the text of any value.
func (s *scanner) value() ([]byte, error) {
	s.peek()
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(s.in[s.at:]))
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	s.at += int(d.InputOffset())
	return raw, nil
}
