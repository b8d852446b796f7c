package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// What nobody counted is guessed by one rule, whether it comes in a stream or as a whole.
func TestOutputIsGuessedByItsBytesAndPieces(t *testing.T) {
	long := strings.Repeat("word", 1000)
	piece := func(members string) string { return `{"choices":[{"index":0,"delta":{` + members + `}}]}` }
	tests := []struct {
		name   string
		stream []string
		want   int64
		whole  string // the same as a whole; empty where it would count less
	}{
		{"ten events of 4,000 bytes", repeated(piece(`"content":"`+long+`"`), 10), 10_000, `{"content":"` + strings.Repeat(long, 10) + `"}`},
		{"a token an event", repeated(piece(`"content":"a"`), 10), 10, ""},
		{"words", []string{piece(`"content":"Hello"`), piece(`"content":" world"`)}, 2, `{"content":"Hello world"}`},
		{"eight choices in one event", []string{`{"choices":[` + strings.Join(repeated(`{"index":0,"delta":{"content":"a"}}`, 8), ",") + `]}`}, 8, ""},
		{"one choice of two that speaks", []string{`{"choices":[{"index":0,"delta":{"role":"assistant"}},{"index":1,"delta":{"content":"a"}}]}`}, 1, ""},
		{"arguments of tools", repeated(piece(`"tool_calls":[{"index":0,"id":"call_12345678","function":{"arguments":"`+long+`"}}]`), 2), 2000,
			`{"content":null,"tool_calls":[{"id":"call_12345678","type":"function","function":{"name":"","arguments":"` + long + long + `"}}]}`},
		{"arguments as an object", []string{piece(`"tool_calls":[{"function":{"name":"f","arguments":{"a":"` + long + `"}}}]`)}, 1002, ""},
		{"a call of the old kind", []string{piece(`"function_call":{"name":"four","arguments":"` + long + `"}`)}, 1001, `{"function_call":{"name":"four","arguments":"` + long + `"}}`},
		{"thoughts", []string{piece(`"reasoning_content":"` + long + `"`), piece(`"reasoning":"` + long + `"`)}, 2000, `{"reasoning_content":"` + long + `","reasoning":"` + long + `"}`},
		{"thoughts between parts of content", []string{piece(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"` + long + `"}]}]`)}, 1000, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"` + long + `"}]}]}`},
		{"a refusal", []string{piece(`"refusal":"` + long + `"`)}, 1000, `{"refusal":"` + long + `"}`},
		{"sound by its transcript", []string{piece(`"audio":{"id":"audio_1234","data":"` + long + `","transcript":"12345678"}`)}, 2, `{"audio":{"id":"audio_1234","data":"` + long + `","transcript":"12345678"}}`},
		{"escapes by what they spell", []string{piece(`"content":"` + strings.Repeat(`\u00e9\n`, 100) + `"`)}, 75, `{"content":"` + strings.Repeat(`\u00e9\n`, 100) + `"}`},
		{"nothing", []string{piece(`"role":"assistant","content":""`)}, 0, `{"content":""}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, upstreamAnswers(events(append(test.stream, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]")...)))
			s.post(streamBody)
			s.settled()
			if n := gjson.Get(s.requestLine(), "output_tokens").Int(); n != test.want {
				t.Errorf("%d tokens in the stream, want %d", n, test.want)
			}
			if test.whole == "" {
				return
			}
			if a := readCompletion([]byte(`{"choices":[{"message":` + test.whole + `}]}`)); a.output != test.want {
				t.Errorf("%d tokens as a whole, want %d", a.output, test.want)
			}
		})
	}
}

func repeated(s string, n int) (all []string) {
	for range n {
		all = append(all, s)
	}
	return all
}

func events(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

// The Responses API's output counts by the same rule, also where the arguments of a call
// come at the end only.
func TestOutputOfResponsesIsGuessed(t *testing.T) {
	long := strings.Repeat("word", 1000)
	items := `[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"` + long + `"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"` + long + `"}]`
	pieces := `{"type":"response.reasoning_summary_text.delta","delta":"` + long + `"}` + "\n\n" + `data: {"type":"response.function_call_arguments.delta","delta":"` + long + `"}`
	silent := `{"type":"response.completed","response":{"status":"completed"}}`
	for name, test := range map[string]struct {
		stream string
		want   int64
	}{
		"in pieces":       {events(pieces, silent), 2000},
		"at the end only": {events(`{"type":"response.function_call_arguments.done","arguments":"x"}`, `{"type":"response.completed","response":{"status":"completed","output":`+items+`}}`), 2000},
		"sound":           {events(`{"type":"response.audio.delta","delta":"`+long+`"}`, `{"type":"response.audio.transcript.delta","delta":"12345678"}`, silent), 2},
	} {
		s := serve(t, upstreamAnswers(test.stream))
		s.at("/v1/responses", `{"model":"small","input":"hi","stream":true}`)
		s.settled()
		if n := gjson.Get(s.requestLine(), "output_tokens").Int(); n != test.want {
			t.Errorf("%s: %d tokens, want %d", name, n, test.want)
		}
	}
	if a := readResponse([]byte(`{"output":` + items + `}`)); a.output != 2000 {
		t.Errorf("%d tokens as a whole, want 2000", a.output)
	}
}

// Output after the last usage counts by the same rule.
func TestOutputAfterTheLastUsageIsGuessed(t *testing.T) {
	var m meter
	m.hear(heard{1, 4})
	m.report(gjson.Parse(`{"prompt_tokens":11,"completion_tokens":5}`))
	m.hear(heard{1, 4000})
	if got := m.tokens().Output; got != 5+1000 {
		t.Errorf("%d tokens, want 1005", got)
	}
}

// The length of a text is that of what it spells, unless half a pair is in it.
func FuzzTextLen(f *testing.F) {
	for _, s := range []string{"", "a", `a\"b`, `\u00e9\u20ac\u0041`, `\ud83d\ude00`, "é", `\\u0041`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var text string
		if !utf8.ValidString(raw) || json.Unmarshal([]byte(`"`+raw+`"`), &text) != nil || strings.Contains(text, "\uFFFD") {
			_ = textLen([]byte(raw)) // does not panic
			return
		}
		if got := textLen([]byte(raw)); got != len(text) {
			t.Errorf("%s: %d bytes, want %d", raw, got, len(text))
		}
	})
}

func BenchmarkTextOfTools(b *testing.B) {
	e := openai.Event{Data: fmt.Appendf(nil, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]}}]}`, "word")}
	b.ReportAllocs()
	for b.Loop() {
		if readChunk(e).heard.bytes != 4 {
			b.Fatal("another length")
		}
	}
}
