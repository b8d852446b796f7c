package gateway

import "github.com/llmctl/llmctl/internal/jsonscan"

// heard is output as it came, in a stream or as a whole, and what the gateway's own
// count of its tokens is made from.
type heard struct {
	pieces int64 // one for each choice that an event, or the answer, has output of
	bytes  int64 // of text
}

// tokens guesses the tokens: one for each four bytes of text, as in prompts, and at
// least one for each piece, since no server sends less than a token. Most send one at a
// time, and those have about four bytes.
func (h heard) tokens() int64 { return max(h.pieces, h.bytes/bytesPerToken) }

func (h *heard) add(other heard) {
	h.pieces += other.pieces
	h.bytes += other.bytes
}

// textLen is the bytes of a JSON string's text, of which raw is what stands between its
// quotes. Half a surrogate pair counts two, which are half of what the pair has.
func textLen(raw []byte) (n int) {
	for i := 0; i < len(raw); i++ {
		n++
		if raw[i] != '\\' || i+1 == len(raw) {
			continue
		}
		if i++; raw[i] != 'u' || i+4 >= len(raw) {
			continue
		}
		switch r := unit(raw[i+1 : i+5]); {
		case r < 0x80:
		case r < 0x800, r >= 0xd800 && r < 0xe000:
			n++
		default:
			n += 2
		}
		i += 4
	}
	return n
}

// unit reads the four hexadecimal digits of a UTF-16 unit.
func unit(digits []byte) (n int) {
	for _, c := range digits {
		n = n<<4 + int(c&0xf)
		if c > '9' {
			n += 9
		}
	}
	return n
}

// written reads a value, of any kind, and returns the bytes of what a model wrote in it:
// of a text all, and of an object or a list the texts under the names that servers use
// for them. Names and ids that a server adds are none, nor is sound, whose transcript
// counts.
func written(s *jsonscan.Scanner) (n int) {
	switch s.Peek() {
	case '"':
		return textLen(s.String())
	case '[':
		s.Array()
		for s.Element() {
			n += written(s)
		}
		return n
	case '{':
		s.Object()
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			switch string(key) {
			case "arguments", "input":
				if c := s.Peek(); c == '{' || c == '[' {
					n += len(s.Value()) // an object where others have its text
				} else {
					n += written(s)
				}
			case "function", "custom", "function_call", "tool_calls", "name", "content", "text", "reasoning_content", "reasoning", "reasoning_text", "thinking",
				"summary", "refusal", "transcript", "code", "reasoning_details", "audio":
				n += written(s)
			default:
				s.Skip()
			}
		}
		return n
	}
	s.Skip()
	return 0
}
