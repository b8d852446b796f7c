package server

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/internal/openai"
)

// builtinTemplate is the chat template of the built-in model.
var builtinTemplate = sync.OnceValue(func() *chat.Template {
	t, err := chat.ParseTemplate(chat.Builtin)
	if err != nil {
		panic(err) // it is part of this program
	}
	return t
})

// conversation renders a chat that has to fit the window, and turns it into tokens.
func (s *server) conversation(c *openai.Conversation) ([]int32, *problem) {
	segments, p := s.render(c)
	if p != nil {
		return nil, p
	}
	size := 0
	for _, segment := range segments {
		size += len(segment.Text)
	}
	if p := s.fits(size, "messages"); p != nil {
		return nil, p
	}
	return s.tokensOf(c, segments), nil
}

// tokensOf are the tokens of a rendered chat.
func (s *server) tokensOf(c *openai.Conversation, segments []chat.Segment) (tokens []int32) {
	if c.AddSpecialTokens != nil && *c.AddSpecialTokens { // off, because templates write them
		tokens = append(tokens, s.Tokenizer.Begin()...)
	}
	return s.encoder.Encode(tokens, segments)
}

// render puts a chat into the template's words.
func (s *server) render(c *openai.Conversation) ([]chat.Segment, *problem) {
	template := s.Template
	if len(c.Tools) > 0 && s.ToolTemplate != nil {
		template = s.ToolTemplate
	}
	if template == nil {
		return nil, wrong("messages", "this model has no chat template: use /v1/completions, or start the server with --chat-template")
	}
	in, p := s.input(c)
	if p != nil {
		return nil, p
	}
	if i := slices.IndexFunc(in.Messages, ofTools); i >= 0 && !template.TakesToolTurns() {
		return nil, wrong("messages", "messages[%d] is of a tool, and this model's chat template knows no tools: "+
			"start the server with a --chat-template that does, and --tool-call-parser", i)
	}
	segments, err := template.Segments(in)
	if err != nil {
		return nil, wrong("messages", "%v", err)
	}
	if c.ContinueFinalMessage {
		segments = withoutEnd(segments, in.Messages[len(in.Messages)-1].Content)
	}
	return segments, nil
}

// input checks a chat and puts it into the template's words.
func (s *server) input(c *openai.Conversation) (in chat.Input, p *problem) {
	generation := c.AddGenerationPrompt == nil && !c.ContinueFinalMessage || c.AddGenerationPrompt != nil && *c.AddGenerationPrompt
	switch {
	case len(c.Messages) == 0:
		return in, wrong("messages", "messages must not be empty")
	case generation && c.ContinueFinalMessage:
		return in, wrong("continue_final_message", "Cannot set both `continue_final_message` and `add_generation_prompt` to True.")
	}
	in = chat.Input{
		Tools: c.Tools, Documents: c.Documents, AddGenerationPrompt: generation, Extra: c.ChatTemplateKwargs,
		BOS: s.BOS, EOS: s.EOS, Now: s.Now(),
	}
	for i, m := range c.Messages {
		message := chat.Message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, Reasoning: m.ReasoningContent}
		switch {
		case m.Role == "":
			return in, wrong("messages", "messages[%d].role is missing", i)
		case m.Content != nil:
			message.Content, message.Parts = m.Content.Text, m.Content.Parts
		case m.Role != "assistant": // whose turn may have been a tool call alone
			return in, wrong("messages", "messages[%d].content is missing", i)
		}
		for j, call := range m.ToolCalls {
			if call.Function.Arguments != "" && !json.Valid([]byte(call.Function.Arguments)) {
				return in, wrong("messages", "messages[%d].tool_calls[%d].function.arguments is not JSON", i, j)
			}
			message.ToolCalls = append(message.ToolCalls, chat.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		in.Messages = append(in.Messages, message)
	}
	if last := c.Messages[len(c.Messages)-1]; c.ContinueFinalMessage && (last.Content == nil || strings.TrimSpace(last.Content.Text) == "") {
		return in, wrong("continue_final_message", "continue_final_message is set but the last message has no content to continue")
	}
	return in, nil
}

// ofTools reports whether a turn calls a tool or is what one answered.
func ofTools(m chat.Message) bool { return m.Role == "tool" || len(m.ToolCalls) > 0 }

// withoutEnd cuts a prompt behind the last message's text, so that the answer goes on
// with it: what the template writes behind a message is left out. The text may have
// been trimmed by the template.
func withoutEnd(segments []chat.Segment, text string) []chat.Segment {
	text = strings.TrimSpace(text)
	for i := len(segments) - 1; i >= 0; i-- {
		if segments[i].Trusted {
			continue
		}
		if at := strings.LastIndex(segments[i].Text, text); at >= 0 {
			kept := append([]chat.Segment(nil), segments[:i+1]...)
			kept[i].Text = segments[i].Text[:at+len(text)]
			return kept
		}
	}
	return segments
}
