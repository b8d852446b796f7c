package openai

import "github.com/llmctl/llmctl/reports/record"

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
	s.odd = false
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
	u.Implausible = s.odd
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
