package check

import (
	"fmt"
	"math"

	"github.com/tidwall/gjson"
)

// bounds of parameters that all engines share. Others, such as top_k, differ.
var bounds = []struct {
	name     string
	low, top float64
}{
	{"temperature", 0, math.Inf(1)}, // OpenAI's bound is 2; engines take more
	{"top_p", 0, 1},
	{"presence_penalty", -2, 2},
	{"frequency_penalty", -2, 2},
}

// parameters checks numbers that no engine takes otherwise.
func parameters(_ string, body Body) *Problem {
	for _, b := range bounds {
		v := body[b.name]
		switch {
		case !present(v):
		case v.Type != gjson.Number:
			return wrongType(b.name, "a number", v)
		case v.Num < b.low, v.Num > b.top:
			if math.IsInf(b.top, 1) {
				return wrongValue(b.name, fmt.Sprintf("expected at least %g", b.low))
			}
			return wrongValue(b.name, fmt.Sprintf("expected a number from %g to %g", b.low, b.top))
		}
	}
	return stop(body["stop"])
}

// stop is a string or a list of strings. How many there may be differs.
func stop(v gjson.Result) (p *Problem) {
	if !present(v) || v.Type == gjson.String {
		return nil
	}
	if !v.IsArray() {
		return wrongType("stop", "a string or an array of strings", v)
	}
	v.ForEach(func(_, item gjson.Result) bool {
		if item.Type != gjson.String {
			p = wrongType("stop", "strings", item)
		}
		return p == nil
	})
	return p
}

// responseFormat checks response_format of chats and completions.
func responseFormat(path string, body Body) *Problem {
	v := body["response_format"]
	if !present(v) || path != chatPath && path != completionPath {
		return nil
	}
	if !v.IsObject() {
		return wrongType("response_format", "an object", v)
	}
	kind := v.Get("type")
	if !present(kind) {
		return missing("response_format.type")
	}
	if kind.Type != gjson.String {
		return wrongType("response_format.type", "a string", kind)
	}
	if kind.Str != "json_schema" {
		return nil // engines know more types than OpenAI
	}
	format := v.Get("json_schema")
	if !present(format) {
		return missing("response_format.json_schema")
	}
	if !format.IsObject() {
		return wrongType("response_format.json_schema", "an object", format)
	}
	if name := format.Get("name"); !present(name) {
		return missing("response_format.json_schema.name")
	} else if !validName(name) {
		return wrongValue("response_format.json_schema.name", "expected up to 64 letters, digits, underscores and dashes")
	}
	schema := format.Get("schema")
	if !present(schema) {
		return nil // then any JSON will do
	}
	const param = "response_format.json_schema.schema"
	if !schema.IsObject() {
		return wrongType(param, "an object", schema)
	}
	if where := badSchema(schema.Raw); where != "" {
		return &Problem{Message: "Invalid schema for response_format: " + where + ".", Param: param, Code: "invalid_json_schema"}
	}
	return nil
}
