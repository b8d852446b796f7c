package server

import (
	"cmp"
	"crypto/rand"

	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/internal/openai"
)

// channels says what a chat's answers are held to, nil for nothing, and how their text
// is read: reasoning, tool calls and the rest.
func (s *server) channels(body *openai.ChatRequest) (*constraint, func() chat.Parser, *problem) {
	held, p := constraintOf(&body.Constraints)
	if p != nil {
		return nil, nil, p
	}
	choice, err := chat.ParseChoice(body.ToolChoice, len(body.Tools))
	if err != nil {
		return nil, nil, wrong("tool_choice", "%v", err)
	}
	choice.Single = body.ParallelToolCalls != nil && !*body.ParallelToolCalls
	schema, forced, err := chat.ToolSchema(body.Tools, choice)
	if err != nil {
		return nil, nil, wrong("tools", "%v", err)
	}
	options := chat.ToolOptions{Random: rand.Reader, Single: choice.Single}
	switch {
	case forced && held != nil:
		return nil, nil, wrong("tool_choice", "tool_choice and %s cannot both decide what the answer looks like", held.param)
	case forced:
		held = &constraint{kind: bySchema, source: string(schema), param: "tools"}
		return held, func() chat.Parser { return chat.NewChoiceParser(choice, options) }, nil
	case choice.Mode == "auto" && s.ToolParser == "" && !s.tellsTools():
		return nil, nil, wrong("tools", `this model's chat template knows no tools, so that it cannot be told of any: "auto" tool choice requires `+
			"a --chat-template that does, and --tool-call-parser")
	case choice.Mode == "auto" && s.ToolParser == "":
		return nil, nil, wrong("tool_choice", `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`)
	}
	return held, func() chat.Parser {
		var reasoning, tools chat.Parser
		if s.ReasoningParser != "" && held == nil { // what is held to a form has no room for thoughts
			reasoning = parser(chat.NewReasoningParser(s.ReasoningParser))
		}
		if choice.Mode == "auto" {
			tools = parser(chat.NewToolParser(s.ToolParser, options))
		}
		return chat.Chain(reasoning, tools)
	}, nil
}

// tellsTools reports whether the template for chats with tools tells the model of them.
func (s *server) tellsTools() bool {
	t := cmp.Or(s.ToolTemplate, s.Template)
	return t != nil && t.TellsTools()
}

// parser is one whose name Check has found right.
func parser(p chat.Parser, err error) chat.Parser {
	if err != nil {
		panic(err)
	}
	return p
}

// Check reports options that name what does not exist.
func (o Options) Check() error {
	if o.ToolParser != "" {
		if _, err := chat.NewToolParser(o.ToolParser, chat.ToolOptions{}); err != nil {
			return err
		}
	}
	if o.ReasoningParser != "" {
		if _, err := chat.NewReasoningParser(o.ReasoningParser); err != nil {
			return err
		}
	}
	return nil
}
