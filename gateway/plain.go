package gateway

import (
	"bytes"

	"github.com/llmctl/llmctl/internal/jsonscan"
	"github.com/llmctl/llmctl/internal/openai"
)

// Nearly all events of a stream are plain: they bring a piece of an answer, and
// neither usage nor an end nor an error. Most even equal the one before but for a
// text. Telling the first takes one walk over the event that copies nothing, and
// telling the second a comparison: half of what reading an event closely takes, and a
// fortieth (BenchmarkEvents).

// bit is what a plain event brings.
type bit struct {
	output     bool
	heard      heard
	start, end int // of a text in the event that is output by itself; 0 where there is none
}

// text notes a text that the scanner has just read; the first one of several is as
// good as any.
func (p *bit) text(s *jsonscan.Scanner, text []byte) {
	if len(text) == 0 {
		return
	}
	p.output = true
	p.heard.bytes += int64(textLen(text))
	if p.end == 0 {
		p.end = s.Pos() - len(`"`)
		p.start = p.end - len(text)
	}
}

// readPlain reads a plain event; plain is false for all others, and for whatever is
// written unusually: readClosely reads those.
func readPlain(e openai.Event) (p bit, plain bool) {
	if len(e.Name) > 0 || len(e.Data) == 0 || e.Data[0] != '{' {
		return p, false
	}
	s := jsonscan.New(e.Data)
	plain = true
	s.Object()
	for key, ok := s.Key(); ok && plain; key, ok = s.Key() {
		switch string(key) {
		case "choices":
			if s.Peek() != '[' {
				return p, false
			}
			s.Array()
			for plain && s.Element() {
				plain = p.choice(&s)
			}
		case "usage", "error":
			plain = null(&s)
		default:
			s.Skip()
		}
	}
	s.End()
	return p, plain && !s.Bad()
}

// choice reads the choice that comes next, and reports whether that goes on.
func (p *bit) choice(s *jsonscan.Scanner) bool {
	if s.Peek() != '{' {
		return false
	}
	before := p.output
	p.output = false
	s.Object()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "text":
			p.text(s, s.Text())
		case "delta":
			if s.Peek() != '{' {
				return false
			}
			p.delta(s)
		case "finish_reason":
			if !null(s) {
				return false
			}
		default:
			s.Skip()
		}
	}
	p.piece(before)
	return true
}

// piece counts the choice that was read if it has output; before is whether another one
// had.
func (p *bit) piece(before bool) {
	if p.output {
		p.heard.pieces++
	}
	p.output = p.output || before
}

// delta reads the object that comes next: a delta, or a message. It has output when the
// model generated something: content, reasoning, a refusal, sound or a tool call. A role
// alone is none. Content is a text, or a list of parts where a model thinks aloud
// between them.
func (p *bit) delta(s *jsonscan.Scanner) {
	s.Object()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "content", "reasoning_content", "reasoning", "refusal":
			if s.Peek() == '"' {
				p.text(s, s.Text())
			} else {
				p.parts(s)
			}
		case "tool_calls", "function_call", "reasoning_details", "audio":
			p.parts(s)
		default:
			s.Skip()
		}
	}
}

// parts reads a value that is output when there is something in it.
func (p *bit) parts(s *jsonscan.Scanner) {
	inside := s.At(s.Pos())
	if holds(s.Value()) {
		p.output = true
		p.heard.bytes += int64(written(&inside))
	}
}

// null reads a value and reports whether it is null.
func null(s *jsonscan.Scanner) bool {
	is := s.Peek() == 'n'
	s.Skip()
	return is
}

// holds tells whether a value is an object, or a list with something in it.
func holds(v []byte) bool {
	return len(v) > 0 && (v[0] == '{' || v[0] == '[' && len(bytes.TrimSpace(v[1:len(v)-1])) > 0)
}

// mould is what surrounds the text of a plain event. One that has the same around
// another text is plain, too, and has output.
type mould struct {
	head, tail []byte
	around     heard // what an event of it brings beside the text
}

// largestMould is above what plain events have; each open stream has a mould.
const largestMould = 1 << 10

// take makes the mould that of a plain event.
func (m *mould) take(data []byte, p bit) {
	m.head, m.tail = m.head[:0], m.tail[:0]
	if p.end > 0 && len(data) <= largestMould {
		m.head = append(m.head, data[:p.start]...)
		m.tail = append(m.tail, data[p.end:]...)
		m.around = p.heard
		m.around.bytes -= int64(textLen(data[p.start:p.end]))
	}
}

// text is the bytes of text of an event that is from the mould: its text is one JSON
// string without escapes, and not empty. It is 0 for all others.
func (m *mould) text(e openai.Event) int {
	around := len(m.head) + len(m.tail)
	if around == 0 || len(e.Name) > 0 || len(e.Data) <= around || !bytes.HasPrefix(e.Data, m.head) || !bytes.HasSuffix(e.Data, m.tail) {
		return 0
	}
	text := e.Data[len(m.head) : len(e.Data)-len(m.tail)]
	for _, c := range text {
		if c == '"' || c == '\\' || c < ' ' {
			return 0
		}
	}
	return len(text)
}
