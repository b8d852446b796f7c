package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const templates = "../../internal/jinja/testdata/templates"

func shipped(t testing.TB, name string) *Template {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(templates, name+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(source))
}

func parse(t testing.TB, source string) *Template {
	t.Helper()
	template, err := ParseTemplate(source)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

var july = time.Date(2026, 7, 4, 0, 0, 0, 0, time.UTC)

func TestConversationsBecomePrompts(t *testing.T) {
	user := func(s string) Message { return Message{Role: "user", Content: s} }
	for _, tc := range []struct {
		name, template string
		in             Input
		want, problem  string
	}{
		{name: "the model's default system message", template: "SmolLM2-135M-Instruct", in: Input{Messages: []Message{user("Hi")}, AddGenerationPrompt: true},
			want: "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"},
		{name: "thinking switched off by chat_template_kwargs", template: "Qwen-Qwen3-0.6B",
			in:   Input{Messages: []Message{user("Hi")}, AddGenerationPrompt: true, Extra: map[string]json.RawMessage{"enable_thinking": raw("false")[0]}},
			want: "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
		{name: "arguments sent as a string are an object to the template", template: "Qwen-Qwen2.5-7B-Instruct",
			in: Input{Messages: []Message{{Role: "system", Content: "S"}, user("Hi"),
				{Role: "assistant", ToolCalls: []ToolCall{{ID: "c", Name: "f", Arguments: `{"b":1,"a":[2.0]}`}}}, {Role: "tool", ToolCallID: "c", Content: "3"}}},
			want: "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": [2.0]}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n3\n</tool_response><|im_end|>\n"},
		{name: "arguments that are not JSON", template: "Qwen-Qwen2.5-7B-Instruct",
			in:      Input{Messages: []Message{user("Hi"), {Role: "assistant", ToolCalls: []ToolCall{{Name: "f", Arguments: "{a"}}}}},
			problem: "messages[1].tool_calls[0].function.arguments is not JSON: invalid character 'a'"},
		{name: "parts are joined for a template that wants text", template: "SmolLM2-135M-Instruct", in: Input{Messages: []Message{{Role: "system", Parts: []string{"a", "b"}}}},
			want: "<|im_start|>system\na\nb<|im_end|>\n"},
		{name: "parts stay parts for a template that goes through them", template: "own-parts", in: Input{Messages: []Message{{Role: "user", Parts: []string{" a ", "b"}}}},
			want: "<start_of_turn>user\nab<end_of_turn>\n"},
		{name: "text stays text for a template that takes both", template: "own-parts", in: Input{BOS: "<bos>", Messages: []Message{user(" a ")}},
			want: "<bos><start_of_turn>user\na<end_of_turn>\n"},
		{name: "the template refuses in its own words", template: "own-inst", in: Input{Messages: []Message{user("a"), user("b")}},
			problem: "Roles must alternate user/assistant/user/assistant/..."},
		{name: "the date", template: "own-header-tools", in: Input{Messages: []Message{user("a")}, Now: july},
			want: "<|start_header_id|>system<|end_header_id|>\n\nToday: 04 Jul 2026\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"},
		{name: "keyword that is not JSON", template: "own-inst", in: Input{Messages: []Message{user("a")}, Extra: map[string]json.RawMessage{"x": raw("{")[0]}},
			problem: "chat_template_kwargs.x: EOF"},
		{name: "tool that is not JSON", template: "own-inst", in: Input{Messages: []Message{user("a")}, Tools: raw("{}", "nope")}, problem: "tools[1]: invalid character 'o'"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := shipped(t, tc.template).Render(tc.in)
			if tc.problem != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.problem) {
					t.Errorf("error %v, expected %q", err, tc.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTemplatesThatWantOnlyPartsGetThem(t *testing.T) {
	template := parse(t, "{% for m in messages %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endfor %}")
	got, err := template.Render(Input{Messages: []Message{{Role: "user", Content: "a"}, {Role: "user", Parts: []string{"b", "c"}}}})
	if err != nil || got != "<a><b><c>" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFormatsAreDetectedByTheTemplate(t *testing.T) {
	for _, tc := range []struct{ template, tools, reasoning string }{
		{"Qwen-Qwen2.5-7B-Instruct", "hermes", ""},
		{"Qwen-Qwen3-0.6B", "hermes", "qwen3"},
		{"own-header-tools", "llama3_json", ""},
		{"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "", "deepseek_r1"},
		{"SmolLM2-135M-Instruct", "", ""},
	} {
		source := shipped(t, tc.template).source
		if got := DetectFormat(source); got != tc.tools {
			t.Errorf("%s: tool format %q, expected %q", tc.template, got, tc.tools)
		}
		if got := DetectReasoning(source); got != tc.reasoning {
			t.Errorf("%s: reasoning format %q, expected %q", tc.template, got, tc.reasoning)
		}
	}
}

func TestABrokenTemplateIsAnErrorAtStart(t *testing.T) {
	if _, err := ParseTemplate("{% for %}"); err == nil || err.Error() != `parsing the chat template: line 1: expected a name, found "%}"` {
		t.Errorf("error %v", err)
	}
}
