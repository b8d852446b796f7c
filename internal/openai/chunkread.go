package openai

import (
	"github.com/llmctl/llmctl/internal/jsonscan"
	"github.com/llmctl/llmctl/internal/optional"
)

// document reads the outermost object. Some servers send errors without an
// error object around them: {"object": "error", "message": …} and
// {"detail": …}.
func (c *Chunk) document(s *jsonscan.Scanner) {
	var flat, nested, nestedKind []byte
	var failed, flatError bool
	var t typed
	s.Enter('{')
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "choices":
			c.Choices, c.Content, c.Reasoning, c.ToolCall, c.Role = 0, false, false, false, false
			c.Finish, c.text, c.reasoning, c.tools = nil, nil, nil, nil
			c.choices(s)
		case "usage":
			c.Usage = usage(s)
		case "error":
			failed, nested, nestedKind = failure(s)
		case "object":
			flatError = string(s.Text()) == "error"
		case "message":
			flat = s.Text()
		case "detail":
			c.problem = s.Text()
		case "data":
			c.Embedding = s.Peek() == '[' && s.Filled()
		case "type":
			t.kind = s.Text()
		case "delta":
			t.delta = s.Text()
		case "item":
			t.item(s)
		case "response":
			t.response(s)
		default:
			s.Skip()
		}
	}
	c.Failed = failed || flatError
	c.message, c.kind = nested, nestedKind
	if len(nested) == 0 {
		c.message = flat
	}
	if len(t.kind) > 0 {
		c.typed(&t)
	}
}

func (c *Chunk) choices(s *jsonscan.Scanner) {
	if !s.Enter('[') {
		s.Skip()
		return
	}
	for s.Element() {
		c.Choices++
		c.choice(s)
	}
}

// choice adds what one choice carries. Its new part is called delta, message
// when the answer is not streamed, and text in the completions API.
func (c *Chunk) choice(s *jsonscan.Scanner) {
	if !s.Enter('{') {
		s.Skip()
		return
	}
	var parts [2]delta
	var text, finish []byte
	index := 0
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "delta":
			parts[0] = readDelta(s)
		case "message":
			parts[1] = readDelta(s)
		case "text":
			text = s.Text()
		case "finish_reason":
			finish = s.Text()
		case "index":
			n, _ := s.Count().Value()
			index = n
		default:
			s.Skip()
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
	tools                        []byte
	contentParts, toolCall, role bool
}

func readDelta(s *jsonscan.Scanner) (d delta) {
	if !s.Enter('{') {
		s.Skip()
		return delta{}
	}
	var tools, function bool
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "content":
			d.content, d.contentParts = nil, false
			if s.Peek() == '[' { // a list of typed parts
				d.contentParts = s.Filled()
			} else {
				d.content = s.Text()
			}
		case "refusal":
			d.refusal = s.Text()
		case "reasoning_content":
			d.reasoningContent = s.Text()
		case "reasoning":
			d.reasoning = s.Text()
		case "tool_calls":
			value := s.At(s.Pos())
			if tools, d.tools = s.Filled(), nil; tools {
				d.tools = value.Value()
			}
		case "function_call": // the form before tool_calls
			function = s.Filled()
		case "role":
			d.role = len(s.Text()) > 0
		default:
			s.Skip()
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
	if first && len(d.tools) > 0 {
		c.tools = d.tools
	}
}

func usage(s *jsonscan.Scanner) (u Usage) {
	if !s.Enter('{') {
		s.Skip()
		return Usage{}
	}
	s.ImpossibleCount()                                 // forget what came before
	var input, output, cached, reasoning optional.Count // as the Responses API names them
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "prompt_tokens":
			u.Prompt = s.Count()
		case "completion_tokens":
			u.Completion = s.Count()
		case "total_tokens":
			u.Total = s.Count()
		case "prompt_tokens_details":
			u.Cached = member(s, "cached_tokens")
		case "completion_tokens_details":
			u.Reasoning = member(s, "reasoning_tokens")
		case "input_tokens":
			input = s.Count()
		case "output_tokens":
			output = s.Count()
		case "input_tokens_details":
			cached = member(s, "cached_tokens")
		case "output_tokens_details":
			reasoning = member(s, "reasoning_tokens")
		default:
			s.Skip()
		}
	}
	u.Prompt, u.Completion = either(u.Prompt, input), either(u.Completion, output)
	u.Cached, u.Reasoning = either(u.Cached, cached), either(u.Reasoning, reasoning)
	u.Implausible = s.ImpossibleCount()
	return u
}

func either(a, b optional.Count) optional.Count {
	if a.Known() {
		return a
	}
	return b
}

// member reads one count of an object of counts.
func member(s *jsonscan.Scanner, name string) (n optional.Count) {
	if !s.Enter('{') {
		s.Skip()
		return 0
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) == name {
			n = s.Count()
		} else {
			s.Skip()
		}
	}
	return n
}

// failure reads the value of error. Servers that send null, "", {}, [] or false
// mean that there is none.
func failure(s *jsonscan.Scanner) (failed bool, message, kind []byte) {
	switch s.Peek() {
	case '{':
		object := s.At(s.Pos())
		failed = s.Filled()
		if s.Bad() {
			return failed, nil, nil
		}
		object.Enter('{')
		for key, ok := object.Key(); ok; key, ok = object.Key() {
			switch string(key) {
			case "message":
				message = object.Text()
			case "type":
				kind = object.Text()
			default:
				object.Skip()
			}
		}
	case '[':
		failed = s.Filled()
	case '"':
		message = s.Text()
		failed = len(message) > 0
	case 't':
		s.Skip()
		failed = true
	default:
		s.Skip()
	}
	return failed, message, kind
}
