package request

import (
	"encoding/json"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// responsesBody is the body of POST /v1/responses.
type responsesBody struct {
	common
	Input           []any           `json:"input"`
	MaxOutputTokens int             `json:"max_output_tokens"`
	Tools           json.RawMessage `json:"tools,omitempty"`
	ToolChoice      string          `json:"tool_choice,omitempty"`
	Text            json.RawMessage `json:"text,omitempty"`
}

// The items of the input.
type (
	inputMessage struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	inputCall struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	inputResult struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
)

func (w *Writer) responses(c common, talk []saying, t *workload.Turn) responsesBody {
	b := responsesBody{common: c, MaxOutputTokens: t.Output, Input: make([]any, 0, len(talk))}
	for i := range talk {
		s := &talk[i]
		switch {
		case s.role == "tool":
			b.Input = append(b.Input, inputResult{"function_call_output", s.to, s.text})
		case s.text != "" || len(s.calls) == 0:
			b.Input = append(b.Input, inputMessage{s.role, s.text})
		}
		for _, call := range s.calls {
			b.Input = append(b.Input, inputCall{"function_call", call.ID, call.Function.Name, call.Function.Arguments})
		}
	}
	if t.Tools {
		b.Tools, b.ToolChoice = definitions().responses, w.toolChoice()
	}
	if t.Schema {
		b.Text = definitions().textFormat
	}
	return b
}
