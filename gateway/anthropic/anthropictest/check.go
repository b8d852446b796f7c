package anthropictest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Request is a request as the vendor reads it.
type Request struct {
	Model         string          `json:"model"`
	MaxTokens     *int64          `json:"max_tokens"`
	System        []Block         `json:"system"`
	Messages      []Message       `json:"messages"`
	Stream        bool            `json:"stream"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	TopK          *int            `json:"top_k"`
	StopSequences []string        `json:"stop_sequences"`
	Tools         []Tool          `json:"tools"`
	ToolChoice    *Choice         `json:"tool_choice"`
	Thinking      json.RawMessage `json:"thinking"`
	OutputConfig  *struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Metadata *struct {
		UserID string `json:"user_id"`
	} `json:"metadata"`
}

// Message is one turn of the conversation.
type Message struct {
	Role    string  `json:"role"`
	Content []Block `json:"content"`
}

// Block is a content block of any type.
type Block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []Block         `json:"content,omitempty"`
	Thinking     string          `json:"thinking,omitempty"`
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
	Source       *Source         `json:"source,omitempty"`
}

// Source is where an image comes from.
type Source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// Tool is a tool that the model may use.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	Strict       bool            `json:"strict"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

// Choice says how tools are chosen.
type Choice struct {
	Type                   string `json:"type"`
	Name                   string `json:"name"`
	DisableParallelToolUse bool   `json:"disable_parallel_tool_use"`
}

// Check reads a request as strictly as the vendor.
func Check(body []byte) (Request, error) {
	var r Request
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("reading the body: %w", err)
	}
	return r, errors.Join(r.checkFields(), r.checkTools(), r.checkTurns())
}

func (r *Request) checkFields() error {
	switch {
	case r.Model == "":
		return errors.New("model: field required")
	case r.MaxTokens == nil:
		return errors.New("max_tokens: field required")
	case *r.MaxTokens < 1:
		return errors.New("max_tokens: should be at least 1")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return errors.New("temperature: range: 0..1")
	case r.OutputConfig != nil && r.OutputConfig.Format != nil && r.OutputConfig.Format.Type != "json_schema":
		return errors.New("output_config.format.type: should be json_schema")
	}
	for _, s := range r.StopSequences {
		if strings.TrimSpace(s) == "" {
			return errors.New("stop_sequences: each must contain non-whitespace")
		}
	}
	for _, b := range r.System {
		if b.Type != "text" || b.Text == "" {
			return errors.New("system: text content blocks must be non-empty")
		}
	}
	return nil
}

func (r *Request) checkTools() error {
	for i, t := range r.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		if t.Name == "" || json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object" {
			return fmt.Errorf("tools.%d: name and input_schema of type object are required", i)
		}
	}
	switch c := r.ToolChoice; {
	case c == nil:
	case len(r.Tools) == 0:
		return errors.New("tool_choice: may only be specified while providing tools")
	case !slices.Contains([]string{"auto", "any", "none", "tool"}, c.Type), c.Type == "none" && c.DisableParallelToolUse:
		return errors.New("tool_choice: invalid")
	case c.Type == "tool" && !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == c.Name }):
		return fmt.Errorf("tool_choice: tool %q not found in provided tools", c.Name)
	}
	return nil
}

// checkTurns wants what the older models of the API insisted on: a user begins,
// roles alternate, and results answer the calls of the turn before.
func (r *Request) checkTurns() error {
	if len(r.Messages) == 0 {
		return errors.New("messages: at least one message is required")
	}
	var called []string
	for i, m := range r.Messages {
		if want := [2]string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("messages.%d: expected role %s, got %q", i, want, m.Role)
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("messages.%d: content must not be empty", i)
		}
		calls, err := m.check(called)
		if err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
		called = calls
	}
	return nil
}

var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// check looks at the blocks of a turn, given the calls of the turn before.
func (m *Message) check(called []string) (calls []string, err error) {
	others, answered := false, []string{}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			if b.Text == "" {
				return nil, errors.New("text content blocks must be non-empty")
			}
			others = true
		case "image":
			if s := b.Source; s == nil || (s.Type == "base64") == (s.URL != "") || s.Type == "base64" && len(s.Data) == 0 {
				return nil, errors.New("image: source is wrong")
			}
			others = true
		case "tool_use":
			if !callID.MatchString(b.ID) || b.Name == "" || !bytes.HasPrefix(b.Input, []byte("{")) {
				return nil, fmt.Errorf("tool_use %q: id, name and an input object are required", b.ID)
			}
			calls = append(calls, b.ID)
		case "tool_result":
			if others {
				return nil, errors.New("tool_result blocks must come first")
			}
			answered = append(answered, b.ToolUseID)
		case "thinking", "redacted_thinking":
			if m.Role != "assistant" || b.Type == "thinking" && b.Signature == "" {
				return nil, errors.New("thinking blocks need a signature")
			}
		default:
			return nil, fmt.Errorf("unknown type %q", b.Type)
		}
	}
	slices.Sort(called)
	slices.Sort(answered)
	if !slices.Equal(called, answered) {
		return nil, fmt.Errorf("tool_use ids %q need tool_result blocks immediately after, got %q", called, answered)
	}
	return calls, nil
}
