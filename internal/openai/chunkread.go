package openai

import (
	"github.com/llmctl/llmctl/internal/jsonscan"
	"github.com/llmctl/llmctl/internal/optional"
)

// document reads the outermost object. Some servers send errors without an
// error object around them: {"object": "error", "message": …}, {"code": 500,
// "message": …}, {"detail": …} and {"errors": […]}. What has choices or a type
// is none of these.
func (c *Chunk) document(s *jsonscan.Scanner) {
	var flat, nested, nestedKind, several []byte
	var failed, flatError, code, detail, errors, choices bool
	var t typed
	s.Enter('{')
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "choices":
			choices = true
			*c = Chunk{Usage: c.Usage, Embedding: c.Embedding, problem: c.problem,
				texts: c.texts[:0], thoughts: c.thoughts[:0], tools: c.tools[:0]} // of two, the last counts
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
			detail, c.problem, _ = failure(s)
		case "code":
			code = filled(s)
		case "errors":
			errors, several, _ = failure(s)
		case "data":
			c.Embedding = embeddings(s)
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
	flatError = flatError || !choices && len(t.kind) == 0 && (detail || code && len(flat) > 0)
	inChoice, inChoiceKind := c.message, c.kind
	c.Failed = c.Failed || failed || flatError || errors || failing(c.Finish)
	c.message, c.kind = firstOf(nested, flat, several, inChoice), firstOf(nestedKind, inChoiceKind)
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
	var text, finish, message, kind []byte
	var failed bool
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
		case "error": // of OpenRouter, beside the finish_reason
			failed, message, kind = failure(s)
		default:
			s.Skip()
		}
	}
	if len(finish) > 0 {
		c.Finish = finish
		c.Ended |= SetOf(index)
	}
	if failed {
		c.Failed, c.message, c.kind = true, message, kind
	}
	content, thinking, calls := c.Content, c.Reasoning, c.ToolCall
	texts, thoughts := len(c.texts), len(c.thoughts)
	c.Content, c.Reasoning, c.ToolCall = len(text) > 0, false, false
	if index == 0 && len(text) > 0 {
		c.texts = append(c.texts, text)
	}
	for i := range parts {
		c.add(&parts[i], index == 0, texts, thoughts)
	}
	if c.Output() {
		c.Opened |= SetOf(index)
	}
	c.Content, c.Reasoning, c.ToolCall = c.Content || content, c.Reasoning || thinking, c.ToolCall || calls
}

// delta is the new part of one choice.
type delta struct {
	content, refusal            []byte
	parts                       []byte // of content, when it is a list
	reasoning, reasoningContent []byte
	tools                       []byte
	toolCall, role              bool
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
			d.content, d.parts = nil, nil
			if s.Peek() == '[' { // a list of typed parts
				d.parts = s.Value()
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

// add takes over one form of the new part of a choice, whose texts and thoughts
// begin at the given places: another form of the same part replaces them.
func (c *Chunk) add(d *delta, first bool, texts, thoughts int) {
	text := d.content
	if len(text) == 0 {
		text = d.refusal
	}
	reasoning := d.reasoningContent
	if len(reasoning) == 0 {
		reasoning = d.reasoning
	}
	c.Content = c.Content || len(text) > 0
	c.Reasoning = c.Reasoning || len(reasoning) > 0
	c.ToolCall = c.ToolCall || d.toolCall
	c.Role = c.Role || d.role
	if first && len(text) > 0 {
		c.texts = append(c.texts[:texts], text)
	}
	if first && len(reasoning) > 0 {
		c.thoughts = append(c.thoughts[:thoughts], reasoning)
	}
	if first && len(d.tools) > 0 {
		c.tools = append(c.tools, d.tools)
	}
	if len(d.parts) > 0 {
		c.parts(d.parts, first)
	}
}

// parts reads a list of typed parts. Thinking is reasoning, whatever it holds;
// of a part of another type the text is what counts, and of one without text
// that it is there.
func (c *Chunk) parts(list []byte, first bool) {
	s := jsonscan.New(list)
	s.Enter('[')
	for s.Element() {
		if s.Peek() != '{' {
			c.part(nil, s.Text(), false, first)
			continue
		}
		var kind, text, refusal, thinking []byte
		isText := false
		object := s.At(s.Pos())
		whole := s.Filled()
		object.Enter('{')
		for key, ok := object.Key(); ok; key, ok = object.Key() {
			switch string(key) {
			case "type":
				kind = object.Text()
			case "text":
				text, isText = object.Text(), true
			case "refusal":
				refusal, isText = object.Text(), true
			case "thinking":
				thinking = thought(&object)
			default:
				object.Skip()
			}
		}
		c.part(kind, firstOf(text, refusal, thinking), whole && !isText, first)
	}
}

// part takes over one part; bare reports that it is something without a text.
func (c *Chunk) part(kind, text []byte, bare, first bool) {
	to := &c.texts
	switch string(kind) {
	case "thinking", "reasoning":
		c.Reasoning = c.Reasoning || len(text) > 0
		to = &c.thoughts
	default:
		c.Content = c.Content || bare || len(text) > 0
	}
	if first && len(text) > 0 {
		*to = append(*to, text)
	}
}

// thought is the text of thinking: a string, or that of the first part of a list.
func thought(s *jsonscan.Scanner) (text []byte) {
	if !s.Enter('[') {
		return s.Text()
	}
	for s.Element() {
		text = firstOf(text, textMember(s, "text"))
	}
	return text
}

// embeddings reports whether a list holds an embedding, be it of numbers or
// base64.
func embeddings(s *jsonscan.Scanner) (found bool) {
	if !s.Enter('[') {
		s.Skip()
		return false
	}
	for s.Element() {
		if !s.Enter('{') {
			s.Skip()
			continue
		}
		filled := false
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			switch {
			case string(key) != "embedding":
				s.Skip()
			case s.Peek() == '"':
				filled = len(s.Text()) > 0
			default:
				filled = s.Filled()
			}
		}
		found = found || filled
	}
	return found
}

// filled reads a value and reports whether it says anything.
func filled(s *jsonscan.Scanner) bool {
	ok, _, _ := failure(s)
	return ok
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

// failure reads the value of error. Servers that send null, "", {}, [], 0 or
// false mean that there is none.
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
		list := s.At(s.Pos())
		if failed = s.Filled(); failed && list.Enter('[') && list.Element() && list.Peek() != '[' {
			_, message, kind = failure(&list)
		}
	case '"':
		message = s.Text()
		failed = len(message) > 0
	case 'n', 'f':
		s.Skip()
	default: // true, and numbers but zero
		text := s.Value()
		failed = len(text) > 0 && string(text) != "0"
	}
	return failed, message, kind
}
