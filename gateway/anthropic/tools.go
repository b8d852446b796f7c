package anthropic

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// tools translates the tools and how they are to be chosen.
func (r *request) tools() *openai.Error {
	var list []byte
	for i, tool := range r.fields["tools"].Array() {
		function := tool.Get("function")
		if kind := tool.Get("type").Str; kind != "function" {
			return unsupported(fmt.Sprintf("tools[%d].type", i), fmt.Sprintf("the model's provider has tools of type function, not %q", brief(kind)))
		}
		name := function.Get("name")
		if name.Type != gjson.String {
			return invalid(fmt.Sprintf("tools[%d].function.name", i), "a function needs a name")
		}
		list = appendItem(list, `{"name":`+name.Raw)
		if text := function.Get("description"); text.Type == gjson.String {
			list = append(list, `,"description":`+text.Raw...)
		}
		list = append(list, `,"input_schema":`+inputSchema(function.Get("parameters"))...)
		if function.Get("strict").Bool() {
			list = append(list, `,"strict":true`...)
		}
		list = append(list, cacheControl(tool)+`}`...)
	}
	if len(list) == 0 {
		return nil
	}
	r.field("tools", wrap('[', list, ']'))
	choice, err := r.toolChoice()
	if choice != "" {
		r.field("tool_choice", []byte(choice))
	}
	return err
}

// inputSchema is the schema of a function's parameters. The vendor wants one for
// every tool, of type object; OpenAI takes a function without any.
func inputSchema(parameters gjson.Result) string {
	const object = `{"type":"object"`
	switch {
	case !parameters.IsObject(), parameters.Get("@keys.#").Int() == 0:
		return object + `,"properties":{}}`
	case parameters.Get("type").Exists():
		return parameters.Raw
	}
	return object + "," + strings.TrimLeft(parameters.Raw, "{ \t\r\n")
}

func (r *request) toolChoice() (string, *openai.Error) {
	single := ""
	if v := r.fields["parallel_tool_calls"]; v.Type == gjson.False {
		single = `,"disable_parallel_tool_use":true`
	}
	choice := r.fields["tool_choice"]
	if choice.IsObject() {
		name := choice.Get("function.name")
		if choice.Get("type").Str != "function" || name.Type != gjson.String {
			return "", unsupported("tool_choice", "the model's provider can be made to call one function, by function.name")
		}
		return `{"type":"tool","name":` + name.Raw + single + `}`, nil
	}
	switch {
	case choice.Type == gjson.Null && single == "":
		return "", nil
	case choice.Type == gjson.Null, choice.Str == "auto":
		return `{"type":"auto"` + single + `}`, nil
	case choice.Str == "required":
		return `{"type":"any"` + single + `}`, nil
	case choice.Str == "none":
		return `{"type":"none"}`, nil
	}
	return "", invalid("tool_choice", `"tool_choice" must be auto, none, required or a function`)
}

// toolUses translates the calls that the model made earlier.
func toolUses(message gjson.Result, at func() string) (blocks []byte, err *openai.Error) {
	i := 0
	message.Get("tool_calls").ForEach(func(_, call gjson.Result) bool {
		here := fmt.Sprintf("%s.tool_calls[%d]", at(), i)
		i++
		id, name := call.Get("id"), call.Get("function.name")
		if id.Type != gjson.String || name.Type != gjson.String {
			err = invalid(here, "a tool call needs an id and a function with a name")
			return false
		}
		input, ok := argumentsObject(call.Get("function.arguments"))
		if !ok {
			err = invalid(here+".function.arguments", "the arguments of a tool call must be a JSON object in a string")
			return false
		}
		blocks = appendItem(blocks, `{"type":"tool_use","id":"`+callID(id.Str)+`","name":`+name.Raw+`,"input":`+input+`}`)
		return true
	})
	return blocks, err
}

// argumentsObject reads arguments, a JSON object inside a string. None at all
// means an empty object: engines differ in what they send for no arguments. The
// standard library checks it, since the nesting inside of the string was not
// bounded with that of the body, and its reader gives up in time.
func argumentsObject(v gjson.Result) (string, bool) {
	text := strings.TrimSpace(v.Str)
	switch {
	case v.IsObject(): // some clients send the object itself
		return v.Raw, true
	case v.Type == gjson.Null, v.Type == gjson.String && text == "":
		return "{}", true
	}
	return text, strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// toolResult translates the answer of a tool.
func toolResult(message gjson.Result, at func() string) ([]byte, *openai.Error) {
	id := message.Get("tool_call_id")
	if id.Type != gjson.String {
		return nil, invalid(at()+".tool_call_id", "a message of a tool needs the tool_call_id that it answers")
	}
	content, err := contentBlocks(message.Get("content"), textOnly, at)
	if err != nil {
		return nil, err
	}
	block := []byte(`{"type":"tool_result","tool_use_id":"` + callID(id.Str) + `"`)
	if len(content) > 0 {
		block = append(append(append(block, `,"content":[`...), content...), ']')
	}
	return append(block, '}'), nil
}

// callID makes an id fit for the vendor, who takes letters, digits, - and _
// only; some engines write functions.name:0. A changed id carries a hash of the
// old one, so that two never become one.
func callID(id string) string {
	fit := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		}
		return '_'
	}, id)
	if fit == id && id != "" {
		return id
	}
	h := fnv.New64a()
	h.Write([]byte(id)) // a hash never fails
	return fmt.Sprintf("%s_%016x", fit, h.Sum64())
}
