package openai

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/llmctl/llmctl/reports/record"
)

// ErrNotChunk reports the data of an event that is neither a JSON object nor
// the end marker.
var ErrNotChunk = errors.New("event is not a JSON object")

// Chunk is what one event of a stream says, for chat completions and for
// completions alike; Parse fills it. It also reads the body of an answer that
// was not streamed, and of an error. Byte slices alias the data given to Parse
// and are valid as long as that is.
//
// Fields of an unexpected type are taken as absent, since servers disagree on
// what they send when they have nothing to say (null, "", [], {}).
type Chunk struct {
	Done bool // the end marker [DONE]

	Choices   int  // length of choices
	Content   bool // some choice carries visible text
	Reasoning bool // some choice carries reasoning text
	ToolCall  bool // some choice carries a piece of a tool call
	Role      bool // some choice names the role

	Finish []byte // the last finish_reason that is not empty, as in the JSON
	Usage  Usage  // zero when the chunk has none
	Failed bool   // the chunk is an error

	text, reasoning        []byte // of the choice with index 0, as in the JSON
	message, kind, problem []byte // the message and type of an error, another server's words for it
}

// Usage is the server's count of tokens; each field is absent when the server
// does not tell. Completion includes Reasoning, Prompt includes Cached.
type Usage struct {
	Prompt, Completion, Total, Cached, Reasoning record.Count
}

// Output reports whether the chunk carries generated output in any channel. A
// role or an empty delta is none.
func (c *Chunk) Output() bool { return c.Content || c.Reasoning || c.ToolCall }

// Visible reports whether the chunk carries output that a user gets to see.
func (c *Chunk) Visible() bool { return c.Content || c.ToolCall }

// AppendText appends the decoded visible text of the first choice.
func (c *Chunk) AppendText(dst []byte) []byte { return appendUnquoted(dst, c.text) }

// AppendReasoning appends the decoded reasoning text of the first choice. A
// text that is sent both as reasoning_content and as reasoning counts once.
func (c *Chunk) AppendReasoning(dst []byte) []byte { return appendUnquoted(dst, c.reasoning) }

// FinishReason is the decoded finish reason, empty when there is none.
func (c *Chunk) FinishReason() string { return string(appendUnquoted(nil, c.Finish)) }

// ErrorMessage is what the server says went wrong: the message of the error
// object, else the detail that FastAPI servers send, else its type.
func (c *Chunk) ErrorMessage() string {
	for _, text := range [][]byte{c.message, c.problem, c.kind} {
		if len(text) > 0 {
			return string(appendUnquoted(nil, text))
		}
	}
	return ""
}

var doneMarker = []byte("[DONE]")

// Parse reads the data of one event. The data is checked to be JSON exactly as
// encoding/json does (RFC 8259, 10,000 levels at most); of a key that appears
// twice the last counts. In steady state Parse does not allocate.
func (c *Chunk) Parse(data []byte) error {
	*c = Chunk{}
	if bytes.Equal(bytes.TrimSpace(data), doneMarker) {
		c.Done = true
		return nil
	}
	s := scanner{data: data}
	if s.peek() != '{' {
		return fmt.Errorf("%w: it begins with %q", ErrNotChunk, clip(data))
	}
	c.document(&s)
	s.space()
	if s.bad || s.pos != len(data) {
		return fmt.Errorf("%w: bad JSON at byte %d of %d", ErrNotChunk, s.pos, len(data))
	}
	return nil
}

func clip(data []byte) []byte { return bytes.TrimSpace(data[:min(len(data), 40)]) }

// document reads the outermost object. Some servers send errors without an
// error object around them: {"object": "error", "message": …} and
// {"detail": …}.
func (c *Chunk) document(s *scanner) {
	var flat, nested, nestedKind []byte
	var failed, flatError bool
	s.enter('{')
	for key, ok := s.key(); ok; key, ok = s.key() {
		switch string(key) {
		case "choices":
			c.Choices, c.Content, c.Reasoning, c.ToolCall, c.Role = 0, false, false, false, false
			c.Finish, c.text, c.reasoning = nil, nil, nil
			c.choices(s)
		case "usage":
			c.Usage = usage(s)
		case "error":
			failed, nested, nestedKind = failure(s)
		case "object":
			flatError = string(s.text()) == "error"
		case "message":
			flat = s.text()
		case "detail":
			c.problem = s.text()
		default:
			s.skip()
		}
	}
	c.Failed = failed || flatError
	c.message, c.kind = nested, nestedKind
	if len(nested) == 0 {
		c.message = flat
	}
}

func (c *Chunk) choices(s *scanner) {
	if !s.enter('[') {
		s.skip()
		return
	}
	for s.element() {
		c.Choices++
		c.choice(s)
	}
}

// choice adds what one choice carries. Its new part is called delta, message
// when the answer is not streamed, and text in the completions API.
func (c *Chunk) choice(s *scanner) {
	if !s.enter('{') {
		s.skip()
		return
	}
	var parts [2]delta
	var text, finish []byte
	index := 0
	for key, ok := s.key(); ok; key, ok = s.key() {
		switch string(key) {
		case "delta":
			parts[0] = readDelta(s)
		case "message":
			parts[1] = readDelta(s)
		case "text":
			text = s.text()
		case "finish_reason":
			finish = s.text()
		case "index":
			n, _ := s.integer().Value()
			index = n
		default:
			s.skip()
		}
	}
	if len(finish) > 0 {
		c.Finish = finish
	}
	c.Content = c.Content || len(text) > 0
	if index == 0 && len(text) > 0 {
		c.text = text
	}
	for i := range parts {
		c.add(&parts[i], index == 0)
	}
}

// delta is the new part of one choice.
type delta struct {
	content, refusal             []byte
	reasoning, reasoningContent  []byte
	contentParts, toolCall, role bool
}

func readDelta(s *scanner) (d delta) {
	if !s.enter('{') {
		s.skip()
		return delta{}
	}
	var tools, function bool
	for key, ok := s.key(); ok; key, ok = s.key() {
		switch string(key) {
		case "content":
			d.content, d.contentParts = nil, false
			if s.peek() == '[' { // a list of typed parts
				d.contentParts = s.filled()
			} else {
				d.content = s.text()
			}
		case "refusal":
			d.refusal = s.text()
		case "reasoning_content":
			d.reasoningContent = s.text()
		case "reasoning":
			d.reasoning = s.text()
		case "tool_calls":
			tools = s.filled()
		case "function_call": // the form before tool_calls
			function = s.filled()
		case "role":
			d.role = len(s.text()) > 0
		default:
			s.skip()
		}
	}
	d.toolCall = tools || function
	return d
}

func (c *Chunk) add(d *delta, first bool) {
	text := d.content
	if len(text) == 0 {
		text = d.refusal
	}
	reasoning := d.reasoningContent
	if len(reasoning) == 0 {
		reasoning = d.reasoning
	}
	c.Content = c.Content || len(text) > 0 || d.contentParts
	c.Reasoning = c.Reasoning || len(reasoning) > 0
	c.ToolCall = c.ToolCall || d.toolCall
	c.Role = c.Role || d.role
	if first && len(text) > 0 {
		c.text = text
	}
	if first && len(reasoning) > 0 {
		c.reasoning = reasoning
	}
}

func usage(s *scanner) (u Usage) {
	if !s.enter('{') {
		s.skip()
		return Usage{}
	}
	for key, ok := s.key(); ok; key, ok = s.key() {
		switch string(key) {
		case "prompt_tokens":
			u.Prompt = s.integer()
		case "completion_tokens":
			u.Completion = s.integer()
		case "total_tokens":
			u.Total = s.integer()
		case "prompt_tokens_details":
			u.Cached = member(s, "cached_tokens")
		case "completion_tokens_details":
			u.Reasoning = member(s, "reasoning_tokens")
		default:
			s.skip()
		}
	}
	return u
}

// member reads one count of an object of counts.
func member(s *scanner, name string) (n record.Count) {
	if !s.enter('{') {
		s.skip()
		return 0
	}
	for key, ok := s.key(); ok; key, ok = s.key() {
		if string(key) == name {
			n = s.integer()
		} else {
			s.skip()
		}
	}
	return n
}

// failure reads the value of error. Servers that send null, "", {}, [] or false
// mean that there is none.
func failure(s *scanner) (failed bool, message, kind []byte) {
	switch s.peek() {
	case '{':
		start := s.pos
		failed = s.filled()
		end := s.pos
		if s.bad {
			return failed, nil, nil
		}
		s.pos = start
		s.enter('{')
		for key, ok := s.key(); ok; key, ok = s.key() {
			switch string(key) {
			case "message":
				message = s.text()
			case "type":
				kind = s.text()
			default:
				s.skip()
			}
		}
		s.pos = end
	case '[':
		failed = s.filled()
	case '"':
		message = s.text()
		failed = len(message) > 0
	case 't':
		s.skip()
		failed = true
	default:
		s.skip()
	}
	return failed, message, kind
}
