package loadgen

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports/record"
)

func TestHeadersAndPath(t *testing.T) {
	server := &mock.Server{Tokens: 2}
	r := one(t, server, func(o *Options) {
		o.Client.APIKey, o.Client.API = "sk-secret", client.Completions
		o.Client.Headers = http.Header{"x-team": {"search"}, "X-Key": {"k"}}
		o.Client.Endpoint += "/v1/"
	})
	got := server.Requests()[0]
	if got.Path != "/v1/completions" || got.Header.Get("Authorization") != "Bearer sk-secret" || got.Header.Get("X-Team") != "search" ||
		got.Header.Get("Accept-Encoding") != "" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", got.Path, got.Header)
	}
	if text, _ := json.Marshal(r); strings.Contains(string(text), "sk-secret") {
		t.Errorf("the record holds the key: %s", text)
	}
}

func TestCredentialsInURL(t *testing.T) {
	server := &mock.Server{Tokens: 1}
	ts := httptest.NewServer(server)
	defer ts.Close()
	o := Options{Client: client.Options{Endpoint: strings.Replace(ts.URL, "://", "://me:pass@", 1)}, Model: "m", Workload: fixed(t, closed(1), 8, 1), Requests: 1}
	result, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	user, password, _ := (&http.Request{Header: server.Requests()[0].Header}).BasicAuth()
	if user != "me" || password != "pass" || strings.Contains(result.Run.Target.Endpoint, "pass") {
		t.Errorf("%s:%s, target %s", user, password, result.Run.Target.Endpoint)
	}
}

func TestRecordKnowsItsRequest(t *testing.T) {
	script := mock.Cut(c("a"), usage("1"), mock.Done)
	script.Header = http.Header{"X-Request-Id": {"req-1"}}
	r := one(t, scripted(script), nil)
	want := &record.Record{Model: "m", RequestID: "req-1", AskedInput: record.Counted(8), AskedOutput: record.Counted(4),
		Input: record.Counted(8), Output: record.Counted(1), TokensSource: record.FromUsage, Outcome: record.OK, Attempts: 1, HTTPStatus: 200}
	got := *r
	got.Sent, got.Wrote, got.FirstByte, got.First, got.FirstVisible, got.Last, got.Closed, got.Chunks = 0, 0, 0, 0, 0, 0, 0, nil
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if !r.Wrote.Known() || !r.FirstByte.Known() {
		t.Errorf("wrote %v, first byte %v", r.Wrote, r.FirstByte)
	}
}

// TestForeignText: what a server or a user wrote can not steer a terminal.
func TestForeignText(t *testing.T) {
	answer := mock.Cut(c("a"), finish(`stop\u001b[2J\n`), mock.Done)
	answer.Header = http.Header{"X-Request-Id": {"req\t1\u009b2J"}}
	refusal := &mock.Script{Status: 429, Pieces: mock.Cut(`{"error":{"message":"slow\u001b]0;owned\u0007 down"}}`).Pieces}
	broken := mock.Cut(c("a"), mock.Event(`{"error":{"message":"out of\n\u001b[1mmemory"}}`))
	page := mock.Cut("<p>\x1b[31m\n</p>")
	for _, tt := range []struct {
		name                      string
		script                    *mock.Script
		requestID, finish, detail string
	}{
		{"answer", answer, `req 1\u009b2J`, `stop\x1b[2J`, ""},
		{"error page", refusal, "", "", `slow\x1b]0;owned\a down`},
		{"error in the stream", broken, "", "", `out of \x1b[1mmemory`},
		{"no stream", page, "", "", `answered no events as text/event-stream: <p>\x1b[31m </p>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := one(t, scripted(tt.script), func(o *Options) { o.Model = "m\x1b[31m\nx" })
			if r.Model != `m\x1b[31m x` || r.RequestID != tt.requestID || r.FinishReason != tt.finish || r.Detail != tt.detail {
				t.Errorf("model %q, request id %q, finish reason %q, detail %q", r.Model, r.RequestID, r.FinishReason, r.Detail)
			}
		})
	}
}

func TestCachedTokens(t *testing.T) {
	event := `{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":%s}}}`
	for value, want := range map[string]record.Count{"0": record.Counted(0), "6": record.Counted(6), "null": 0} {
		r := one(t, scripted(mock.Cut(c("a"), mock.Event(fmt.Sprintf(event, value)), mock.Done)), nil)
		if r.Cached != want {
			t.Errorf("cached_tokens %s is read as %v", value, r.Cached)
		}
	}
}

// TestImplausibleUsage: counts that contradict each other or the events are
// absent, and the record says so.
func TestImplausibleUsage(t *testing.T) {
	text := c("a") + c("b") + c("c")
	told := func(prompt, completion, cached string) string {
		return mock.Event(`{"choices":[],"usage":{"prompt_tokens":` + prompt + `,"completion_tokens":` + completion + `,"prompt_tokens_details":{"cached_tokens":` + cached + `}}}`)
	}
	counted := record.Counted
	for _, tt := range []struct {
		name                  string
		body                  string
		input, cached, output record.Count
		source                record.TokensSource
		implausible           bool
	}{
		{"plausible", text + told("8", "3", "8"), counted(8), counted(8), counted(3), record.FromUsage, false},
		{"more cached than prompt", text + told("1", "3", "9999"), 0, 0, counted(3), record.FromUsage, true},
		{"no completion beside output", text + told("8", "0", "0"), counted(8), counted(0), counted(3), record.FromChunk, true},
		{"negative", text + told("8", "-3", "0"), counted(8), counted(0), counted(3), record.FromChunk, true},
		{"negative prompt", text + told("-8", "3", "0"), 0, counted(0), counted(3), record.FromUsage, true},
		{"huge", text + told("8", "9000000000", "0"), counted(8), counted(0), counted(3), record.FromChunk, true},
		{"the last counts", text + told("8", "0", "0") + told("8", "3", "0"), counted(8), counted(0), counted(3), record.FromUsage, false},
		{"no output, no contradiction", told("8", "0", "0"), counted(8), counted(0), counted(0), record.FromUsage, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := one(t, scripted(mock.Cut(tt.body+mock.Done)), nil)
			if r.Input != tt.input || r.Cached != tt.cached || r.Output != tt.output || r.TokensSource != tt.source || r.UsageImplausible != tt.implausible {
				t.Errorf("input %v, cached %v, output %v by %s, implausible %v", r.Input, r.Cached, r.Output, r.TokensSource, r.UsageImplausible)
			}
		})
	}
	t.Run("no completion in each event", func(t *testing.T) {
		event := mock.Event(`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":0}}`)
		r := one(t, scripted(mock.Cut(event+event+usage("2")+mock.Done)), nil)
		if k, known := r.FirstTokens(); k != 1 || known || r.Output != counted(2) {
			t.Errorf("first event of %d tokens (known: %v), output %v", k, known, r.Output)
		}
	})
}

func TestShortOutput(t *testing.T) {
	for _, tt := range []struct {
		ignoreEOS bool
		completed string
		want      bool
	}{{true, "3", true}, {true, "4", false}, {false, "3", false}} {
		r := one(t, scripted(mock.Cut(c("a"), usage(tt.completed), mock.Done)), func(o *Options) { o.IgnoreEOS = tt.ignoreEOS })
		if r.ShortOutput != tt.want || r.Outcome != record.OK {
			t.Errorf("%+v: %v, %s", tt, r.ShortOutput, r.Outcome)
		}
	}
}

// TestUsageRefused is the second half of T26: a server that does not know
// stream_options is asked once more without, and not again.
func TestUsageRefused(t *testing.T) {
	server := &mock.Server{Script: func(r mock.Request) *mock.Script {
		if strings.Contains(string(r.Body), "stream_options") {
			return &mock.Script{Status: 400, Pieces: mock.Cut(`{"error":{"message":"unknown field stream_options"}}`).Pieces}
		}
		return mock.Cut(c("a"), c("b"), mock.Done)
	}}
	ts := httptest.NewServer(server)
	defer ts.Close()
	result, err := Run(t.Context(), Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(t, closed(1), 8, 4), Requests: 3, MetricsInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	var attempts []int
	for _, r := range byID(result.Records) {
		attempts = append(attempts, r.Attempts)
		if r.Outcome != record.OK || r.Output != record.Counted(2) || r.TokensSource != record.FromChunk {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff([]int{2, 1, 1}, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if len(result.Run.Warnings) != 1 || result.Run.Warnings[0].Code != "usage_refused" {
		t.Errorf("warnings %v", result.Run.Warnings)
	}
}

// TestNoHiddenRetries is T40.
func TestNoHiddenRetries(t *testing.T) {
	server := scripted(&mock.Script{Status: 503})
	r := one(t, server, nil)
	if r.Failure != "http_503" || r.Attempts != 1 || len(server.Requests()) != 1 {
		t.Errorf("%s after %d attempts, the server saw %d", r.Failure, r.Attempts, len(server.Requests()))
	}
	other := scripted(&mock.Script{Status: 400, Pieces: mock.Cut(`{"error":{"message":"too long"}}`).Pieces})
	if r := one(t, other, nil); r.Failure != "http_400" || r.Attempts != 1 {
		t.Errorf("%s after %d attempts", r.Failure, r.Attempts)
	}
}

// TestConnectionsAreReused: one slot needs one connection, also after [DONE] in
// the middle of a chunk.
func TestConnectionsAreReused(t *testing.T) {
	var connections atomic.Int64
	ts := httptest.NewUnstartedServer(&mock.Server{Tokens: 3})
	ts.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	ts.Start()
	defer ts.Close()
	o := Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(t, closed(1), 8, 4), Requests: 20, MetricsInterval: -1}
	if _, err := Run(t.Context(), o); err != nil || connections.Load() != 1 {
		t.Errorf("%d connections, %v", connections.Load(), err)
	}
}

func TestConnectFailures(t *testing.T) {
	dialing := func(err error) func(*Options) {
		return func(o *Options) {
			o.Client.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, err }
		}
	}
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	noPort := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}
	noFile := &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	noFileAtAll := &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.ENFILE)}
	noFileToResolve := &net.DNSError{Err: "dial udp: socket: too many open files", Name: "x"}
	garbage := func(o *Options) { o.Client.Dial = garbageServer }
	tests := []struct {
		name   string
		change func(*Options)
		want   record.Failure
		detail string
	}{
		{"refused", dialing(refused), record.Connect, "refused"},
		{"unknown host", dialing(&net.DNSError{Err: "no such host", Name: "x"}), record.Connect, "no such host"},
		{"T50 out of ports", dialing(noPort), record.ClientPorts, "dial: connect"},
		{"T50 out of files", dialing(noFile), record.ClientPorts, record.OutOfFiles + ": dial"},
		{"machine out of files", dialing(noFileAtAll), record.ClientPorts, record.OutOfFiles},
		{"out of files to resolve a name", dialing(noFileToResolve), record.ClientPorts, record.OutOfFiles},
		{"not HTTP", garbage, record.Malformed, "malformed"},
		{"HTTP instead of HTTPS", func(o *Options) { o.Client.Endpoint = strings.Replace(o.Client.Endpoint, "http:", "https:", 1) }, record.TLS, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := one(t, &mock.Server{}, tt.change)
			if r.Failure != tt.want || r.HTTPStatus != 0 || r.Detail == "" || !strings.Contains(r.Detail, tt.detail) {
				t.Errorf("%s %q, want %s %q", r.Failure, r.Detail, tt.want, tt.detail)
			}
			if files := strings.HasPrefix(r.Detail, record.OutOfFiles); files != strings.HasPrefix(tt.detail, record.OutOfFiles) {
				t.Errorf("detail %q speaks of files: %v", r.Detail, files)
			}
		})
	}
}

// garbageServer answers with something that is not HTTP.
func garbageServer(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer func() { _ = server.Close() }() // it has no error to tell
		_, _ = server.Read(make([]byte, 64<<10))
		_, _ = server.Write([]byte("SSH-2.0-OpenSSH_9.6\r\n\r\n"))
	}()
	return client, nil
}

// TestUntrustedCertificate: TLS is verified.
func TestUntrustedCertificate(t *testing.T) {
	ts := httptest.NewUnstartedServer(&mock.Server{})
	ts.Config.ErrorLog = nil
	ts.StartTLS()
	defer ts.Close()
	result, err := Run(t.Context(), Options{Client: client.Options{Endpoint: ts.URL}, Model: "m", Workload: fixed(t, closed(1), 8, 4), Requests: 1, MetricsInterval: -1})
	if err != nil || result.Records[0].Failure != record.TLS {
		t.Errorf("%v, %+v", err, result.Records)
	}
}

func TestOptionsRefuses(t *testing.T) {
	good := Options{Client: client.Options{Endpoint: "localhost:1"}, Model: "m", Workload: fixed(t, closed(1), 8, 4), Requests: 1}
	tests := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no workload", func(o *Options) { o.Workload = nil }, "no workload"},
		{"no model", func(o *Options) { o.Model = "" }, "no model"},
		{"no bound", func(o *Options) { o.Requests = 0 }, "exactly one"},
		{"two bounds", func(o *Options) { o.Duration = 1 }, "exactly one"},
		{"negative", func(o *Options) { o.Drain = -1 }, "negative"},
		{"unknown API", func(o *Options) { o.Client.API = "images" }, `"images"`},
		{"no URL", func(o *Options) { o.Client.Endpoint = "" }, "expected a URL"},
		{"other scheme", func(o *Options) { o.Client.Endpoint = "ftp://x" }, "expected http or https"},
		{"password in a bad URL", func(o *Options) { o.Client.Endpoint = "http://me:pa ss@host:port:9" }, "expected a URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := good
			tt.change(&o)
			_, err := Run(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pa ss") {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
