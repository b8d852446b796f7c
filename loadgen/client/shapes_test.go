package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/reports/record"
)

// view is what a test compares of a record.
type view struct {
	Outcome record.Outcome
	Failure record.Failure
	Chunks  int // events with output
	Output  record.Count
	Source  record.TokensSource
	Finish  string
	Visible bool // FirstVisible is known
}

func viewOf(r *record.Record) view {
	return view{r.Outcome, r.Failure, chunks(r), r.Output, r.TokensSource, r.FinishReason, r.FirstVisible.Known()}
}

// good is an answer whose tokens are its events.
func good(n int, finish string) view {
	return view{record.OK, "", n, record.Counted(n), record.FromChunk, finish, true}
}

func failed(f record.Failure) view { return view{Outcome: record.Failed, Failure: f} }

// shape is an answer and what a client must make of it.
type shape struct {
	name   string
	script *response
	want   view
}

// shapes are answers with the bytes of reports about other clients, cut where
// their networks cut them.
func shapes() []shape {
	broken := view{record.Failed, record.StreamError, 1, record.Counted(1), record.FromChunk, "", true}
	long := strings.Repeat("x", 200<<10)
	role := delta(`{"role":"assistant","content":""}`)
	return []shape{
		// Framing.
		{"T01 read ends after data:", body("data:", " "+strings.TrimPrefix(c("a"), "data: ")+done), good(1, "")},
		{"T02 read ends inside text", body(`data: {"choices":[{"delta":{"content":"a`, ` b"}}]}`+"\n\n", done), good(1, "")},
		{"T03 no space after data:", body(strings.ReplaceAll(c("a")+done, "data: ", "data:")), good(1, "")},
		{"T04 CRLF", body(strings.ReplaceAll(c("a")+c("b")+done, "\n", "\r\n")), good(2, "")},
		{"T04 lone CR", body(strings.ReplaceAll(c("a")+c("b")+done, "\n", "\r")), good(2, "")},
		{"T05 byte by byte", body(strings.Split(strings.ReplaceAll(c("a")+c("b")+done, "\n", "\r\n"), "")...), good(2, "")},
		{"T07 character cut", body("data: {\"choices\":[{\"delta\":{\"content\":\"\xe4", "\xb8\xad\"}}]}\n\n"+done), good(1, "")},
		{"T08 no final blank line", body(c("a")+finish("stop"), strings.TrimRight(usage("1"), "\n")),
			view{record.OK, "", 1, record.Counted(1), record.FromUsage, "stop", true}},
		{"T09 two events in one read", body(c("a") + c("b") + done), good(2, "")},
		{"T11 comments", body(": ping\n\n", c("a"), ": ping\n\n", c("b")+done), good(2, "")},
		{"T13 event of 200 KB", body(c(long) + done), good(1, "")},
		{"T14 70 KB, then usage", body(c(long[:70<<10]), usage("9"), done), view{record.OK, "", 1, record.Counted(9), record.FromUsage, "", true}},
		{"T66 [DONE] without space", body(c("a") + "data:[DONE]\n\n"), good(1, "")},
		{"T66 [DONE] with spaces around", body(c("a") + "data: [DONE] \n\n"), good(1, "")},
		{"T69 role and content in one read", body(role + c("a") + finish("stop")), good(1, "stop")},
		{"T17 BOM, id, retry, unknown field", body("\uFEFFid: 1\nretry: 5\nfoo: bar\n" + c("a") + done), good(1, "")},
		{"several data lines", body("data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n" + done), good(1, "")},
		{"event name before data", body("event: message\n" + c("a") + done), good(1, "")},
		{"line separators of Unicode", body(c("a\u2028b\u2029c\u0085d") + done), good(1, "")},

		// What is a token.
		{"T18 role delta with empty content", body(role, c("a"), done), good(1, "")},
		{"T19 role delta with null content", body(delta(`{"role":"assistant","content":null}`), c("a"), done), good(1, "")},
		{"T20 reasoning_content first", body(delta(`{"reasoning_content":"x"}`), c("a"), done), good(2, "")},
		{"T20 reasoning first", body(delta(`{"reasoning":"x"}`), c("a"), done), good(2, "")},
		{"T20 both names with the same text", body(delta(`{"reasoning":"x","reasoning_content":"x"}`), c("a"), done), good(2, "")},
		{"T21 capped inside reasoning", body(delta(`{"reasoning_content":"x"}`), finish("length")),
			view{record.OK, "", 1, record.Counted(1), record.FromChunk, "length", false}},
		{"T22 tool call", body(delta(`{"tool_calls":[{"index":0,"function":{"name":"f"}}],"content":null}`), finish("tool_calls"), usage("17"), done),
			view{record.OK, "", 1, record.Counted(17), record.FromUsage, "tool_calls", true}},
		{"T22 null tool calls", body(delta(`{"content":"a","tool_calls":null}`), done), good(1, "")},
		{"T26 usage in a chunk without text", body(c("a"), event(`{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],"usage":{"completion_tokens":24}}`)),
			view{record.OK, "", 1, record.Counted(24), record.FromUsage, "stop", true}},
		{"T27 usage without choices", body(c("a"), usage("24"), done), view{record.OK, "", 1, record.Counted(24), record.FromUsage, "", true}},
		{"T30 reasoning tokens are not added", body(c("a"), event(`{"choices":[],"usage":{"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":60}}}`), done),
			view{record.OK, "", 1, record.Counted(100), record.FromUsage, "", true}},
		{"null delta and null choices", body(event(`{"choices":[{"delta":null}]}`), event(`{"choices":null}`), c("a"), done), good(1, "")},

		// What is a failure.
		{"T32 stream with usage only", body(usage("0"), done),
			view{record.Failed, record.NoOutput, 0, record.Counted(0), record.FromUsage, "", false}},
		{"empty answer", body(), failed(record.NoOutput)},
		{"T34 error object after 200", body(c("a"), c("b"), event(`{"error":{"message":"m","code":500}}`), done),
			view{record.Failed, record.StreamError, 2, record.Counted(2), record.FromChunk, "", true}},
		{"T34 error: null, empty and {}", body(c("a"), event(`{"error":null,"choices":[]}`), event(`{"error":""}`), event(`{"error":{}}`), done), good(1, "")},
		{"event: error", body(c("a"), "event: error\ndata: overloaded\n\n"),
			view{record.Failed, record.StreamError, 1, record.Counted(1), record.FromChunk, "", true}},
		{"T36 end without terminal signal", body(c("a"), c("b"), c("c"), c("d"), c("e")),
			view{record.Failed, record.Truncated, 5, record.Counted(5), record.FromChunk, "", true}},
		{"T36 end inside an event", body(c("a"), `data: {"choices":[{"del`),
			view{record.Failed, record.Truncated, 1, record.Counted(1), record.FromChunk, "", true}},
		{"T36 connection breaks", &response{pieces: cut(c("a")), broken: true},
			view{record.Failed, record.Truncated, 1, record.Counted(1), record.FromChunk, "", true}},
		{"T38 finish_reason without [DONE]", body(c("a"), finish("stop")), good(1, "stop")},
		{"connection breaks after finish_reason", &response{pieces: cut(c("a"), finish("stop")), broken: true}, good(1, "stop")},
		{"two choices that end", body(choice(0, "a"), choice(1, "b"), end(0), choice(1, "c"), end(1)), good(3, "stop")},
		{"T36 one of two choices does not end", body(choice(0, "a"), choice(1, "b"), end(0)),
			view{record.Failed, record.Truncated, 2, record.Counted(2), record.FromChunk, "stop", true}},
		{"output after finish_reason", body(c("a"), finish("stop"), c("b")), good(2, "stop")},
		{"T36 connection breaks in output after finish_reason", &response{pieces: cut(c("a"), finish("stop"), c("b")), broken: true},
			view{record.Failed, record.Truncated, 2, record.Counted(2), record.FromChunk, "stop", true}},
		{"T34 detail after 200", body(c("a"), event(`{"detail":"oops"}`), done), broken},
		{"T34 code and message after 200", body(c("a"), event(`{"code":500,"message":"m"}`), done), broken},
		{"T34 error number", body(c("a"), event(`{"error":500}`), done), broken},
		{"T34 list of errors", body(c("a"), event(`{"errors":[{"message":"m"}]}`), done), broken},
		{"T34 error of a choice", body(c("a"), event(`{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"m"}}]}`), done), broken},
		{"T34 finish_reason error", body(c("a"), finish("error"), done), broken},
		{"T34 finish_reason abort of vLLM", body(c("a"), finish("abort"), done), broken},
		{"T34 error field of llama.cpp", body(c("a"), `error: {"code":500,"message":"m"}`+"\n\n"), broken},
		{"T34 response completed, but failed", body(event(`{"type":"response.output_text.delta","delta":"a"}`), event(`{"type":"response.completed","response":{"status":"failed"}}`)), broken},
		{"T34 JSON error in an event stream", body(`{"error":{"message":"m"}}`), failed(record.StreamError)},
		{"T33 one token", body(c("a"), finish("length"), usage("1"), done), view{record.OK, "", 1, record.Counted(1), record.FromUsage, "length", true}},
		{"usage as floats", body(c("a"), usage("17.0"), done), view{record.OK, "", 1, record.Counted(17), record.FromUsage, "", true}},
		{"heartbeats as events", body("data: \n\n", "data\n\n", "event: ping\ndata: 2026-01-01\n\n", "data: null\n\n", c("a"), "event: heartbeat\ndata: x\n\n", done), good(1, "")},
		{"only heartbeats", body("data: null\n\n"), failed(record.NoOutput)},
		{"T34 event: error without data", body(c("a"), "event: error\ndata: null\n\n"), broken},
		{"thinking in a list of parts", body(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), finish("length")),
			view{record.OK, "", 1, record.Counted(1), record.FromChunk, "length", false}},
		{"events as application/json", &response{kind: "application/json", pieces: cut(c("a") + done)}, good(1, "")},
		{"events as text/html, after a comment", &response{kind: "text/html", pieces: cut(": hi\n\n" + c("a") + done)}, good(1, "")},
		{"T17 BOM, events as text/html", &response{kind: "text/html", pieces: cut("\uFEFF\n" + c("a") + done)}, good(1, "")},
		{"document as an event stream", body(`{"choices":[{"message":{"content":"a"}}]}`), failed(record.NotSSE)},
		{"HTML as an event stream", body("\uFEFF\r\n<html>"), failed(record.NotSSE)},
		{"blank lines only", body("\r\n\n"), failed(record.NotSSE)},
		{"gzip that was not asked for", &response{fields: "Content-Encoding: gzip\r\n", pieces: cut("\x1f\x8b\x08\x00\x00")}, failed(record.NotSSE)},
		{"T39 status 201", &response{status: 201, pieces: cut(c("a") + done)}, good(1, "")},
		{"event that is not JSON", body(c("a"), event("hello")),
			view{record.Failed, record.Malformed, 1, record.Counted(1), record.FromChunk, "", true}},
		{"text without events", body("Welcome to nginx!"), failed(record.NotSSE)},
		{"HTML page", &response{kind: "text/html", pieces: cut("<html><title>Hi</title></html>")}, failed(record.NotSSE)},
		{"JSON answer", &response{kind: "application/json", pieces: cut(`{"choices":[{"message":{"content":"a"}}]}`)}, failed(record.NotSSE)},
		{"JSON error with status 200", &response{kind: "application/json", pieces: cut(`{"error":{"message":"m"}}`)}, failed(record.StreamError)},
		{"events as text/plain", &response{kind: "text/plain", pieces: cut(c("a") + done)}, good(1, "")},
		{"status 429", &response{status: 429, pieces: cut(`{"error":{"message":"slow down"}}`)}, failed("http_429")},
		{"status 500 with a page", &response{status: 500, pieces: cut("<html>no</html>")}, failed("http_500")},
		{"redirect", &response{status: 307, fields: "Location: /elsewhere\r\n"}, failed("http_307")},
	}
}

// TestShapes sends a request to a server that answers with a shape, over both
// transports, with the body framed in each of the ways of HTTP.
func TestShapes(t *testing.T) {
	for _, tt := range shapes() {
		t.Run(tt.name, func(t *testing.T) {
			for i, reads := range append([][]string{tt.script.reads()}, tt.script.framings()...) {
				for _, transport := range transports {
					r := play(t, transport, Options{}, reads)
					if diff := cmp.Diff(tt.want, viewOf(r)); diff != "" {
						t.Errorf("%s, framing %d (-want +got):\n%s\n%s", transport, i, diff, r.Detail)
					}
					if (r.Outcome == record.Failed) != (r.Detail != "") {
						t.Errorf("%s: outcome %s with the detail %q", transport, r.Outcome, r.Detail)
					}
					ordered(t, r)
				}
			}
		})
	}
}

// TestEveryCut cuts the bytes of each shape, heads and chunks included, in two at
// every place, and into single bytes.
func TestEveryCut(t *testing.T) {
	for _, tt := range shapes() {
		t.Run(tt.name, func(t *testing.T) {
			whole := strings.Join(tt.script.reads(), "")
			if len(whole) > 4096 {
				return // a cut inside 70,000 equal bytes tells nothing new
			}
			for _, transport := range transports {
				check := func(where string, reads ...string) {
					t.Helper()
					if diff := cmp.Diff(tt.want, viewOf(play(t, transport, Options{}, reads))); diff != "" {
						t.Fatalf("%s, %s (-want +got):\n%s", transport, where, diff)
					}
				}
				for i := 1; i < len(whole); i++ {
					check(fmt.Sprintf("cut at %d", i), whole[:i], whole[i:])
				}
				check("byte by byte", single(whole)...)
			}
		})
	}
}

// ordered checks that the moments of a record are in their order.
func ordered(t *testing.T, r *record.Record) {
	t.Helper()
	before := since(r.Sent)
	if before < 0 {
		t.Error("Sent is unknown")
	}
	for _, m := range []struct {
		name string
		at   record.Moment
	}{{"FirstByte", r.FirstByte}, {"First", r.First}, {"FirstVisible", r.FirstVisible}, {"Last", r.Last}, {"Closed", r.Closed}} {
		if !m.at.Known() {
			continue
		}
		if since(m.at) < before {
			t.Errorf("%s at %v is before %v", m.name, since(m.at), before)
		}
		before = since(m.at)
	}
	if wrote := since(r.Wrote); wrote >= 0 && wrote < since(r.Sent) {
		t.Errorf("Wrote at %v is before Sent at %v", wrote, since(r.Sent))
	}
}

// TestT13LargestEvent: how large an event may be is for the user to say.
func TestT13LargestEvent(t *testing.T) {
	for _, tt := range []struct {
		largest, size int
		failure       record.Failure
	}{{0, 17 << 20, ""}, {0, 33 << 20, record.Malformed}, {1000, 800, ""}, {1000, 1001, record.Malformed}, {40 << 20, 33 << 20, ""}} {
		r := play(t, "wire", Options{MaxEvent: tt.largest}, body(c(strings.Repeat("x", tt.size)), done).reads())
		if r.Failure != tt.failure || tt.failure != "" && !strings.Contains(r.Detail, "too large") {
			t.Errorf("an event of %d bytes, %d allowed: %s %q", tt.size, tt.largest, r.Failure, r.Detail)
		}
	}
}

func TestDetail(t *testing.T) {
	tests := []struct {
		name   string
		script *response
		want   string
	}{
		{"message of an error object", &response{status: 429, pieces: cut(`{"error":{"message":"slow\ndown"}}`)}, "slow down"},
		{"detail of FastAPI", &response{status: 404, pieces: cut(`{"detail":"Not Found"}`)}, "Not Found"},
		{"plain text", &response{status: 502, pieces: cut("no upstream\n")}, "no upstream"},
		{"nothing", &response{status: 503}, "Service Unavailable"},
		{"page", &response{status: 500, pieces: cut("<!DOCTYPE html><TITLE>Oops</TITLE>")}, `an HTML page "Oops"`},
		{"page instead of a stream", &response{kind: "text/html; charset=utf-8", pieces: cut("<html><title>Hi</title>")},
			`answered text/html instead of text/event-stream: an HTML page "Hi"`},
		{"error in the stream", body(event(`{"error":"out of memory"}`)), "out of memory"},
		{"gzip that was not asked for", &response{fields: "Content-Encoding: gzip\r\n", pieces: cut("\x1f\x8b\x08")}, "the answer came in Content-Encoding gzip, which was not asked for"},
		{"error page in gzip", &response{status: 500, fields: "Content-Encoding: GZIP\r\n", pieces: cut("\x1f\x8b\x08")}, "the answer came in Content-Encoding gzip, which was not asked for"},
		{"error in an encoding that encodes nothing", &response{status: 500, fields: "Content-Encoding: identity\r\n", pieces: cut("oops")}, "oops"},
		{"abort", body(c("a"), finish("abort")), "finish_reason abort"},
		{"document as an event stream", body(`{"choices":[]}`), `answered no events as text/event-stream: {"choices":[]}`},
		{"key in a message", &response{status: 401, pieces: cut(`{"error":{"message":"bad key sk-secret"}}`)}, "bad key [API key]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := both(t, Options{APIKey: "sk-secret"}, tt.script.reads())
			if r.Detail != tt.want {
				t.Errorf("detail %q, want %q", r.Detail, tt.want)
			}
		})
	}
}
