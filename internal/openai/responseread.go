package openai

import "github.com/llmctl/llmctl/internal/jsonscan"

// typed is what an event of the Responses API has that chunks of the other APIs
// do not: each is of a type, and the last ones hold the whole response.
type typed struct {
	kind      []byte
	delta     []byte // the new piece of text, of a call's arguments, …
	newCall   bool   // item is a tool call with a name
	status    []byte // of the response
	reason    []byte // why it is incomplete
	usage     Usage
	failed    bool
	message   []byte
	errorKind []byte
}

// response reads the object of the response, as far as it has been made.
func (t *typed) response(s *jsonscan.Scanner) {
	*t = typed{kind: t.kind, delta: t.delta, newCall: t.newCall}
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
	t.newCall = false
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
	t.newCall = len(name) > 0 && (string(kind) == "function_call" || string(kind) == "custom_tool_call")
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
		c.Content, c.text = filled, t.delta
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		c.Reasoning, c.reasoning = filled, t.delta
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta",
		"response.mcp_call_arguments.delta", "response.code_interpreter_call_code.delta":
		c.ToolCall = filled
	case "response.output_item.added":
		c.ToolCall = t.newCall
	case "response.completed":
		c.Finish = firstOf(t.status, completed)
		c.Usage = t.usage
	case "response.incomplete":
		c.Finish = firstOf(t.reason, t.status, incomplete)
		c.Usage = t.usage
	case "response.failed":
		c.Failed = true
		c.Usage = t.usage
		c.message, c.kind = t.message, t.errorKind
	case "error":
		c.Failed = true
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
