package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// FieldError is a value of the wrong type in a field that takes several.
type FieldError struct {
	Field   string // the parameter at the top of the body
	Message string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Message }

// Content is a message's text: a string, null, or a list of parts, of which only
// those of type "text" are understood.
type Content struct {
	Text  string   // of parts: joined by newlines, as vLLM does
	Parts []string // nil when it was a string
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = Content{}
	text, ok, err := stringOrNull(data)
	if ok || err != nil {
		c.Text = text
		return err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := Unmarshal(bytes.Clone(data), &parts); err != nil {
		return &FieldError{"messages", "content must be a string or a list of parts"}
	}
	c.Parts = make([]string, len(parts))
	for i, p := range parts {
		if p.Type != "text" {
			return &FieldError{"messages", fmt.Sprintf("content part of type %q is not supported, only \"text\" is", p.Type)}
		}
		c.Parts[i] = p.Text
	}
	c.Text = strings.Join(c.Parts, "\n")
	return nil
}

// Prompts are what completions continue: a string, token numbers, or a list of
// either. They are nil when missing or null.
type Prompts []Prompt

// Prompt is one of them.
type Prompt struct {
	Text   string
	Tokens []int32 // when not nil, instead of Text
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Prompts) UnmarshalJSON(data []byte) error {
	*p = nil
	if string(data) == "null" {
		return nil
	}
	if one, ok := readPrompt(data); ok {
		*p = Prompts{one}
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return errPrompt
	}
	for i, item := range items {
		one, ok := readPrompt(item)
		if !ok {
			*p = nil
			return &FieldError{"prompt", fmt.Sprintf("prompt[%d] must be a string or a list of token numbers", i)}
		}
		*p = append(*p, one)
	}
	return nil
}

var errPrompt = &FieldError{"prompt", "prompt must be a string, a list of token numbers, or a list of either"}

func readPrompt(data []byte) (p Prompt, ok bool) {
	switch {
	case bytes.HasPrefix(data, []byte(`"`)):
		return p, json.Unmarshal(data, &p.Text) == nil
	case bytes.HasPrefix(data, []byte("[")) && !bytes.Contains(data, []byte("null")): // which would be read as 0
		return p, json.Unmarshal(data, &p.Tokens) == nil
	}
	return p, false
}

// Stop is a list of stop strings; on the wire one string, a list, or null.
type Stop []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *Stop) UnmarshalJSON(data []byte) error {
	*s = nil
	text, ok, err := stringOrNull(data)
	if err != nil {
		return err
	}
	if ok {
		if string(data) != "null" {
			*s = Stop{text}
		}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return &FieldError{"stop", "stop must be a string or a list of strings"}
	}
	*s = list
	return nil
}

// stringOrNull reads a JSON string, or null as "". ok is false when data is
// something else.
func stringOrNull(data []byte) (text string, ok bool, err error) {
	if string(data) == "null" {
		return "", true, nil
	}
	if len(data) == 0 || data[0] != '"' {
		return "", false, nil
	}
	err = json.Unmarshal(data, &text)
	return text, true, err
}
