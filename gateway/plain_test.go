package gateway

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmctl/llmctl/internal/openai"
)

// Events as servers send them, by whether they are plain.
var plainEvents = []struct {
	name, data string
	plain      bool
	output     bool
}{
	{"vLLM's", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a \"usage\":{} b"},"logprobs":null,"finish_reason":null}],"usage":null}`, true, true},
	{"a role", `{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, true, false},
	{"thinking", `{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, true, true},
	{"a tool call", `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, true, true},
	{"no tool call", `{"choices":[{"delta":{"tool_calls":[ ]}}]}`, true, false},
	{"a text", `{"choices":[{"text":"a","index":0}]}`, true, true},
	{"two choices", `{"choices":[{"index":0,"delta":{}},{"index":1,"delta":{"content":"a"}}]}`, true, true},
	{"parts", `{"choices":[{"delta":{"content":[{"type":"thinking"}]}}]}`, true, true},
	{"no choices", `{"object":"x","choices":[]}`, true, false},
	{"content elsewhere", `{"choices":[{"delta":{"role":"assistant"},"content":"a"}],"delta":{"content":"a"}}`, true, false},
	{"an end", `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, false, false},
	{"an empty end", `{"choices":[{"delta":{},"finish_reason":""}]}`, false, false},
	{"usage", `{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, false, false},
	{"an error", `{"error":{"message":"x"}}`, false, false},
	{"the end of all", `[DONE]`, false, false},
	{"half an event", `{"choices":[{"delta":{"content":"a"`, false, false},
	{"more behind it", `{"choices":[]} {"error":{}}`, false, false},
	{"a choice that is none", `{"choices":[1]}`, false, false},
}

func TestPlainEvents(t *testing.T) {
	for _, test := range plainEvents {
		t.Run(test.name, func(t *testing.T) {
			p, plain := readPlain(openai.Event{Data: []byte(test.data)})
			if plain != test.plain || plain && p.output != test.output {
				t.Errorf("plain %v with output %v, want %v with %v", plain, p.output, test.plain, test.output)
			}
		})
	}
}

// What is taken for plain reads the same closely.
func FuzzPlainEvents(f *testing.F) {
	for _, test := range plainEvents {
		f.Add(test.data)
	}
	for _, data := range []string{`{"choices":[{"delta":{"\u0063ontent":"a"}}]}`, `{"choices":[{"delta":{"content":""},"delta":{"content":"a"}}]}`, `{"choices":{"delta":{"content":"a"}}}`, `{"choices":[{"delta":[{"content":"a"}]}]}`} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		e := openai.Event{Data: []byte(data)}
		p, plain := readPlain(e)
		if !plain {
			return
		}
		got := readClosely(e)
		got.usage, got.failure, got.usageOnly = chunk{}.usage, chunk{}.failure, false // of null
		if diff := cmp.Diff(chunk{output: p.output, heard: p.heard}, got, cmp.AllowUnexported(chunk{}, bit{}, heard{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-plain +closely):\n%s", data, diff)
		}
		if c := readClosely(e); c.usage.IsObject() || c.usageOnly || c.failure.IsObject() {
			t.Errorf("%s: plain, and has usage or an error", data)
		}
	})
}

// What comes from a mould is what it would be read as, whatever the text is.
func FuzzMoulds(f *testing.F) {
	for _, test := range plainEvents {
		for _, text := range []string{"a", "", `\n`, `"`, `","finish_reason":"stop`, "é\x00"} {
			f.Add(test.data, text)
		}
	}
	f.Fuzz(func(t *testing.T, data, text string) {
		first := openai.Event{Data: []byte(data)}
		p, plain := readPlain(first)
		if !plain {
			return
		}
		var m mould
		m.take(first.Data, p)
		again := slices.Concat(m.head, []byte(text), m.tail)
		next := openai.Event{Data: again}
		size := m.text(next)
		if size == 0 {
			return
		}
		around := m.around
		around.bytes += int64(size)
		want := readClosely(next)
		want.usage, want.failure, want.usageOnly = chunk{}.usage, chunk{}.failure, false // of null
		if diff := cmp.Diff(want, chunk{output: true, heard: around}, cmp.AllowUnexported(chunk{}, bit{}, heard{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-closely +mould):\n%s", again, diff)
		}
	})
}

func TestMoulds(t *testing.T) {
	first := plainEvents[0].data
	var m mould
	p, _ := readPlain(openai.Event{Data: []byte(first)})
	m.take([]byte(first), p)
	around := strings.SplitN(first, `a \"usage\":{} b`, 2)
	for text, want := range map[string]bool{"b": true, " über": true, "": false, `\n`: false, `","x":"`: false} {
		if got := m.text(openai.Event{Data: []byte(around[0] + text + around[1])}) > 0; got != want {
			t.Errorf("%q fits: %v", text, got)
		}
	}
	for _, data := range []string{around[0] + "b" + `"},"finish_reason":"stop"}]}`, around[0], `{}`, doneEvent} {
		if m.text(openai.Event{Data: []byte(data)}) > 0 {
			t.Errorf("%s fits", data)
		}
	}
	if m.text(openai.Event{Name: []byte("error"), Data: []byte(first)}) > 0 {
		t.Error("an event with a name fits")
	}
}

// BenchmarkEvents is what a piece of an answer costs before it is written: cut out
// of what was read, and understood: by comparison, by a walk over it, and closely.
func BenchmarkEvents(b *testing.B) {
	data := plainEvents[0].data
	read := []byte("data: " + data + "\n\n")
	var m mould
	p, _ := readPlain(openai.Event{Data: []byte(data)})
	m.take([]byte(data), p)
	read = bytes.Replace(read, []byte(`a \"usage\":{} b`), []byte(" word"), 1)
	for _, way := range []struct {
		name string
		read func(openai.Event) bool
	}{
		{"cut", func(openai.Event) bool { return true }},
		{"mould", func(e openai.Event) bool { return m.text(e) > 0 }},
		{"walk", func(e openai.Event) bool { return readChunk(e).output }},
		{"closely", func(e openai.Event) bool { return readClosely(e).output }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(read)))
			var frames framer
			for b.Loop() {
				for f := range frames.push(read) {
					if !way.read(f.event) {
						b.Fatal("no output")
					}
				}
			}
		})
	}
}
