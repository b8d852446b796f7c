package openai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContent(t *testing.T) {
	for _, c := range []struct {
		name, json string
		want       Content
		fails      bool
	}{
		{"string", `"a\nb"`, "a\nb", false},
		{"null", `null`, "", false},
		{"parts", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "a\nb", false},
		{"no parts", `[]`, "", false},
		{"image", `[{"type":"image_url","image_url":{"url":"x"}}]`, "", true},
		{"number", `5`, "", true},
		{"object", `{}`, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got Content
			if err := json.Unmarshal([]byte(c.json), &got); (err != nil) != c.fails {
				t.Fatalf("error %v, want one: %v", err, c.fails)
			}
			if !c.fails && got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPrompt(t *testing.T) {
	for _, c := range []struct {
		name, json string
		want       Prompt
		fails      bool
	}{
		{"string", `"a"`, Prompt{Text: "a", Given: true}, false},
		{"null", `null`, Prompt{}, false},
		{"tokens", `[1, 2]`, Prompt{Tokens: []int32{1, 2}, Given: true}, false},
		{"no tokens", `[]`, Prompt{Tokens: []int32{}, Given: true}, false},
		{"one string in a list", `["a"]`, Prompt{Text: "a", Given: true}, false},
		{"one list of tokens", `[[1,2]]`, Prompt{Tokens: []int32{1, 2}, Given: true}, false},
		{"two strings", `["a","b"]`, Prompt{}, true},
		{"two lists", `[[1],[2]]`, Prompt{}, true},
		{"list of null", `[null,null]`, Prompt{Tokens: []int32{0, 0}, Given: true}, false},
		{"token too large", `[3000000000]`, Prompt{}, true},
		{"number", `5`, Prompt{}, true},
		{"object in a list", `[{}]`, Prompt{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got Prompt
			if err := json.Unmarshal([]byte(c.json), &got); (err != nil) != c.fails {
				t.Fatalf("error %v, want one: %v", err, c.fails)
			}
			if c.fails {
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
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
		t.Run(c.name, func(t *testing.T) {
			var got Stop
			if err := json.Unmarshal([]byte(c.json), &got); (err != nil) != c.fails {
				t.Fatalf("error %v, want one: %v", err, c.fails)
			}
			if c.fails {
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
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
				text, err := json.Marshal(string(*m.Content))
				if err != nil {
					t.Fatal(err)
				}
				var again Content
				if err := json.Unmarshal(text, &again); err != nil || again != *m.Content {
					t.Fatalf("content %q came back as %q, %v", *m.Content, again, err)
				}
			}
		}
		var completion CompletionRequest
		if json.Unmarshal(body, &completion) == nil && completion.Prompt.Tokens != nil && completion.Prompt.Text != "" {
			t.Fatalf("prompt is both text and tokens: %+v", completion.Prompt)
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
			"role":            func() []byte { return e.Role(nil) },
			"text":            func() []byte { return e.Text(nasty, nil) },
			"text with usage": func() []byte { return e.Text(nasty, &u) },
			"finish":          func() []byte { return e.Finish("stop", nil) },
			"usage":           func() []byte { return e.Usage(u) },
			"error":           func() []byte { return e.Error(NewError("server_error", nasty, "", "")) },
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
	for b.Loop() {
		e.Text(" moon", nil)
	}
}
