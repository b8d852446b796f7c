package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/internal/openai"
)

// Choice is tool_choice: Mode is "none", "auto", "required" or "function", the last
// with the Name of the function that must be called.
type Choice struct {
	Mode string
	Name string
	// Single is parallel_tool_calls: false.
	Single bool
}

// ParseChoice reads tool_choice as clients send it; nothing is "auto" with tools and
// "none" without.
func ParseChoice(data json.RawMessage, tools int) (c Choice, err error) {
	bad := errors.New(`tool_choice must be "none", "auto", "required" or {"type": "function", "function": {"name": …}}`)
	if len(data) == 0 || string(data) == "null" {
		if tools > 0 {
			return Choice{Mode: "auto"}, nil
		}
		return Choice{Mode: "none"}, nil
	}
	if json.Unmarshal(data, &c.Mode) == nil {
		if !slices.Contains([]string{"none", "auto", "required"}, c.Mode) {
			return c, bad
		}
	} else {
		var named struct {
			Type     string `json:"type"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if openai.Unmarshal(bytes.Clone(data), &named) != nil || named.Type != "function" || named.Function.Name == "" {
			return c, bad
		}
		c = Choice{Mode: "function", Name: named.Function.Name}
	}
	if c.Mode != "none" && tools == 0 {
		return c, errors.New("When using `tool_choice`, `tools` must be set.") //nolint:revive,staticcheck // vLLM's words, which clients read.
	}
	return c, nil
}

type tool struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// toolProblem says what is wrong with a tool's JSON without the words of our own types.
func toolProblem(err error) string {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field == "" {
			return "expected an object, got " + kind.Value
		}
		what := "an object"
		if kind.Type.Kind() == reflect.String {
			what = "a string"
		}
		return fmt.Sprintf("%s: expected %s, got %s", kind.Field, what, kind.Value)
	}
	return err.Error()
}

// ToolSchema returns the JSON schema that an answer must follow when tools must be
// called: for a named function its parameters, for "required" a list of calls with
// name and parameters. ok is false when the answer is free.
func ToolSchema(tools []json.RawMessage, c Choice) (schema json.RawMessage, ok bool, err error) {
	parsed := make([]tool, len(tools))
	for i, data := range tools {
		if err := openai.Unmarshal(bytes.Clone(data), &parsed[i]); err != nil {
			return nil, false, fmt.Errorf("tools[%d]: %s", i, toolProblem(err))
		}
		if parsed[i].Function.Name == "" {
			return nil, false, fmt.Errorf("tools[%d].function.name is missing", i)
		}
		if p := bytes.TrimSpace(parsed[i].Function.Parameters); len(p) == 0 || string(p) == "null" {
			parsed[i].Function.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
	}
	switch c.Mode {
	case "function":
		for _, t := range parsed {
			if t.Function.Name == c.Name {
				return t.Function.Parameters, true, nil
			}
		}
		return nil, false, errors.New("The tool specified in `tool_choice` does not match any of the specified `tools`") //nolint:revive,staticcheck // vLLM's words.
	case "required":
		schema, err := requiredSchema(parsed, c.Single)
		return schema, err == nil, err
	}
	return nil, false, nil
}

// requiredSchema is the schema of [{"name": …, "parameters": …}, …]. Definitions of
// the tools' parameters move to the top, where their references point.
func requiredSchema(tools []tool, single bool) (json.RawMessage, error) {
	var each []map[string]any
	shared := map[string]map[string]json.RawMessage{"$defs": {}, "definitions": {}}
	for _, t := range tools {
		parameters := t.Function.Parameters
		var object map[string]json.RawMessage
		if json.Unmarshal(parameters, &object) == nil {
			for key, all := range shared {
				if err := hoist(object, key, all, t.Function.Name); err != nil {
					return nil, err
				}
			}
			var err error
			if parameters, err = json.Marshal(object); err != nil {
				return nil, err
			}
		}
		each = append(each, map[string]any{
			"type":                 "object",
			"properties":           map[string]any{"name": map[string]any{"type": "string", "enum": []string{t.Function.Name}}, "parameters": parameters},
			"required":             []string{"name", "parameters"},
			"additionalProperties": false,
		})
	}
	schema := map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"anyOf": each}}
	if single {
		schema["maxItems"] = 1
	}
	for key, all := range shared {
		if len(all) > 0 {
			schema[key] = all
		}
	}
	return json.Marshal(schema)
}

func hoist(object map[string]json.RawMessage, key string, all map[string]json.RawMessage, name string) error {
	data, ok := object[key]
	if !ok {
		return nil
	}
	var defs map[string]json.RawMessage
	if err := json.Unmarshal(data, &defs); err != nil {
		return fmt.Errorf("parameters of tool %q: %s is not an object", name, key)
	}
	for k, v := range defs {
		if other, ok := all[k]; ok && !bytes.Equal(other, v) {
			return fmt.Errorf("parameters of tool %q: definition %q differs from that of another tool", name, k)
		}
		all[k] = v
	}
	delete(object, key)
	return nil
}

// NewChoiceParser reads what a decoder wrote under the schema of ToolSchema.
func NewChoiceParser(c Choice, o ToolOptions) Parser {
	if c.Mode == "function" {
		return &named{name: c.Name, o: o}
	}
	o.Single = o.Single || c.Single
	return &required{calls: calls{o: o}}
}

// named takes the whole text as the arguments of one function.
type named struct {
	name string
	o    ToolOptions
	told bool
}

func (n *named) Push(text string) Delta {
	if !n.told {
		if text = strings.TrimLeft(text, space); text == "" {
			return Delta{}
		}
		n.told = true
		return Delta{Calls: []CallDelta{{ID: n.o.id(), Name: n.name, Arguments: text}}}
	}
	if text == "" {
		return Delta{}
	}
	return Delta{Calls: []CallDelta{{Arguments: text}}}
}

func (n *named) Flush() Delta { return Delta{} }

// required reads [{"name": …, "parameters": …}, …]. A text that is no such list,
// which constrained decoding rules out, is content.
type required struct {
	calls
	held  string
	begun bool // a call was read
	over  bool
	text  bool
}

func (r *required) Push(text string) (d Delta) {
	r.held += text
	for r.step(&d) {
	}
	return d
}

func (r *required) step(d *Delta) bool {
	if r.over {
		r.held = ""
		return false
	}
	if r.text {
		d.Content += r.held
		r.held = ""
		return false
	}
	if r.scan == nil {
		open := "["
		if r.begun {
			open = ","
		}
		rest := strings.TrimLeft(r.held, space)
		switch {
		case rest == "":
			return false
		case r.begun && rest[0] == ']':
			r.over = true
		case rest[:1] == open:
			r.start(len(r.held) - len(rest) + 1)
		default:
			r.text = true
		}
		return true
	}
	state, took := r.feed(r.held, d)
	switch {
	case state == objectDone && r.told:
		r.held, r.begun = r.held[took:], true
	case state == objectDone, state == objectBroken && !r.told:
		r.text = true
	case state == objectBroken:
		r.over = true
	default:
		if r.told {
			r.held, r.fed = r.held[took:], 0
		}
		return false
	}
	r.stop()
	return true
}

// Flush drops a call that was cut off before its arguments began, as vLLM does: a client
// that wants calls can do nothing with half of a list.
func (r *required) Flush() Delta {
	r.held = ""
	return Delta{}
}
