package check

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"
)

// maxTools is OpenAI's bound on the functions of a request.
const maxTools = 128

// maxKnown is how many sets of tools are remembered as good.
const maxKnown = 1024

// tools checks the tools that a request offers to the model, and its tool_choice.
// Agents send the same tools with every turn, and a schema takes tens of
// microseconds, so sets that were found good are remembered by their hash.
type tools struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
}

func newTools() *tools { return &tools{known: map[[sha256.Size]byte]bool{}} }

// Check implements Check.
func (t *tools) Check(path string, body Body) *Problem {
	if path == embeddingPath || path == completionPath {
		return nil // what is not read there does no harm
	}
	v := body["tools"]
	if present(v) && !v.IsArray() {
		return wrongType("tools", "an array of objects", v)
	}
	if present(v) && !t.remembered(v.Raw) {
		if p := checkTools(path, v); p != nil {
			return p
		}
		t.remember(v.Raw)
	}
	return toolChoice(path, v, body["tool_choice"])
}

func (t *tools) remembered(raw string) bool {
	sum := sha256.Sum256([]byte(raw))
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[sum]
}

func (t *tools) remember(raw string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxKnown {
		clear(t.known) // the sets in use come back at once
	}
	t.known[sha256.Sum256([]byte(raw))] = true
}

func checkTools(path string, list gjson.Result) (p *Problem) {
	schema := badSchema
	if len(list.Raw) > maxSchemas {
		schema = func(string) string { return "" }
	}
	names := map[string]bool{}
	i := 0
	list.ForEach(func(_, tool gjson.Result) bool {
		p = checkTool(path, fmt.Sprintf("tools[%d]", i), tool, names, schema)
		i++
		if p == nil && i > maxTools {
			p = wrongValue("tools", fmt.Sprintf("expected at most %d tools", maxTools))
		}
		return p == nil
	})
	return p
}

// checkTool looks at one tool. Types other than function are an engine's own and
// pass. In the Responses API a function stands in the tool itself.
func checkTool(path, param string, tool gjson.Result, names map[string]bool, schema func(raw string) string) *Problem {
	if !tool.IsObject() {
		return wrongType(param, "an object", tool)
	}
	kind := tool.Get("type")
	if !present(kind) {
		return missing(param + ".type")
	}
	if kind.Type != gjson.String {
		return wrongType(param+".type", "a string", kind)
	}
	if kind.Str != "function" {
		return nil
	}
	function := tool
	if path != responsesPath {
		param += ".function"
		if function = tool.Get("function"); !present(function) {
			return missing(param)
		}
		if !function.IsObject() {
			return wrongType(param, "an object", function)
		}
	}
	name := function.Get("name")
	switch {
	case !present(name):
		return missing(param + ".name")
	case name.Type != gjson.String:
		return wrongType(param+".name", "a string", name)
	case !validName(name):
		return wrongValue(param+".name", "expected up to 64 letters, digits, underscores and dashes")
	case names[name.Str]:
		return wrongValue(param+".name", "the name appears twice")
	}
	names[name.Str] = true
	parameters := function.Get("parameters")
	if !present(parameters) {
		return nil // a function without any
	}
	if !parameters.IsObject() {
		return wrongType(param+".parameters", "an object", parameters)
	}
	if where := schema(parameters.Raw); where != "" {
		return &Problem{
			Message: "Invalid schema for function '" + name.Str + "': " + where + ".",
			Param:   param + ".parameters", Code: "invalid_function_parameters",
		}
	}
	return nil
}

// validName is OpenAI's rule for names: [a-zA-Z0-9_-]{1,64}.
func validName(v gjson.Result) bool {
	if v.Type != gjson.String || v.Str == "" || len(v.Str) > 64 {
		return false
	}
	for _, c := range []byte(v.Str) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// toolChoice checks that what the request insists on is there.
func toolChoice(path string, tools, choice gjson.Result) *Problem {
	const param = "tool_choice"
	switch {
	case !present(choice):
		return nil
	case choice.Type == gjson.String:
		if choice.Str == "required" && tools.Get("#").Int() == 0 {
			return wrongValue(param, "it is only allowed when tools are specified")
		}
		return nil // engines have more words than OpenAI
	case !choice.IsObject():
		return wrongType(param, "a string or an object", choice)
	case choice.Get("type").Str != "function":
		return nil
	}
	name := choice.Get("function.name")
	if path == responsesPath {
		name = choice.Get("name")
	}
	if name.Type != gjson.String {
		return missing(param + ".function.name")
	}
	found := false
	tools.ForEach(func(_, tool gjson.Result) bool {
		found = tool.Get("function.name").Str == name.Str || path == responsesPath && tool.Get("name").Str == name.Str
		return !found
	})
	if !found {
		return wrongValue(param, "the function is not among 'tools'")
	}
	return nil
}
