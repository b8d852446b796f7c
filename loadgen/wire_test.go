package loadgen

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/mock"
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

// TestWire sends a request to a server that answers with the bytes of a report
// about another client, cut where its network cut them.
func TestWire(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	role := delta(`{"role":"assistant","content":""}`)
	tests := []struct {
		name   string
		script *mock.Script
		want   view
	}{
		// Framing.
		{"T01 read ends after data:", mock.Cut("data:", " "+strings.TrimPrefix(c("a"), "data: ")+mock.Done), good(1, "")},
		{"T02 read ends inside text", mock.Cut(`data: {"choices":[{"delta":{"content":"a`, ` b"}}]}`+"\n\n", mock.Done), good(1, "")},
		{"T03 no space after data:", mock.Cut(strings.ReplaceAll(c("a")+mock.Done, "data: ", "data:")), good(1, "")},
		{"T04 CRLF", mock.Cut(strings.ReplaceAll(c("a")+c("b")+mock.Done, "\n", "\r\n")), good(2, "")},
		{"T04 lone CR", mock.Cut(strings.ReplaceAll(c("a")+c("b")+mock.Done, "\n", "\r")), good(2, "")},
		{"T05 byte by byte", mock.Cut(strings.Split(strings.ReplaceAll(c("a")+c("b")+mock.Done, "\n", "\r\n"), "")...), good(2, "")},
		{"T07 character cut", mock.Cut("data: {\"choices\":[{\"delta\":{\"content\":\"\xe4", "\xb8\xad\"}}]}\n\n"+mock.Done), good(1, "")},
		{"T08 no final blank line", mock.Cut(c("a")+finish("stop"), strings.TrimRight(usage("1"), "\n")),
			view{record.OK, "", 1, record.Counted(1), record.FromUsage, "stop", true}},
		{"T09 two events in one read", mock.Cut(c("a") + c("b") + mock.Done), good(2, "")},
		{"T11 comments", mock.Cut(": ping\n\n", c("a"), ": ping\n\n", c("b")+mock.Done), good(2, "")},
		{"T13 event of 200 KB", mock.Cut(c(long) + mock.Done), good(1, "")},
		{"T14 70 KB, then usage", mock.Cut(c(long[:70<<10]), usage("9"), mock.Done), view{record.OK, "", 1, record.Counted(9), record.FromUsage, "", true}},
		{"T66 [DONE] without space", mock.Cut(c("a") + "data:[DONE]\n\n"), good(1, "")},
		{"T66 [DONE] with spaces around", mock.Cut(c("a") + "data: [DONE] \n\n"), good(1, "")},
		{"T69 role and content in one read", mock.Cut(role + c("a") + finish("stop")), good(1, "stop")},
		{"T17 BOM, id, retry, unknown field", mock.Cut("\uFEFFid: 1\nretry: 5\nfoo: bar\n" + c("a") + mock.Done), good(1, "")},
		{"several data lines", mock.Cut("data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n" + mock.Done), good(1, "")},
		{"event name before data", mock.Cut("event: message\n" + c("a") + mock.Done), good(1, "")},
		{"line separators of Unicode", mock.Cut(c("a\u2028b\u2029c\u0085d") + mock.Done), good(1, "")},

		// What is a token.
		{"T18 role delta with empty content", mock.Cut(role, c("a"), mock.Done), good(1, "")},
		{"T19 role delta with null content", mock.Cut(delta(`{"role":"assistant","content":null}`), c("a"), mock.Done), good(1, "")},
		{"T20 reasoning_content first", mock.Cut(delta(`{"reasoning_content":"x"}`), c("a"), mock.Done), good(2, "")},
		{"T20 reasoning first", mock.Cut(delta(`{"reasoning":"x"}`), c("a"), mock.Done), good(2, "")},
		{"T20 both names with the same text", mock.Cut(delta(`{"reasoning":"x","reasoning_content":"x"}`), c("a"), mock.Done), good(2, "")},
		{"T21 capped inside reasoning", mock.Cut(delta(`{"reasoning_content":"x"}`), finish("length")),
			view{record.OK, "", 1, record.Counted(1), record.FromChunk, "length", false}},
		{"T22 tool call", mock.Cut(delta(`{"tool_calls":[{"index":0,"function":{"name":"f"}}],"content":null}`), finish("tool_calls"), usage("17"), mock.Done),
			view{record.OK, "", 1, record.Counted(17), record.FromUsage, "tool_calls", true}},
		{"T22 null tool calls", mock.Cut(delta(`{"content":"a","tool_calls":null}`), mock.Done), good(1, "")},
		{"T26 usage in a chunk without text", mock.Cut(c("a"), mock.Event(`{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],"usage":{"completion_tokens":24}}`)),
			view{record.OK, "", 1, record.Counted(24), record.FromUsage, "stop", true}},
		{"T27 usage without choices", mock.Cut(c("a"), usage("24"), mock.Done), view{record.OK, "", 1, record.Counted(24), record.FromUsage, "", true}},
		{"T30 reasoning tokens are not added", mock.Cut(c("a"), mock.Event(`{"choices":[],"usage":{"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":60}}}`), mock.Done),
			view{record.OK, "", 1, record.Counted(100), record.FromUsage, "", true}},
		{"null delta and null choices", mock.Cut(mock.Event(`{"choices":[{"delta":null}]}`), mock.Event(`{"choices":null}`), c("a"), mock.Done), good(1, "")},

		// What is a failure.
		{"T32 stream with usage only", mock.Cut(usage("0"), mock.Done),
			view{record.Failed, record.NoOutput, 0, record.Counted(0), record.FromUsage, "", false}},
		{"empty answer", mock.Cut(), failed(record.NoOutput)},
		{"T34 error object after 200", mock.Cut(c("a"), c("b"), mock.Event(`{"error":{"message":"m","code":500}}`), mock.Done),
			view{record.Failed, record.StreamError, 2, record.Counted(2), record.FromChunk, "", true}},
		{"T34 error: null, empty and {}", mock.Cut(c("a"), mock.Event(`{"error":null,"choices":[]}`), mock.Event(`{"error":""}`), mock.Event(`{"error":{}}`), mock.Done), good(1, "")},
		{"event: error", mock.Cut(c("a"), "event: error\ndata: overloaded\n\n"),
			view{record.Failed, record.StreamError, 1, record.Counted(1), record.FromChunk, "", true}},
		{"T36 end without terminal signal", mock.Cut(c("a"), c("b"), c("c"), c("d"), c("e")),
			view{record.Failed, record.Truncated, 5, record.Counted(5), record.FromChunk, "", true}},
		{"T36 end inside an event", mock.Cut(c("a"), `data: {"choices":[{"del`),
			view{record.Failed, record.Truncated, 1, record.Counted(1), record.FromChunk, "", true}},
		{"T36 connection breaks", &mock.Script{Pieces: mock.Cut(c("a")).Pieces, End: mock.Abort},
			view{record.Failed, record.Truncated, 1, record.Counted(1), record.FromChunk, "", true}},
		{"T38 finish_reason without [DONE]", mock.Cut(c("a"), finish("stop")), good(1, "stop")},
		{"connection breaks after finish_reason", &mock.Script{Pieces: mock.Cut(c("a"), finish("stop")).Pieces, End: mock.Abort}, good(1, "stop")},
		{"T39 status 201", &mock.Script{Status: 201, Pieces: mock.Cut(c("a") + mock.Done).Pieces}, good(1, "")},
		{"event that is not JSON", mock.Cut(c("a"), mock.Event("hello")),
			view{record.Failed, record.Malformed, 1, record.Counted(1), record.FromChunk, "", true}},
		{"text without events", mock.Cut("Welcome to nginx!"), failed(record.NotSSE)},
		{"HTML page", &mock.Script{Header: http.Header{"Content-Type": {"text/html"}}, Pieces: mock.Cut("<html><title>Hi</title></html>").Pieces}, failed(record.NotSSE)},
		{"JSON answer", &mock.Script{Header: http.Header{"Content-Type": {"application/json"}}, Pieces: mock.Cut(`{"choices":[{"message":{"content":"a"}}]}`).Pieces}, failed(record.NotSSE)},
		{"JSON error with status 200", &mock.Script{Header: http.Header{"Content-Type": {"application/json"}}, Pieces: mock.Cut(`{"error":{"message":"m"}}`).Pieces}, failed(record.StreamError)},
		{"events as text/plain", &mock.Script{Header: http.Header{"Content-Type": {"text/plain"}}, Pieces: mock.Cut(c("a") + mock.Done).Pieces}, good(1, "")},
		{"status 429", &mock.Script{Status: 429, Pieces: mock.Cut(`{"error":{"message":"slow down"}}`).Pieces}, failed("http_429")},
		{"status 500 with a page", &mock.Script{Status: 500, Pieces: mock.Cut("<html>no</html>").Pieces}, failed("http_500")},
		{"redirect", &mock.Script{Status: 307, Header: http.Header{"Location": {"/elsewhere"}}}, failed("http_307")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := one(t, scripted(tt.script), nil)
			if diff := cmp.Diff(tt.want, viewOf(r)); diff != "" {
				t.Errorf("record (-want +got):\n%s\n%s", diff, r.Detail)
			}
			if (r.Outcome == record.Failed) != (r.Detail != "") {
				t.Errorf("outcome %s with the detail %q", r.Outcome, r.Detail)
			}
			ordered(t, r)
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

func TestDetail(t *testing.T) {
	tests := []struct {
		name   string
		script *mock.Script
		want   string
	}{
		{"message of an error object", &mock.Script{Status: 429, Pieces: mock.Cut(`{"error":{"message":"slow\ndown"}}`).Pieces}, "slow down"},
		{"detail of FastAPI", &mock.Script{Status: 404, Pieces: mock.Cut(`{"detail":"Not Found"}`).Pieces}, "Not Found"},
		{"plain text", &mock.Script{Status: 502, Pieces: mock.Cut("no upstream\n").Pieces}, "no upstream"},
		{"nothing", &mock.Script{Status: 503}, "Service Unavailable"},
		{"page", &mock.Script{Status: 500, Pieces: mock.Cut("<!DOCTYPE html><TITLE>Oops</TITLE>").Pieces}, `an HTML page "Oops"`},
		{"page instead of a stream", &mock.Script{Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Pieces: mock.Cut("<html><title>Hi</title>").Pieces},
			`answered text/html instead of text/event-stream: an HTML page "Hi"`},
		{"error in the stream", mock.Cut(mock.Event(`{"error":"out of memory"}`)), "out of memory"},
		{"key in a message", &mock.Script{Status: 401, Pieces: mock.Cut(`{"error":{"message":"bad key sk-secret"}}`).Pieces}, "bad key [API key]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := one(t, scripted(tt.script), func(o *Options) { o.Client.APIKey = "sk-secret" })
			if r.Detail != tt.want {
				t.Errorf("detail %q, want %q", r.Detail, tt.want)
			}
		})
	}
}
