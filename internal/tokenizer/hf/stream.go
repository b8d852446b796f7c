package hf

import (
	"strings"

	"github.com/llmctl/llmctl/internal/tokenizer"
)

// stream is the decoder of one sequence.
type stream struct {
	tokens     []token
	strip      string // still to be dropped at the beginning of the text
	characters tokenizer.Characters
}

// Decoder starts the text of a sequence.
func (t *Tokenizer) Decoder(begins bool) tokenizer.Decoder {
	s := &stream{tokens: t.tokens}
	if begins {
		s.strip = t.decoder.strip
	}
	return s
}

// Push adds a token and returns the text that is now complete.
func (s *stream) Push(token int32) string {
	if token < 0 || int(token) >= len(s.tokens) {
		return ""
	}
	text := s.tokens[token].text
	if s.strip != "" && text != "" {
		text = strings.TrimPrefix(text, s.strip)
		s.strip = ""
	}
	return s.characters.Push(text)
}

// Flush returns the bytes that are still held.
func (s *stream) Flush() string { return s.characters.Flush() }
