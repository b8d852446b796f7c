package openai

import "github.com/llmctl/llmctl/internal/jsonscan"

// typed is what an event of the Responses API has that chunks of the other APIs
// do not: each is of a type, and the last ones hold the whole response.
type typed struct {
	kind      []byte
	delta     []byte // the new piece of text, of a call's arguments, …
	call      []byte // item, when it is a tool call with a name
	status    []byte // of the response
	reason    []byte // why it is incomplete
	usage     Usage
	failed    bool
	message   []byte
	errorKind []byte
}

// response reads the object of the response, as far as it has been made.
func (t *typed) response(s *jsonscan.Scanner) {
	*t = typed{kind: t.kind, delta: t.delta, call: t.call}
	if !s.Enter('{') {
		s.Skip()
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "status":
			t.status = s.Text()
		case "incomplete_details":
			t.reason = textMember(s, "reason")
		case "usage":
			t.usage = usage(s)
		case "error":
			t.failed, t.message, t.errorKind = failure(s)
		default:
			s.Skip()
		}
	}
}

// item reads a part of the answer that begins or has ended.
func (t *typed) item(s *jsonscan.Scanner) {
	t.call = nil
	start := s.At(s.Pos())
	if !s.Enter('{') {
		s.Skip()
		return
	}
	var kind, name []byte
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "type":
			kind = s.Text()
		case "name":
			name = s.Text()
		default:
			s.Skip()
		}
	}
	if len(name) > 0 && (string(kind) == "function_call" || string(kind) == "custom_tool_call") {
		t.call = start.Value()
	}
}

// textMember reads one string of an object.
func textMember(s *jsonscan.Scanner, name string) (text []byte) {
	if !s.Enter('{') {
		s.Skip()
		return nil
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) == name {
			text = s.Text()
		} else {
			s.Skip()
		}
	}
	return text
}

// typed takes over what an event of the Responses API says. Events that repeat
// a part in whole (*.done) carry nothing new. The meanings are those of
// https://platform.openai.com/docs/api-reference/responses-streaming.
func (c *Chunk) typed(t *typed) {
	filled := len(t.delta) > 0
	switch string(t.kind) {
	case "response.output_text.delta", "response.refusal.delta":
		c.Content, c.texts = filled, append(c.texts[:0], t.delta)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		c.Reasoning, c.thoughts = filled, append(c.thoughts[:0], t.delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta",
		"response.mcp_call_arguments.delta", "response.code_interpreter_call_code.delta":
		c.ToolCall = filled
	case "response.output_item.added":
		c.ToolCall = len(t.call) > 0
	case "response.output_item.done":
		c.call = t.call
	case "response.completed":
		c.concluded(t, firstOf(t.status, completed))
	case "response.incomplete":
		c.concluded(t, firstOf(t.reason, t.status, incomplete))
	case "response.failed", "response.cancelled":
		c.concluded(t, nil)
		c.Failed = true
	case "error":
		c.Failed = true
	}
	if c.Output() {
		c.Opened = SetOf(0)
	}
}

// concluded takes over the whole response, which its last event holds.
func (c *Chunk) concluded(t *typed, finish []byte) {
	c.Usage = t.usage
	if len(finish) > 0 {
		c.Finish, c.Ended = finish, SetOf(0)
	}
	if c.Failed = c.Failed || t.failed || failing(t.status); c.Failed {
		c.message, c.kind = t.message, t.errorKind
	}
}

var completed, incomplete = []byte("completed"), []byte("incomplete")

// firstOf is the first text that is not empty.
func firstOf(texts ...[]byte) []byte {
	for _, text := range texts {
		if len(text) > 0 {
			return text
		}
	}
	return nil
}
