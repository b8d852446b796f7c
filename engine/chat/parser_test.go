package chat

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// zeros is a source of randomness whose ids are plain.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

const zeroID = "chatcmpl-tool-00000000000000000000000000000000"

func tools(t testing.TB, format string, o ToolOptions) Parser {
	t.Helper()
	if o.Random == nil {
		o.Random = zeros{}
	}
	p, err := NewToolParser(format, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(name, arguments string) ToolCall { return ToolCall{zeroID, name, arguments} }

func TestToolCallsAreReadOutOfText(t *testing.T) {
	for _, tc := range []struct {
		name, format, text string
		single             bool
		want               Answer
	}{
		{name: "no call", format: "hermes", text: "Hello <b> world <tool", want: Answer{Content: "Hello <b> world <tool"}},
		{name: "one call", format: "hermes", text: "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
			want: Answer{ToolCalls: []ToolCall{call("f", `{"a": 1}`)}}},
		{name: "text before, two calls", format: "hermes", text: "Let me see.\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>\n{\"name\":\"g\",\"arguments\":{\"x\":\"</tool_call>{\"}}\n</tool_call>\n",
			want: Answer{Content: "Let me see.\n", ToolCalls: []ToolCall{call("f", "{}"), call("g", `{"x":"</tool_call>{"}`)}}},
		{name: "arguments before the name", format: "hermes", text: `<tool_call>{"arguments": {"a": [1]}, "name": "f"}</tool_call>`,
			want: Answer{ToolCalls: []ToolCall{call("f", `{"a": [1]}`)}}},
		{name: "no arguments", format: "hermes", text: `<tool_call>{"name": "f"}</tool_call>`, want: Answer{ToolCalls: []ToolCall{call("f", "{}")}}},
		{name: "no end marker", format: "hermes", text: `<tool_call>{"name": "f", "arguments": {"a": 1}}`, want: Answer{ToolCalls: []ToolCall{call("f", `{"a": 1}`)}}},
		{name: "broken JSON is content", format: "hermes", text: `<tool_call>{"name": f}</tool_call> ok`, want: Answer{Content: `<tool_call>{"name": f}</tool_call> ok`}},
		{name: "no name is content", format: "hermes", text: `<tool_call>{"arguments": {}}</tool_call>`, want: Answer{Content: `<tool_call>{"arguments": {}}</tool_call>`}},
		{name: "no object is content", format: "hermes", text: `<tool_call>f(x)</tool_call>`, want: Answer{Content: `<tool_call>f(x)</tool_call>`}},
		{name: "cut off in the name is content", format: "hermes", text: `<tool_call>{"name": "ge`, want: Answer{Content: `<tool_call>{"name": "ge`}},
		{name: "cut off in the arguments stays a call", format: "hermes", text: `<tool_call>{"name": "f", "arguments": {"a": "x`, want: Answer{ToolCalls: []ToolCall{call("f", `{"a": "x`)}}},
		{name: "end marker inside of open arguments", format: "hermes", text: "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1</tool_call>\nDone", want: Answer{Content: "\nDone", ToolCalls: []ToolCall{call("f", `{"a": 1`)}}},
		{name: "a call after a broken one", format: "hermes", text: `<tool_call>oops<tool_call>{"name":"f","arguments":{}}</tool_call>`, want: Answer{Content: "<tool_call>oops", ToolCalls: []ToolCall{call("f", "{}")}}},
		{name: "only the first without parallel calls", format: "hermes", single: true, text: "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>", want: Answer{ToolCalls: []ToolCall{call("f", "{}")}}},
		{name: "escapes in the name", format: "hermes", text: `<tool_call>{"name": "g\u00e9t", "arguments": {"q": "\"}"}}</tool_call>`, want: Answer{ToolCalls: []ToolCall{call("gét", `{"q": "\"}"}`)}}},

		{name: "llama: no call", format: "llama3_json", text: "It is {sunny}", want: Answer{Content: "It is {sunny}"}},
		{name: "llama: one call", format: "llama3_json", text: ` {"name": "f", "parameters": {"a": 1}}`, want: Answer{ToolCalls: []ToolCall{call("f", `{"a": 1}`)}}},
		{name: "llama: python tag and several", format: "llama3_json", text: `<|python_tag|>{"name": "f", "parameters": {"a": ";"}}; {"name": "g", "arguments": {}}`, want: Answer{ToolCalls: []ToolCall{call("f", `{"a": ";"}`), call("g", "{}")}}},
		{name: "llama: other JSON is content", format: "llama3_json", text: `{"city": "Paris"}`, want: Answer{Content: `{"city": "Paris"}`}},
		{name: "llama: broken JSON is content", format: "llama3_json", text: `{"name": "f", oops}`, want: Answer{Content: `{"name": "f", oops}`}},
		{name: "llama: beginning of a tag is content", format: "llama3_json", text: "<|python", want: Answer{Content: "<|python"}},
		{name: "llama: white space is content", format: "llama3_json", text: "\n\n", want: Answer{Content: "\n\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Parse(tools(t, tc.format, ToolOptions{Single: tc.single}), tc.text)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for i := range tc.text { // and cut in two at every place
				p := tools(t, tc.format, ToolOptions{Single: tc.single})
				var a Answer
				a.Add(p.Push(tc.text[:i]))
				a.Add(p.Push(tc.text[i:]))
				a.Add(p.Flush())
				if diff := cmp.Diff(tc.want, a); diff != "" {
					t.Fatalf("cut at %d (-want +got)\n%s", i, diff)
				}
			}
		})
	}
}

func TestReasoningIsToldFromContent(t *testing.T) {
	for _, tc := range []struct {
		name, format, text string
		want               Answer
	}{
		{"both", "qwen3", "<think>\nhm\n</think>\n\nYes", Answer{Reasoning: "\nhm\n", Content: "\n\nYes"}},
		{"white space before", "qwen3", "\n<think>a</think>b", Answer{Reasoning: "a", Content: "b"}},
		{"none", "qwen3", "Yes </think>", Answer{Content: "Yes </think>"}},
		{"no end", "qwen3", "<think>a</thin", Answer{Reasoning: "a</thin"}},
		{"beginning of a marker", "qwen3", "<thi", Answer{Content: "<thi"}},
		{"later markers are content", "qwen3", "<think>a</think>b<think>c</think>", Answer{Reasoning: "a", Content: "b<think>c</think>"}},
		{"opening marker in the prompt", "deepseek_r1", "hm</think>Yes", Answer{Reasoning: "hm", Content: "Yes"}},
		{"opening marker all the same", "deepseek_r1", "<think>hm</think>Yes", Answer{Reasoning: "hm", Content: "Yes"}},
		{"r1 without an end", "deepseek_r1", "hm", Answer{Reasoning: "hm"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i := range len(tc.text) + 1 {
				p, err := NewReasoningParser(tc.format)
				if err != nil {
					t.Fatal(err)
				}
				var a Answer
				a.Add(p.Push(tc.text[:i]))
				a.Add(p.Push(tc.text[i:]))
				a.Add(p.Flush())
				if diff := cmp.Diff(tc.want, a); diff != "" {
					t.Fatalf("cut at %d (-want +got)\n%s", i, diff)
				}
			}
		})
	}
}

// parsers makes one of each kind, with ids from a seed.
func parsers(t testing.TB) map[string]func() Parser {
	random := func() ToolOptions { return ToolOptions{Random: rand.NewChaCha8([32]byte{1})} }
	reasoning := func(format string) Parser {
		p, err := NewReasoningParser(format)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return map[string]func() Parser{
		"hermes":   func() Parser { return tools(t, "hermes", random()) },
		"single":   func() Parser { o := random(); o.Single = true; return tools(t, "hermes", o) },
		"llama":    func() Parser { return tools(t, "llama3_json", random()) },
		"qwen3":    func() Parser { return reasoning("qwen3") },
		"r1":       func() Parser { return reasoning("deepseek_r1") },
		"both":     func() Parser { return Chain(reasoning("qwen3"), tools(t, "hermes", random())) },
		"required": func() Parser { return NewChoiceParser(Choice{Mode: "required"}, random()) },
		"named":    func() Parser { return NewChoiceParser(Choice{Mode: "function", Name: "f"}, random()) },
		"plain":    func() Parser { return Chain(nil, nil) },
	}
}

// agree holds an answer parsed in pieces against the whole one, and checks that no
// delta is malformed on the way.
func agree(t interface{ Fatalf(string, ...any) }, name string, fresh func() Parser, text string, cuts []int) {
	want := Parse(fresh(), text)
	p := fresh()
	var got Answer
	at := 0
	for _, cut := range append(cuts, len(text)) {
		cut = min(max(cut, at), len(text))
		d := p.Push(text[at:cut])
		for _, c := range d.Calls {
			if c.Index > len(got.ToolCalls) || (c.Index == len(got.ToolCalls)) != (c.Name != "") || (c.Name != "") != (c.ID != "") {
				t.Fatalf("%s: delta %+v after %d calls", name, c, len(got.ToolCalls))
			}
		}
		got.Add(d)
		at = cut
	}
	got.Add(p.Flush())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: %q cut at %v (-whole +pieces)\n%s", name, text, cuts, diff)
	}
}

// words are what answers are made of when they go wrong.
var words = []string{"<tool_call>", "</tool_call>", "<think>", "</think>", "<|python_tag|>", "{", "}", "[", "]", ",", ";", ":", `"name"`, `"arguments"`,
	`"parameters"`, `"f"`, `: `, `{"a": 1}`, `{"name": "f", "arguments": {"x": "<"}}`, `{"name": "g", "parameters": [1`, "\n", " ", "text", "<", "\\", `"`, "é"}

func TestAnswersAreTheSameHoweverTheyAreCut(t *testing.T) {
	for name, fresh := range parsers(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 14).Draw(t, "words"), "")
				var cuts []int
				for i := range len(text) {
					if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
						cuts = append(cuts, i)
					}
				}
				agree(t, name, fresh, text, cuts)
			})
		})
	}
}

// TestContentIsHeldNoLongerThanItMayBeAMarker: what cannot begin one comes at once.
func TestContentIsHeldNoLongerThanItMayBeAMarker(t *testing.T) {
	p := tools(t, "hermes", ToolOptions{})
	for _, step := range []struct{ push, want string }{{"Hello", "Hello"}, {" a <", " a "}, {"b", "<b"}, {"<tool_", ""}, {"x", "<tool_x"}} {
		if got := p.Push(step.push).Content; got != step.want {
			t.Errorf("pushed %q, got %q, expected %q", step.push, got, step.want)
		}
	}
	p.Push(`<tool_call>{"name": "f", `)
	if d := p.Push(`"arguments": {"a`); len(d.Calls) != 1 || d.Calls[0].Name != "f" || d.Calls[0].Arguments != `{"a` {
		t.Errorf("arguments that began: %+v", d)
	}
	if d := p.Push(`": "b`); len(d.Calls) != 1 || d.Calls[0].Arguments != `": "b` {
		t.Errorf("arguments that go on: %+v", d)
	}
}

func FuzzParsers(f *testing.F) {
	for _, w := range words {
		f.Add(`<tool_call>{"name": "f", "arguments": {"a": "`+w+`"}}</tool_call>`, uint16(7))
		f.Add(`{"name": "f", "parameters": `+w, uint16(3))
	}
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		for name, fresh := range parsers(t) {
			agree(t, name, fresh, text, []int{int(cut) % (len(text) + 1)})
		}
	})
}
