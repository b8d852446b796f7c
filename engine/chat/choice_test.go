package chat

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func raw(texts ...string) (out []json.RawMessage) {
	for _, s := range texts {
		out = append(out, json.RawMessage(s))
	}
	return out
}

const (
	weather = `{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"$ref":"#/$defs/city"}},"$defs":{"city":{"type":"string"}}}}}`
	clock   = `{"type":"function","function":{"name":"clock"}}`
)

func TestToolChoiceIsRead(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		tools      int
		want       Choice
		problem    string
	}{
		{name: "nothing with tools", tools: 1, want: Choice{Mode: "auto"}},
		{name: "nothing without tools", want: Choice{Mode: "none"}},
		{name: "none", data: `"none"`, want: Choice{Mode: "none"}},
		{name: "required", data: `"required"`, tools: 1, want: Choice{Mode: "required"}},
		{name: "named", data: `{"type":"function","function":{"name":"f"}}`, tools: 1, want: Choice{Mode: "function", Name: "f"}},
		{name: "required without tools", data: `"required"`, problem: "When using `tool_choice`, `tools` must be set."},
		{name: "unknown word", data: `"maybe"`, tools: 1, problem: `tool_choice must be "none", "auto", "required" or {"type": "function", "function": {"name": …}}`},
		{name: "no name", data: `{"type":"function"}`, tools: 1, problem: `tool_choice must be "none", "auto", "required" or {"type": "function", "function": {"name": …}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseChoice(json.RawMessage(tc.data), tc.tools)
			if tc.problem != "" {
				if err == nil || err.Error() != tc.problem {
					t.Errorf("error %v, expected %q", err, tc.problem)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("%+v, %v, expected %+v", got, err, tc.want)
			}
		})
	}
}

func TestForcedCallsHaveASchema(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tools   []json.RawMessage
		choice  Choice
		want    string // "" for none
		problem string
	}{
		{name: "auto is free", tools: raw(weather), choice: Choice{Mode: "auto"}},
		{name: "named", tools: raw(weather, clock), choice: Choice{Mode: "function", Name: "clock"}, want: `{"type":"object","properties":{}}`},
		{name: "named but not there", tools: raw(clock), choice: Choice{Mode: "function", Name: "x"}, problem: "The tool specified in `tool_choice` does not match any of the specified `tools`"},
		{name: "required", tools: raw(weather, clock), choice: Choice{Mode: "required", Single: true}, want: `{
			"type":"array","minItems":1,"maxItems":1,"$defs":{"city":{"type":"string"}},"items":{"anyOf":[
			{"type":"object","additionalProperties":false,"required":["name","parameters"],"properties":{"name":{"type":"string","enum":["weather"]},"parameters":{"type":"object","properties":{"city":{"$ref":"#/$defs/city"}}}}},
			{"type":"object","additionalProperties":false,"required":["name","parameters"],"properties":{"name":{"type":"string","enum":["clock"]},"parameters":{"type":"object","properties":{}}}}]}}`},
		{name: "definitions that differ", tools: raw(weather, `{"function":{"name":"x","parameters":{"$defs":{"city":{"type":"integer"}}}}}`), choice: Choice{Mode: "required"},
			problem: `parameters of tool "x": definition "city" differs from that of another tool`},
		{name: "no name", tools: raw(`{"type":"function"}`), choice: Choice{Mode: "auto"}, problem: "tools[0].function.name is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			schema, ok, err := ToolSchema(tc.tools, tc.choice)
			if tc.problem != "" {
				if err == nil || err.Error() != tc.problem {
					t.Errorf("error %v, expected %q", err, tc.problem)
				}
				return
			}
			if err != nil || ok != (tc.want != "") {
				t.Fatalf("schema %s, ok %v, error %v", schema, ok, err)
			}
			if !ok {
				return
			}
			var got, want any
			if err := json.Unmarshal(schema, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestForcedCallsAreRead(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		choice     Choice
		want       Answer
	}{
		{"named", ` {"a": 1}`, Choice{Mode: "function", Name: "f"}, Answer{ToolCalls: []ToolCall{call("f", `{"a": 1}`)}}},
		{"required", `[{"name": "f", "parameters": {"a": 1}}, {"name": "g", "parameters": {}}]`, Choice{Mode: "required"}, Answer{ToolCalls: []ToolCall{call("f", `{"a": 1}`), call("g", "{}")}}},
		{"required, one", `[{"name": "f", "parameters": {}}, {"name": "g", "parameters": {}}]`, Choice{Mode: "required", Single: true}, Answer{ToolCalls: []ToolCall{call("f", "{}")}}},
		{"required, cut off", `[{"name": "f", "parameters": {"a`, Choice{Mode: "required"}, Answer{ToolCalls: []ToolCall{call("f", `{"a`)}}},
		{"required, not followed", `Sorry`, Choice{Mode: "required"}, Answer{Content: "Sorry"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Parse(NewChoiceParser(tc.choice, ToolOptions{Random: zeros{}}), tc.text)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
