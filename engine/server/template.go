package server

import (
	"errors"
	"fmt"

	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// chatPrompt applies the built-in model's chat template: begin of sequence; each
// message as its role's marker, its text, and the end marker; the assistant's
// marker. A chat that goes on therefore has the tokens of the shorter one as its
// prefix, up to the last marker, and finds them in the prefix cache. A message of
// n words costs n + 2 tokens, the rest of the template 2.
func chatPrompt(messages []openai.Message) ([]int32, error) {
	if len(messages) == 0 {
		return nil, fmt.Errorf("messages must not be empty")
	}
	tokens := []int32{tokenizer.BOS}
	for i, m := range messages {
		marker, ok := markers[m.Role]
		if !ok {
			return nil, fmt.Errorf("messages[%d].role is %q, expected system, developer, user, assistant or tool", i, m.Role)
		}
		tokens = append(tokens, marker)
		switch {
		case m.Content != nil:
			tokens = tokenizer.Encode(tokens, string(*m.Content))
		case m.Role != "assistant": // whose turn may have been a tool call alone
			return nil, fmt.Errorf("messages[%d].content is missing", i)
		}
		tokens = append(tokens, tokenizer.End)
	}
	return append(tokens, tokenizer.Assistant), nil
}

var markers = map[string]int32{
	"system": tokenizer.System, "developer": tokenizer.System, "user": tokenizer.User,
	"assistant": tokenizer.Assistant, "tool": tokenizer.Tool,
}

// completionPrompt puts a begin-of-sequence token before a text; token numbers
// are taken as they are.
func completionPrompt(p openai.Prompt) ([]int32, error) {
	if !p.Given {
		return nil, errors.New("prompt is missing")
	}
	if p.Tokens == nil {
		return tokenizer.Encode([]int32{tokenizer.BOS}, p.Text), nil
	}
	for _, t := range p.Tokens {
		if t < 0 || t >= tokenizer.Size {
			return nil, fmt.Errorf("token %d is out of vocabulary, expected 0 to %d", t, tokenizer.Size-1)
		}
	}
	return p.Tokens, nil
}
