package tokenizer

import "unicode/utf8"

// Characters puts the bytes of tokens together to whole UTF-8 characters: bytes
// that may still become one are held until they do, or until they cannot. What is
// no UTF-8 at all passes through unchanged. The zero Characters is ready.
type Characters struct {
	held []byte // the beginning of a character, at most 3 bytes
}

// Push adds the text of a token and returns what is now complete, often that
// text itself and sometimes nothing.
func (c *Characters) Push(text string) string {
	if len(c.held) == 0 && (len(text) == 0 || text[len(text)-1] < utf8.RuneSelf) {
		return text // the common case: nothing held, nothing to hold
	}
	if len(c.held) == 0 {
		if keep := unfinished(text); keep == 0 {
			return text
		}
	}
	c.held = append(c.held, text...)
	keep := unfinished(c.held)
	ready := string(c.held[:len(c.held)-keep])
	c.held = append(c.held[:0], c.held[len(c.held)-keep:]...)
	return ready
}

// Flush returns the bytes that are still held, which are not valid UTF-8, and
// forgets them.
func (c *Characters) Flush() string {
	rest := string(c.held)
	c.held = c.held[:0]
	return rest
}

// unfinished returns how many bytes at the end of text are the beginning of a
// UTF-8 character that more bytes could complete.
func unfinished[T []byte | string](text T) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune([]byte(tail)) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Stream is the Decoder of the built-in tokenizer. The zero Stream is ready.
type Stream struct {
	characters Characters
}

// Push adds a token and returns the text that is now complete.
func (s *Stream) Push(token int32) string { return s.characters.Push(Text(token)) }

// Flush returns the bytes that are still held, which are not valid UTF-8.
func (s *Stream) Flush() string { return s.characters.Flush() }
