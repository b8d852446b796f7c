package tokenizer

import "unicode/utf8"

// Stream turns tokens into text one at a time without ever cutting a UTF-8
// character in two: bytes that may still become a character are held until
// they do, or until they cannot. The zero Stream is ready.
type Stream struct {
	held []byte // the beginning of a character, at most 3 bytes
}

// Push adds a token and returns the text that is now complete, often the
// token's own and sometimes none.
func (s *Stream) Push(token int32) string {
	text := Text(token)
	if len(s.held) == 0 && (len(text) == 0 || text[len(text)-1] < utf8.RuneSelf) {
		return text // the common case: nothing held, nothing to hold
	}
	s.held = append(s.held, text...)
	keep := unfinished(s.held)
	ready := string(s.held[:len(s.held)-keep])
	s.held = append(s.held[:0], s.held[len(s.held)-keep:]...)
	return ready
}

// Flush returns the bytes that are still held, which are not valid UTF-8.
func (s *Stream) Flush() string {
	rest := string(s.held)
	s.held = s.held[:0]
	return rest
}

// unfinished returns how many bytes at the end of b are the beginning of a
// UTF-8 character that more bytes could complete.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
