package server

import (
	"strings"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
)

// choice is one of a request's answers.
type choice struct {
	answer *answer
	index  int
	prompt int         // its prompt's place in the request
	parser chat.Parser // of what its text says in its channels
	begun  bool

	output  int // tokens so far
	finish  sched.FinishReason
	stopped engine.Stopped
	called  bool // it has called a tool

	// What was not told yet.
	entries []openai.ChatLogprob
	lists   openai.CompletionLogprobs
	offsets offsets
	ids     []int32
}

// take adds an event and returns what its text says.
func (c *choice) take(e *engine.Event) (d chat.Delta) {
	a := c.answer
	if !c.begun {
		c.begun = true
		d.Content = a.prompts[c.prompt].echo
		if a.echo && a.logprobs {
			for i := range a.prompts[c.prompt].logprobs {
				c.offsets.add(&c.lists, &a.prompts[c.prompt].logprobs[i])
			}
		}
	}
	if e.Finish != sched.Running {
		c.finish, c.stopped = e.Finish, e.Stopped
	}
	if a.scoring {
		return d
	}
	c.output = e.Output
	for i := range e.Logprobs {
		if a.chat {
			c.entries = append(c.entries, a.server.chatLogprob(&e.Logprobs[i]))
		} else {
			c.offsets.add(&c.lists, &e.Logprobs[i])
		}
	}
	if a.body.ReturnTokenIDs {
		c.ids = append(c.ids, e.IDs...)
	}
	add(&d, c.parser.Push(e.Text))
	if e.Finish != sched.Running {
		add(&d, c.parser.Flush())
	}
	c.called = c.called || len(d.Calls) > 0
	if a.silent {
		d.Reasoning = ""
	}
	return d
}

func add(to *chat.Delta, d chat.Delta) {
	if to.Empty() {
		*to = d
		return
	}
	to.Content += d.Content
	to.Reasoning += d.Reasoning
	to.Calls = append(to.Calls, d.Calls...)
}

// logprobs are those that were not told yet, nil when none were asked for.
func (c *choice) logprobs() any {
	switch {
	case !c.answer.logprobs:
		return nil
	case c.answer.chat:
		entries := c.entries
		c.entries = nil
		if entries == nil {
			entries = []openai.ChatLogprob{}
		}
		return &openai.ChatLogprobs{Content: entries}
	}
	lists := c.lists
	c.lists = openai.CompletionLogprobs{}
	if lists.Tokens == nil { // clients take their length
		lists = openai.CompletionLogprobs{TextOffset: []int{}, TokenLogprobs: []*float32{}, Tokens: []string{}, TopLogprobs: []map[string]float32{}}
	}
	return &lists
}

// untold reports whether there is something that the next chunk has to carry.
func (c *choice) untold() bool {
	return len(c.entries) > 0 || len(c.lists.Tokens) > 0 || len(c.ids) > 0
}

// tokenIDs are those that were not told yet.
func (c *choice) tokenIDs() []int32 {
	ids := c.ids
	c.ids = nil
	return ids
}

// reason is the finish_reason on the wire.
func (c *choice) reason() string {
	if c.called && c.finish == sched.Stop {
		return "tool_calls"
	}
	return string(c.finish)
}

// stopReason is vLLM's stop_reason: the stop string or the stop token that ended the
// answer, nil where it ended otherwise.
func (c *choice) stopReason() any {
	switch {
	case c.finish != sched.Stop:
		return nil
	case c.stopped.Text != "":
		return c.stopped.Text
	case c.stopped.Token >= 0:
		return c.stopped.Token
	}
	return nil
}

// written is a choice of an answer that is sent in whole.
type written struct {
	*choice
	text, reasoning strings.Builder
	tools           []openai.ToolCall
}

func (w *written) add(d chat.Delta) {
	w.text.WriteString(d.Content)
	w.reasoning.WriteString(d.Reasoning)
	for _, c := range d.Calls {
		for len(w.tools) <= c.Index {
			w.tools = append(w.tools, openai.ToolCall{Type: "function"})
		}
		call := &w.tools[c.Index]
		call.ID += c.ID
		call.Function.Name += c.Name
		call.Function.Arguments += c.Arguments
	}
}

// told is the choice on the wire.
func (w *written) told() openai.Choice {
	prompt := &w.answer.prompts[w.prompt]
	choice := openai.Choice{
		Index: w.index, Logprobs: w.logprobs(), FinishReason: w.reason(), StopReason: w.stopReason(), TokenIDs: w.tokenIDs(),
	}
	text := w.text.String()
	if !w.answer.chat {
		choice.Text = &text
		if w.answer.body.ReturnTokenIDs {
			choice.PromptTokenIDs = prompt.tokens
		}
		if w.answer.body.PromptLogprobs != nil {
			choice.PromptLogprobs = w.answer.server.promptEntries(prompt.logprobs)
		}
		return choice
	}
	choice.Message = &openai.Answer{Role: "assistant", Content: &text, ReasoningContent: w.reasoning.String(), ToolCalls: w.tools}
	if text == "" && len(w.tools) > 0 {
		choice.Message.Content = nil
	}
	return choice
}
