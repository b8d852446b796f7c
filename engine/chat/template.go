package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/jinja"
)

// Template is a model's chat template. It is safe for concurrent use.
type Template struct {
	t      *jinja.Template
	source string

	takesText, takesParts bool // as a message's content
}

// Input is what a template is rendered with.
type Input struct {
	Messages            []Message
	Tools               []json.RawMessage // of the request, as sent
	Documents           []json.RawMessage
	AddGenerationPrompt bool
	Extra               map[string]json.RawMessage // chat_template_kwargs
	BOS, EOS            string                     // the model's tokens, by their text
	Now                 time.Time                  // for templates that tell the date
}

// Message is one turn.
type Message struct {
	Role       string
	Content    string   // empty when Parts is given, or there is none
	Parts      []string // the texts of a content that is a list, else nil
	Name       string
	ToolCalls  []ToolCall
	ToolCallID string
	Reasoning  string // reasoning_content
}

// ToolCall is a call that an assistant made. Arguments is JSON, as a string, which is
// how clients get and send it.
type ToolCall struct {
	ID, Name, Arguments string
}

// Segment is a stretch of a prompt. Only a trusted one was written by the template
// or the model's files; no part of another may become a special token.
type Segment struct {
	Text    string
	Trusted bool
}

// ParseTemplate reads a chat template, and tries what kind of content it takes, as
// vLLM does with its content format "auto": text, a list of parts, or both.
func ParseTemplate(source string) (*Template, error) {
	parsed, err := jinja.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("parsing the chat template: %w", err)
	}
	t := &Template{t: parsed, source: source, takesText: true}
	const needle, other = "needle-a1", "needle-b2"
	probe := func(m Message, text bool) string {
		trial := Template{t: parsed, takesText: text, takesParts: !text}
		out, err := trial.Render(Input{Messages: []Message{m}})
		if err != nil {
			return ""
		}
		return out
	}
	parts := probe(Message{Role: "user", Parts: []string{needle, other}}, false)
	t.takesParts = strings.Contains(parts, needle) && strings.Contains(parts, other) &&
		!strings.Contains(parts, `'text'`) && !strings.Contains(parts, `"text"`)
	t.takesText = !t.takesParts || strings.Contains(probe(Message{Role: "user", Content: needle}, true), needle)
	return t, nil
}

// TellsTools reports whether the template tells the model of a request's tools.
func (t *Template) TellsTools() bool { return strings.Contains(t.source, "tools") }

// TakesToolTurns reports whether the template knows of turns in which tools are called
// or answer.
func (t *Template) TakesToolTurns() bool { return strings.Contains(t.source, "tool") }

// Render returns the prompt. Errors are for the client: the template's own refusal
// (raise_exception) in its words, or where the template could not take the messages.
func (t *Template) Render(in Input) (string, error) {
	text, err := t.render(in)
	return text.String(), err
}

// Segments is Render that tells who wrote what.
func (t *Template) Segments(in Input) ([]Segment, error) {
	text, err := t.render(in)
	if err != nil {
		return nil, err
	}
	var out []Segment
	for s, trusted := range text.Parts {
		out = append(out, Segment{s, trusted})
	}
	return out, nil
}

func (t *Template) render(in Input) (jinja.Text, error) {
	variables := map[string]jinja.Value{}
	for name, data := range in.Extra {
		v, err := jinja.FromJSON(data)
		if err != nil {
			return jinja.Text{}, fmt.Errorf("chat_template_kwargs.%s: %w", name, err)
		}
		variables[name] = v
	}
	messages := &jinja.List{}
	for i, m := range in.Messages {
		v, err := t.message(m)
		if err != nil {
			return jinja.Text{}, fmt.Errorf("messages[%d].%w", i, err)
		}
		messages.Items = append(messages.Items, v)
	}
	variables["messages"] = messages
	for name, list := range map[string][]json.RawMessage{"tools": in.Tools, "documents": in.Documents} {
		v, err := documents(list)
		if err != nil {
			return jinja.Text{}, fmt.Errorf("%s%w", name, err)
		}
		variables[name] = v
	}
	variables["add_generation_prompt"] = in.AddGenerationPrompt
	variables["bos_token"] = jinja.Trusted(in.BOS)
	variables["eos_token"] = jinja.Trusted(in.EOS)
	return t.t.Render(variables, in.Now)
}

// documents is None for no documents, as transformers passes it.
func documents(list []json.RawMessage) (jinja.Value, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := &jinja.List{}
	for i, data := range list {
		v, err := jinja.FromJSON(data)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out.Items = append(out.Items, v)
	}
	return out, nil
}

// message is a message as templates know it. Keys that a message lacks are left out,
// since templates ask whether they are there.
func (t *Template) message(m Message) (jinja.Value, error) {
	d := jinja.NewDict()
	set := func(key string, v jinja.Value) { d.Set(jinja.Trusted(key), v) }
	set("role", jinja.User(m.Role))
	set("content", t.content(m))
	for _, field := range [][2]string{{"name", m.Name}, {"tool_call_id", m.ToolCallID}, {"reasoning_content", m.Reasoning}} {
		if field[1] != "" {
			set(field[0], jinja.User(field[1]))
		}
	}
	if len(m.ToolCalls) == 0 {
		return d, nil
	}
	calls := &jinja.List{}
	for i, c := range m.ToolCalls {
		v, err := toolCall(c)
		if err != nil {
			return nil, fmt.Errorf("tool_calls[%d].function.arguments is not JSON: %w", i, err)
		}
		calls.Items = append(calls.Items, v)
	}
	set("tool_calls", calls)
	return d, nil
}

// content is a string for templates that want one, parts joined by newlines as vLLM
// does, and a list of parts for those that go through them.
func (t *Template) content(m Message) jinja.Value {
	if m.Parts == nil && t.takesText {
		return jinja.User(m.Content)
	}
	if !t.takesParts {
		return jinja.User(strings.Join(m.Parts, "\n"))
	}
	parts := m.Parts
	if parts == nil {
		parts = []string{m.Content}
	}
	list := &jinja.List{}
	for _, text := range parts {
		d := jinja.NewDict()
		d.Set(jinja.Trusted("type"), jinja.Trusted("text"))
		d.Set(jinja.Trusted("text"), jinja.User(text))
		list.Items = append(list.Items, d)
	}
	return list
}

// toolCall gives the template the arguments as an object.
func toolCall(c ToolCall) (jinja.Value, error) {
	arguments := jinja.Value(jinja.NewDict())
	if strings.TrimSpace(c.Arguments) != "" {
		var err error
		if arguments, err = jinja.FromJSON([]byte(c.Arguments)); err != nil {
			return nil, err
		}
	}
	f := jinja.NewDict()
	f.Set(jinja.Trusted("name"), jinja.User(c.Name))
	f.Set(jinja.Trusted("arguments"), arguments)
	d := jinja.NewDict()
	d.Set(jinja.Trusted("id"), jinja.User(c.ID))
	d.Set(jinja.Trusted("type"), jinja.Trusted("function"))
	d.Set(jinja.Trusted("function"), f)
	return d, nil
}

// DetectFormat names the tool call format (NewToolParser) that a template teaches
// its model, "" when it is none that is known.
func DetectFormat(source string) string {
	switch {
	case strings.Contains(source, "<tool_call>") && !strings.Contains(source, "<function="):
		return "hermes"
	case strings.Contains(source, "<|python_tag|>"),
		strings.Contains(source, "<|start_header_id|>") && strings.Contains(source, `"parameters": `):
		return "llama3_json"
	}
	return ""
}

// DetectReasoning names the reasoning format (NewReasoningParser) of a template's
// model, "" when it does not think aloud.
func DetectReasoning(source string) string {
	switch {
	case !strings.Contains(source, "</think>"):
		return ""
	case strings.Contains(source, "enable_thinking") && !strings.Contains(source, "<｜Assistant｜>"):
		return "qwen3"
	}
	return "deepseek_r1"
}
