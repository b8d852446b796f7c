package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func bodyOf(document string) Body { return gjson.Parse(document).Map() }

func tool(name, parameters string) string {
	return `{"type":"function","function":{"name":"` + name + `","parameters":` + parameters + `}}`
}

func TestRequestsThatNoEngineTakes(t *testing.T) {
	ask := func(rest string) string { return `{"messages":[{"role":"user","content":"hi"}],` + rest + `}` }
	message := func(m string) string { return `{"messages":[{"role":"user","content":"hi"},` + m + `]}` }
	many := strings.Repeat(`{"type":"function","function":{"name":"f"}},`, maxTools)
	for i := range maxTools {
		many = strings.Replace(many, `"f"`, fmt.Sprintf(`"f%d"`, i), 1)
	}
	for _, test := range []struct{ name, path, body, param, code string }{
		{"no messages", chatPath, `{}`, "messages", "missing_required_parameter"},
		{"messages of null", chatPath, `{"messages":null}`, "messages", "missing_required_parameter"},
		{"messages in words", chatPath, `{"messages":"hi"}`, "messages", "invalid_type"},
		{"empty messages", chatPath, `{"messages":[]}`, "messages", "invalid_value"},
		{"a message in words", chatPath, message(`"hi"`), "messages[1]", "invalid_type"},
		{"no role", chatPath, message(`{"content":"x"}`), "messages[1].role", "missing_required_parameter"},
		{"a role of a number", chatPath, message(`{"role":1,"content":"x"}`), "messages[1].role", "invalid_type"},
		{"an empty role", chatPath, message(`{"role":"","content":"x"}`), "messages[1].role", "invalid_value"},
		{"a user who says nothing", chatPath, message(`{"role":"user"}`), "messages[1].content", "missing_required_parameter"},
		{"content of a number", chatPath, message(`{"role":"user","content":1}`), "messages[1].content", "invalid_type"},
		{"content of an object", chatPath, message(`{"role":"user","content":{"type":"text","text":"x"}}`), "messages[1].content", "invalid_type"},
		{"a part of a number", chatPath, message(`{"role":"user","content":[1]}`), "messages[1].content[0]", "invalid_type"},
		{"a part's type of a number", chatPath, message(`{"role":"user","content":[{"type":1}]}`), "messages[1].content[0].type", "invalid_type"},
		{"a text without text", chatPath, message(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text"}]}`), "messages[1].content[1].text", "missing_required_parameter"},
		{"a text of a number", chatPath, message(`{"role":"user","content":[{"type":"text","text":1}]}`), "messages[1].content[0].text", "invalid_type"},
		{"an image without address", chatPath, message(`{"role":"user","content":[{"type":"image_url","image_url":{}}]}`), "messages[1].content[0].image_url.url", "missing_required_parameter"},
		{"no image", chatPath, message(`{"role":"user","content":[{"type":"image_url"}]}`), "messages[1].content[0].image_url", "missing_required_parameter"},
		{"a result of no call", chatPath, message(`{"role":"tool","content":"x"}`), "messages[1].tool_call_id", "missing_required_parameter"},
		{"a result of a numbered call", chatPath, message(`{"role":"tool","content":"x","tool_call_id":1}`), "messages[1].tool_call_id", "invalid_type"},
		{"calls in words", chatPath, message(`{"role":"assistant","tool_calls":"x"}`), "messages[1].tool_calls", "invalid_type"},
		{"a call in words", chatPath, message(`{"role":"assistant","tool_calls":["x"]}`), "messages[1].tool_calls[0]", "invalid_type"},
		{"a call without a name", chatPath, message(`{"role":"assistant","tool_calls":[{"function":{}}]}`), "messages[1].tool_calls[0].function.name", "missing_required_parameter"},
		{"a call of a word", chatPath, message(`{"role":"assistant","tool_calls":[{"function":"f"}]}`), "messages[1].tool_calls[0].function", "invalid_type"},

		{"no prompt", completionPath, `{}`, "prompt", "missing_required_parameter"},
		{"a prompt of an object", completionPath, `{"prompt":{}}`, "prompt", "invalid_type"},
		{"no prompts", completionPath, `{"prompt":[]}`, "prompt", "invalid_value"},
		{"prompts of objects", completionPath, `{"prompt":[{}]}`, "prompt", "invalid_type"},
		{"no input to embed", embeddingPath, `{}`, "input", "missing_required_parameter"},
		{"no input to respond to", responsesPath, `{}`, "input", "missing_required_parameter"},

		{"a temperature in words", chatPath, ask(`"temperature":"hot"`), "temperature", "invalid_type"},
		{"a temperature below 0", chatPath, ask(`"temperature":-0.1`), "temperature", "invalid_value"},
		{"a share above 1", chatPath, ask(`"top_p":1.1`), "top_p", "invalid_value"},
		{"a penalty below -2", chatPath, ask(`"presence_penalty":-2.1`), "presence_penalty", "invalid_value"},
		{"a stop of a number", chatPath, ask(`"stop":1`), "stop", "invalid_type"},
		{"stops of numbers", chatPath, ask(`"stop":["a",1]`), "stop", "invalid_type"},

		{"tools in words", chatPath, ask(`"tools":"f"`), "tools", "invalid_type"},
		{"a tool in words", chatPath, ask(`"tools":["f"]`), "tools[0]", "invalid_type"},
		{"a tool without type", chatPath, ask(`"tools":[{}]`), "tools[0].type", "missing_required_parameter"},
		{"a tool's type of a number", chatPath, ask(`"tools":[{"type":1}]`), "tools[0].type", "invalid_type"},
		{"no function", chatPath, ask(`"tools":[{"type":"function"}]`), "tools[0].function", "missing_required_parameter"},
		{"a function in words", chatPath, ask(`"tools":[{"type":"function","function":"f"}]`), "tools[0].function", "invalid_type"},
		{"no name", chatPath, ask(`"tools":[{"type":"function","function":{}}]`), "tools[0].function.name", "missing_required_parameter"},
		{"a name of a number", chatPath, ask(`"tools":[{"type":"function","function":{"name":1}}]`), "tools[0].function.name", "invalid_type"},
		{"a name with a space", chatPath, ask(`"tools":[` + tool("a b", "{}") + `]`), "tools[0].function.name", "invalid_value"},
		{"a name that is too long", chatPath, ask(`"tools":[` + tool(strings.Repeat("x", 65), "{}") + `]`), "tools[0].function.name", "invalid_value"},
		{"a name that appears twice", chatPath, ask(`"tools":[` + tool("f", "{}") + `,` + tool("f", "{}") + `]`), "tools[1].function.name", "invalid_value"},
		{"parameters in words", chatPath, ask(`"tools":[` + tool("f", `"x"`) + `]`), "tools[0].function.parameters", "invalid_type"},
		{"a schema of no type", chatPath, ask(`"tools":[` + tool("f", `{"type":"strin"}`) + `]`), "tools[0].function.parameters", "invalid_function_parameters"},
		{"properties in a list", chatPath, ask(`"tools":[` + tool("f", `{"type":"object","properties":[]}`) + `]`), "tools[0].function.parameters", "invalid_function_parameters"},
		{"required in words", chatPath, ask(`"tools":[` + tool("f", `{"type":"object","required":"x"}`) + `]`), "tools[0].function.parameters", "invalid_function_parameters"},
		{"too many tools", chatPath, ask(`"tools":[` + many + tool("f", "{}") + `]`), "tools", "invalid_value"},
		{"a choice of an unknown tool", chatPath, ask(`"tools":[` + tool("f", "{}") + `],"tool_choice":{"type":"function","function":{"name":"g"}}`), "tool_choice", "invalid_value"},
		{"a choice without tools", chatPath, ask(`"tool_choice":{"type":"function","function":{"name":"g"}}`), "tool_choice", "invalid_value"},
		{"a choice without a name", chatPath, ask(`"tool_choice":{"type":"function"}`), "tool_choice.function.name", "missing_required_parameter"},
		{"a choice of a number", chatPath, ask(`"tool_choice":1`), "tool_choice", "invalid_type"},
		{"required tools that are not there", chatPath, ask(`"tool_choice":"required"`), "tool_choice", "invalid_value"},
		{"a response's tool without a name", responsesPath, `{"input":"x","tools":[{"type":"function"}]}`, "tools[0].name", "missing_required_parameter"},

		{"a format in words", chatPath, ask(`"response_format":"json"`), "response_format", "invalid_type"},
		{"a format without type", chatPath, ask(`"response_format":{}`), "response_format.type", "missing_required_parameter"},
		{"a format's type of a number", chatPath, ask(`"response_format":{"type":1}`), "response_format.type", "invalid_type"},
		{"no schema", chatPath, ask(`"response_format":{"type":"json_schema"}`), "response_format.json_schema", "missing_required_parameter"},
		{"a schema in words", chatPath, ask(`"response_format":{"type":"json_schema","json_schema":"x"}`), "response_format.json_schema", "invalid_type"},
		{"a schema without a name", chatPath, ask(`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`), "response_format.json_schema.name", "missing_required_parameter"},
		{"a schema's name with a dot", chatPath, ask(`"response_format":{"type":"json_schema","json_schema":{"name":"a.b"}}`), "response_format.json_schema.name", "invalid_value"},
		{"a schema of a list", chatPath, ask(`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":[]}}`), "response_format.json_schema.schema", "invalid_type"},
		{"a schema that is none", chatPath, ask(`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"minimum":"x"}}}`), "response_format.json_schema.schema", "invalid_json_schema"},
	} {
		p := Requests().Check(test.path, bodyOf(test.body))
		if p == nil {
			t.Errorf("%s passed", test.name)
			continue
		}
		if p.Param != test.param || p.Code != test.code || p.Message == "" {
			t.Errorf("%s: %+v, want param %q and code %q", test.name, *p, test.param, test.code)
		}
	}
}

func TestRequestsThatSomeEngineTakes(t *testing.T) {
	for name, body := range map[string]string{
		"unknown fields":         `{"messages":[{"role":"user","content":"hi","x":1}],"guided_json":{},"x_future":{"a":1}}`,
		"a role of a template":   `{"messages":[{"role":"ipython","content":"hi"}]}`,
		"an assistant's calls":   `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}]}`,
		"other media":            `{"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"x"}},{"type":"input_audio","input_audio":{}},"text"]}]}`,
		"an image in short":      `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"data:x"}]}]}`,
		"a temperature of 3":     `{"messages":[{"role":"user","content":"hi"}],"temperature":3}`,
		"values of null":         `{"messages":[{"role":"user","content":"hi"}],"tools":null,"tool_choice":null,"response_format":null,"temperature":null,"stop":null}`,
		"many stops":             `{"messages":[{"role":"user","content":"hi"}],"stop":["a","b","c","d","e"]}`,
		"tools":                  `{"messages":[{"role":"user","content":"hi"}],"tools":[` + tool("a-b_C1", `{"type":"object","properties":{"x":{"type":["string","null"],"format":"date","x-mine":1}},"required":["x"],"additionalProperties":false,"$defs":{"d":{}}}`) + `],"tool_choice":{"type":"function","function":{"name":"a-b_C1"}}}`,
		"a tuple of draft 7":     `{"messages":[{"role":"user","content":"hi"}],"tools":[` + tool("f", `{"type":"array","items":[{"type":"string"}]}`) + `]}`,
		"a reference":            `{"messages":[{"role":"user","content":"hi"}],"tools":[` + tool("f", `{"$ref":"https://example.com/schema.json"}`) + `]}`,
		"a tool of an engine":    `{"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"web_search"}]}`,
		"a function of nothing":  `{"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required"}`,
		"a word for tool_choice": `{"messages":[{"role":"user","content":"hi"}],"tool_choice":"any"}`,
		"a format of an engine":  `{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"structural_tag"}}`,
		"a schema of anything":   `{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"},"strict":true}}}`,
	} {
		if p := Requests().Check(chatPath, bodyOf(body)); p != nil {
			t.Errorf("%s: %+v", name, *p)
		}
	}
	for path, body := range map[string]string{
		completionPath: `{"prompt":[[1,2],[3]],"tools":"ignored"}`, embeddingPath: `{"input":[1,2],"tools":"ignored"}`,
		responsesPath: `{"previous_response_id":"x","tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":{"type":"function","name":"f"}}`,
	} {
		if p := Requests().Check(path, bodyOf(body)); p != nil {
			t.Errorf("%s: %+v", path, *p)
		}
	}
	for _, prompt := range []string{`"x"`, `["x","y"]`, `[1,2]`} {
		if p := Requests().Check(completionPath, bodyOf(`{"prompt":`+prompt+`}`)); p != nil {
			t.Errorf("prompt %s: %+v", prompt, *p)
		}
	}
}

// A set of tools that was found good is not looked at again, but its choice is;
// one that is not good never is remembered.
func TestToolsAreLookedAtOnce(t *testing.T) {
	check := newTools()
	good := bodyOf(`{"tools":[` + tool("f", "{}") + `]}`)
	bad := bodyOf(`{"tools":[` + tool("f", `{"type":"x"}`) + `]}`)
	for range 2 {
		if p := check.Check(chatPath, good); p != nil {
			t.Error(*p)
		}
		if check.Check(chatPath, bad) == nil {
			t.Error("a bad schema passed")
		}
		good["tool_choice"] = gjson.Parse(`{"type":"function","function":{"name":"g"}}`)
		if check.Check(chatPath, good) == nil {
			t.Error("an unknown choice passed")
		}
		delete(good, "tool_choice")
	}
	if len(check.known) != 1 {
		t.Errorf("%d sets are remembered", len(check.known))
	}
	for i := range 2 * maxKnown {
		check.remember(fmt.Sprint(i))
	}
	if len(check.known) > maxKnown {
		t.Errorf("%d sets are remembered, above the bound", len(check.known))
	}
}

func TestAProblemNamesThePlaceAndNoValue(t *testing.T) {
	p := Requests().Check(chatPath, bodyOf(`{"messages":[{"role":"user","content":"hi"}],"tools":[`+tool("f", `{"type":"object","properties":{"x":{"type":"secret"}}}`)+`]}`))
	if p == nil || !strings.Contains(p.Message, "properties.x.type") || strings.Contains(p.Message, "secret") {
		t.Errorf("%+v", p)
	}
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":[{"type":"text"}]}],"tools":[` + tool("f", `{"type":"object","required":1}`) + `],"tool_choice":{}}`,
		`{"prompt":[[]],"stop":{},"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"$ref":"#"}}}}`,
		`{"input":{"a":[1,"x",{"url":"y"}]}}`, `{"tools":[{"type":"function","function":{"name":"f","parameters":{"allOf":[{"not":{"type":[]}}]}}}]}`,
	} {
		f.Add(seed)
	}
	checks := Requests()
	words, err := NewKeywords([]string{"a", "foo bar"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if !gjson.Valid(body) || len(body) == 0 || body[0] != '{' {
			return
		}
		for _, path := range []string{chatPath, completionPath, embeddingPath, responsesPath} {
			if p := checks.Check(path, bodyOf(body)); p != nil && (p.Message == "" || p.Param == "") {
				t.Errorf("%+v", *p)
			}
		}
		Input([]*Filter{{Matcher: words}}, bodyOf(body))
		Output([]*Filter{{Matcher: words}}, gjson.Parse(body))
	})
}

func BenchmarkRequests(b *testing.B) {
	var list []string
	for i := range 20 {
		list = append(list, tool(fmt.Sprint("f", i), `{"type":"object","properties":{"x":{"type":"string","description":"some words"},"y":{"type":"integer"}},"required":["x"]}`))
	}
	plain := bodyOf(`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hello"}],"temperature":0.5}`)
	withTools := bodyOf(`{"model":"m","messages":[{"role":"user","content":"hello"}],"tools":[` + strings.Join(list, ",") + `]}`)
	checks := Requests()
	for name, body := range map[string]Body{"plain": plain, "20 tools again": withTools} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := checks.Check(chatPath, body); p != nil {
					b.Fatal(*p)
				}
			}
		})
	}
	b.Run("20 new tools", func(b *testing.B) {
		for b.Loop() {
			if p := newTools().Check(chatPath, withTools); p != nil {
				b.Fatal(*p)
			}
		}
	})
}
