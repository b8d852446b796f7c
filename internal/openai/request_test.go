package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContent(t *testing.T) {
	for _, c := range []struct {
		name, json string
		want       Content
		fails      bool
	}{
		{"string", `"a\nb"`, Content{Text: "a\nb"}, false},
		{"null", `null`, Content{}, false},
		{"parts", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, Content{Text: "a\nb", Parts: []string{"a", "b"}}, false},
		{"no parts", `[]`, Content{Parts: []string{}}, false},
		{"image", `[{"type":"image_url","image_url":{"url":"x"}}]`, Content{}, true},
		{"number", `5`, Content{}, true},
		{"object", `{}`, Content{}, true},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.json, c.want, c.fails, "messages") })
	}
}

func TestPrompts(t *testing.T) {
	for _, c := range []struct {
		name, json string
		want       Prompts
		fails      bool
	}{
		{"string", `"a"`, Prompts{{Text: "a"}}, false},
		{"null", `null`, nil, false},
		{"tokens", `[1, 2]`, Prompts{{Tokens: []int32{1, 2}}}, false},
		{"no tokens", `[]`, Prompts{{Tokens: []int32{}}}, false},
		{"one string in a list", `["a"]`, Prompts{{Text: "a"}}, false},
		{"one list of tokens", `[[1,2]]`, Prompts{{Tokens: []int32{1, 2}}}, false},
		{"two strings", `["a", "b"]`, Prompts{{Text: "a"}, {Text: "b"}}, false},
		{"two lists", `[[1],[2]]`, Prompts{{Tokens: []int32{1}}, {Tokens: []int32{2}}}, false},
		{"both kinds", `["a",[2]]`, Prompts{{Text: "a"}, {Tokens: []int32{2}}}, false},
		{"list of null", `[null,null]`, nil, true},
		{"token too large", `[3000000000]`, nil, true},
		{"broken token", `[1.5]`, nil, true},
		{"number", `5`, nil, true},
		{"object in a list", `[{}]`, nil, true},
		{"lists too deep", `[[[1]]]`, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.json, c.want, c.fails, "prompt") })
	}
}

// check decodes a value; where it fails the error names the field.
func check[T any](t *testing.T, text string, want T, fails bool, field string) {
	t.Helper()
	var got T
	err := json.Unmarshal([]byte(text), &got)
	if (err != nil) != fails {
		t.Fatalf("error %v, want one: %v", err, fails)
	}
	if fails {
		if wrong, ok := errors.AsType[*FieldError](err); !ok || wrong.Field != field {
			t.Errorf("error %v does not name %s", err, field)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStop(t *testing.T) {
	for _, c := range []struct {
		name, json string
		want       Stop
		fails      bool
	}{
		{"string", `"a"`, Stop{"a"}, false},
		{"empty string", `""`, Stop{""}, false},
		{"list", `["a","b"]`, Stop{"a", "b"}, false},
		{"null", `null`, nil, false},
		{"number", `5`, nil, true},
		{"list of numbers", `[5]`, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.json, c.want, c.fails, "stop") })
	}
}

// FuzzRequest: whatever the body, decoding ends without a panic, and what was
// accepted once is accepted again in the same meaning.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"x"}],"stop":"a","logprobs":true}`,
		`{"prompt":[[1]],"stop":["a"],"seed":1,"stream_options":{"include_usage":true}}`,
		`{"prompt":["x"],"messages":[{"content":[{"type":"text","text":"y"}]}]}`, `null`, `[`, `{"prompt":[[[[1]]]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var chat ChatRequest
		if json.Unmarshal(body, &chat) == nil {
			for _, m := range chat.Messages {
				if m.Content == nil {
					continue
				}
				text, err := json.Marshal(m.Content.Text)
				if err != nil {
					t.Fatal(err)
				}
				var again Content
				if err := json.Unmarshal(text, &again); err != nil || again.Text != m.Content.Text {
					t.Fatalf("content %q came back as %q, %v", m.Content.Text, again.Text, err)
				}
			}
		}
		var completion CompletionRequest
		if json.Unmarshal(body, &completion) != nil {
			return
		}
		for _, p := range completion.Prompt {
			if p.Tokens != nil && p.Text != "" {
				t.Fatalf("prompt is both text and tokens: %+v", p)
			}
		}
	})
}

// TestChunkEncoderMakesJSON checks every kind of event against encoding/json, on
// text that needs escapes.
func TestChunkEncoderMakesJSON(t *testing.T) {
	const nasty = "\"\\\n\x00<é🙂\u2028\xff"
	u := NewUsageReport(3, 2, 1)
	for _, chat := range []bool{true, false} {
		e := NewChunkEncoder(chat, true, nasty, 5, nasty)
		for name, encode := range map[string]func() []byte{
			"role": func() []byte { return e.Chunk(&Delta{Role: true}, nil) },
			"all": func() []byte {
				return e.Chunk(&Delta{Index: 3, Text: nasty, Reasoning: nasty, Tools: []ToolDelta{{ID: nasty, Name: nasty}, {Index: 1, Arguments: nasty}},
					Logprobs: &ChatLogprobs{Content: []ChatLogprob{{TopLogprob: TopLogprob{Token: nasty, Bytes: []int{255}}}}}, TokenIDs: []int32{1}, Prompt: []int32{2}}, &u)
			},
			"text":       func() []byte { return e.Chunk(&Delta{Text: nasty}, nil) },
			"reasoning":  func() []byte { return e.Chunk(&Delta{Reasoning: nasty}, nil) },
			"tool":       func() []byte { return e.Chunk(&Delta{Tools: []ToolDelta{{Arguments: nasty}}}, nil) },
			"finish":     func() []byte { return e.Chunk(&Delta{Finish: "stop", Stopped: nasty}, nil) },
			"stop token": func() []byte { return e.Chunk(&Delta{Finish: "stop", Stopped: 5}, nil) },
			"usage":      func() []byte { return e.Usage(u) },
			"error":      func() []byte { return e.Error(NewError("server_error", nasty, "", "")) },
		} {
			event := encode()
			var d Decoder
			d.Push(event)
			got, ok := d.Next()
			if !ok || !json.Valid(got.Data) {
				t.Errorf("%s: %q is no event with JSON", name, event)
			}
			if _, more := d.Next(); more {
				t.Errorf("%s: %q is more than one event", name, event)
			}
		}
		var back struct{ ID, Model string }
		if err := json.Unmarshal(e.Usage(u)[len("data: "):], &back); err != nil || back.ID != "\"\\\n\x00<é🙂\u2028\ufffd" {
			t.Errorf("id came back as %q, %v", back.ID, err)
		}
	}
}

func BenchmarkChunk(b *testing.B) {
	e := NewChunkEncoder(true, false, "chatcmpl-0123456789abcdef", 1700000000, "builtin")
	b.ReportAllocs()
	var d Delta
	for b.Loop() {
		d.Text = " moon"
		e.Chunk(&d, nil)
	}
}
