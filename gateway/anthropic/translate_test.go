package anthropic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/anthropic/anthropictest"
	"github.com/llmctl/llmctl/internal/openai"
)

// Events of the vendor's.
const (
	started  = `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"vendor-large-2","content":[],"stop_reason":null,"usage":{"input_tokens":25,"cache_read_input_tokens":100,"cache_creation_input_tokens":0,"output_tokens":1}}}`
	ping     = `{"type":"ping"}`
	textOpen = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	hello    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello \"é漢🙂\""}}`
	stopped  = `{"type":"content_block_stop","index":0}`
	ended    = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}`
	byTool   = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}`
	over     = `{"type":"message_stop"}`

	thoughtOpen = `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`
	thought     = `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm\n"}}`
	signature   = `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`

	overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
)

func call(index int, id, name string, pieces ...string) []string {
	events := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, index, id, name)}
	for _, p := range pieces {
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, index, p))
	}
	return append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// streams are scripts, and what a client of OpenAI's makes of the translation:
// "text|reasoning|calls|finish|usage|end".
var streams = []struct {
	name   string
	events []string
	want   string
}{
	{"text", []string{started, textOpen, ping, hello, hello, stopped, ended, over}, `Hello "é漢🙂"Hello "é漢🙂"|||stop|125 100 15|done`},
	{"thoughts", []string{started, thoughtOpen, thought, signature, stopped, textOpen, hello, stopped, ended, over}, "Hello \"é漢🙂\"|hm\n||stop|125 100 15|done"},
	{"two tools after text", append(append(append([]string{started, textOpen, hello, stopped}, call(1, "toolu_1", "f", "", `{"a":`, `"b\"c"}`)...), call(2, "toolu_2", "g")...), byTool, over),
		`Hello "é漢🙂"||0 toolu_1 f {"a":"b\"c"};1 toolu_2 g {}|tool_calls|125 100 89|done`},
	{"a long piece of a tool call", append(append([]string{started}, call(0, "toolu_1", "f", `{"a":"`, strings.Repeat("x", 200<<10), `"}`)...), byTool, over),
		`||0 toolu_1 f {"a":"` + strings.Repeat("x", 200<<10) + `"}|tool_calls|125 100 89|done`},
	{"error at once", []string{overloaded}, `|||||overloaded`},
	{"error on the way", []string{started, textOpen, hello, overloaded, over}, `Hello "é漢🙂"|||||overloaded`},
	{"no end marker after the finish", []string{started, textOpen, hello, stopped, ended}, `Hello "é漢🙂"|||stop|125 100 15|done`},
	{"cut off", []string{started, textOpen, hello}, `Hello "é漢🙂"|||||cut`},
	{"end marker without a finish", []string{started, textOpen, hello, over}, `Hello "é漢🙂"|||||cut`},
	{"nothing", nil, `|||||cut`},
	{"event that is not JSON", []string{started, textOpen, hello, `{"type":"content_block_delta","delta":{"type":"text_del`}, `Hello "é漢🙂"|||||upstream_error`},
	{"event that is no object", []string{started, textOpen, hello, `[7]`, hello}, `Hello "é漢🙂"|||||upstream_error`},
	{"event that is no UTF-8", []string{started, textOpen, hello, "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\"}}"}, `Hello "é漢🙂"|||||upstream_error`},
	{"event without data", []string{started, textOpen, hello, ``, stopped, ended, over}, `Hello "é漢🙂"|||stop|125 100 15|done`},
	{"garbage after the finish", []string{started, textOpen, hello, stopped, ended, `oops`, over}, `Hello "é漢🙂"|||stop|125 100 15|done`},
	{"no beginning", []string{textOpen, hello}, `|||||upstream_error`},
	{"input counted at the end only", []string{strings.Replace(started, `"input_tokens":25,"cache_read_input_tokens":100`, `"input_tokens":0,"cache_read_input_tokens":null`, 1), textOpen, hello, stopped,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"input_tokens":30,"cache_read_input_tokens":5,"output_tokens":7}}`, over}, `Hello "é漢🙂"|||length|35 5 7|done`},
	{"events of a later version", []string{started, `{"type":"weather","a":1}`, textOpen, hello, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`, stopped,
		`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"n","input":{}}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"content_block_stop","index":1}`, ended, over},
		`Hello "é漢🙂"|||stop|125 100 15|done`},
}

// wire is a script on the wire.
func wire(events []string) string {
	var b strings.Builder
	for _, e := range events {
		if !gjson.Parse(e).IsObject() || !gjson.Valid(e) {
			b.WriteString("event: broken\ndata: " + e + "\n\n")
			continue
		}
		b.WriteString(anthropictest.Event(e))
	}
	return b.String()
}

func response(status int, kind string, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: status, ContentLength: 17, Body: io.NopCloser(body),
		Header: http.Header{"Content-Type": {kind}, "Content-Length": {"17"}},
	}
}

func translated(t testing.TB, r io.Reader) string {
	t.Helper()
	answer := response(200, "text/event-stream; charset=utf-8", r)
	Translate(answer, created)
	if answer.ContentLength != -1 || answer.Header.Get("Content-Length") != "" {
		t.Error("the length of the untranslated body stays")
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// heard is what a client makes of a translated stream.
func heard(t testing.TB, text string) string {
	t.Helper()
	var said, thoughts, finish, counts strings.Builder
	end := "cut"
	var calls []string
	for event := range events(text) {
		if end != "cut" {
			t.Errorf("%q follows the end", event)
		}
		if event == "[DONE]" {
			end = "done"
			continue
		}
		chunk := gjson.Parse(event)
		if !gjson.Valid(event) {
			t.Fatalf("a chunk is not JSON: %s", event)
		}
		if problem := chunk.Get("error"); problem.Exists() {
			end = problem.Get("code").Str
			continue
		}
		if id, model := chunk.Get("id").Str, chunk.Get("model").Str; id != "msg_01" || model != "vendor-large-2" || chunk.Get("created").Int() != created || chunk.Get("object").Str != "chat.completion.chunk" {
			t.Errorf("chunk %s", event)
		}
		delta := chunk.Get("choices.0.delta")
		said.WriteString(delta.Get("content").Str)
		thoughts.WriteString(delta.Get("reasoning_content").Str)
		finish.WriteString(chunk.Get("choices.0.finish_reason").Str)
		delta.Get("tool_calls").ForEach(func(_, call gjson.Result) bool {
			if id := call.Get("id").Str; id != "" {
				calls = append(calls, fmt.Sprintf("%d %s %s ", call.Get("index").Int(), id, call.Get("function.name").Str))
			}
			calls[call.Get("index").Int()] += call.Get("function.arguments").Str
			return true
		})
		if u := chunk.Get("usage"); u.IsObject() {
			if chunk.Get("choices.#").Int() != 0 {
				t.Errorf("usage beside a choice: %s", event)
			}
			fmt.Fprintf(&counts, "%d %d %d", u.Get("prompt_tokens").Int(), u.Get("prompt_tokens_details.cached_tokens").Int(), u.Get("completion_tokens").Int())
		}
	}
	return strings.Join([]string{said.String(), thoughts.String(), strings.Join(calls, ";"), finish.String(), counts.String(), end}, "|")
}

// events yields the data of a stream's events.
func events(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		var d openai.Decoder
		d.Push([]byte(text))
		for e, ok := d.Next(); ok; e, ok = d.Next() {
			if !yield(string(e.Data)) {
				return
			}
		}
	}
}

func TestStream(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, heard(t, translated(t, strings.NewReader(wire(tt.events))))); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
		})
	}
}

// However the bytes come, the result is the same.
func TestStreamCutAnywhere(t *testing.T) {
	for _, tt := range streams {
		want := translated(t, strings.NewReader(wire(tt.events)))
		if got := translated(t, iotest.OneByteReader(strings.NewReader(strings.ReplaceAll(wire(tt.events), "\n", "\r\n")))); got != want {
			t.Errorf("%s, a byte at a time:\n%s\ninstead of\n%s", tt.name, got, want)
		}
	}
}

// Every chunk has the field usage, null but in the last one, as OpenAI's do when
// asked for it.
func TestUsageInEveryChunk(t *testing.T) {
	n := 0
	for event := range events(translated(t, strings.NewReader(wire(streams[0].events)))) {
		if chunk := gjson.Parse(event); event != "[DONE]" && !chunk.Get("usage").Exists() {
			t.Errorf("no usage in %s", event)
		}
		n++
	}
	if n != 6 {
		t.Errorf("%d events", n)
	}
}

// The stream is what the file says, to the byte: clients other than ours read it.
func TestStreamOnTheWire(t *testing.T) {
	got := translated(t, strings.NewReader(wire(streams[2].events)))
	want, err := os.ReadFile("testdata/tools.sse")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
}

// What an event says can be read before the next one comes.
func TestStreamHoldsNothingBack(t *testing.T) {
	source, upstream := io.Pipe()
	answer := response(200, "text/event-stream", nil)
	answer.Body = source
	Translate(answer, created)
	buffer := make([]byte, 4096)
	for _, e := range []string{started, hello} {
		go upstream.Write([]byte(anthropictest.Event(e))) //nolint:errcheck // the read below ends it
		n, err := answer.Body.Read(buffer)
		if err != nil || !bytes.HasSuffix(buffer[:n], []byte("\n\n")) {
			t.Errorf("after %s: %q, %v", e, buffer[:n], err)
		}
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := upstream.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("closing the body does not close the connection: %v", err)
	}
}

func TestStreamThatBreaks(t *testing.T) {
	broken := errors.New("connection reset")
	answer := response(200, "text/event-stream", io.MultiReader(strings.NewReader(wire([]string{started, hello})), iotest.ErrReader(broken)))
	Translate(answer, created)
	text, err := io.ReadAll(answer.Body)
	if !errors.Is(err, broken) || !strings.HasPrefix(heard(t, string(text)), "Hello") {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestTranslateWholeAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		status     int
		body       io.Reader
		want, fail string
		code       int
	}{
		{"message", "application/json", 200, strings.NewReader(message(answers[0].message)), `"content":"Hello`, "", 200},
		{"garbage", "application/json", 200, strings.NewReader("{"), "", "not valid JSON", 200},
		{"broken off", "application/json", 200, iotest.ErrReader(io.ErrUnexpectedEOF), "", "unexpected EOF", 200},
		{"overloaded", "application/json", 529, strings.NewReader(overloaded), `"code":"overloaded"`, "", 503},
		{"page", "text/html", 200, strings.NewReader("<html>"), "<html>", "", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := response(tt.status, tt.kind, tt.body)
			Translate(answer, created)
			text, err := io.ReadAll(answer.Body)
			if err != nil && (tt.fail == "" || !strings.Contains(err.Error(), tt.fail)) || err == nil && tt.fail != "" {
				t.Errorf("reading: %v", err)
			}
			if !strings.Contains(string(text), tt.want) || answer.StatusCode != tt.code {
				t.Errorf("%d %s", answer.StatusCode, text)
			}
			if err := answer.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzStream: whatever the vendor sends, the client gets events of JSON, and
// nothing after an end.
func FuzzStream(f *testing.F) {
	for _, tt := range streams {
		f.Add([]byte(wire(tt.events)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := translated(t, bytes.NewReader(data))
		ended := false
		for event := range events(got) {
			if ended {
				t.Errorf("%q follows the end in %q", event, got)
			}
			if event != "[DONE]" && !gjson.Valid(event) {
				t.Errorf("event %q is not JSON", event)
			}
			ended = event == "[DONE]" || gjson.Get(event, "error").Exists()
		}
		if again := translated(t, iotest.HalfReader(bytes.NewReader(data))); again != got {
			t.Errorf("read in halves: %q instead of %q", again, got)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	events := []string{started, textOpen}
	for range 100 {
		events = append(events, hello)
	}
	text := []byte(wire(append(events, stopped, ended, over)))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		answer := response(200, "text/event-stream", bytes.NewReader(text))
		Translate(answer, created)
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	body := []byte(requests[13].body)
	image := []byte(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("iVBORw0K", 1<<17) + `"}}]}]}`)
	for name, body := range map[string][]byte{"tools": body, "image 1 MiB": image} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, problem := Request(body, options); problem != nil {
					b.Fatal(problem)
				}
			}
		})
	}
}

// A connection that ends within an event, because its reader was told to stop or it
// broke, is no mistake in what the provider said: the reader gets the reason.
func TestStreamCutWithinAnEvent(t *testing.T) {
	reason := errors.New("told to stop")
	for _, begun := range []string{`data: {"type":"pi`, "data: {\"type\":\"ping\"}\n\ndata: {", "event: ping\ndata: {\"type\"\n"} {
		response := &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(io.MultiReader(strings.NewReader(begun), iotest.ErrReader(reason))),
		}
		Translate(response, 0)
		if got, err := io.ReadAll(response.Body); len(got) > 0 || !errors.Is(err, reason) {
			t.Errorf("after %q: %q, %v", begun, got, err)
		}
	}
}
