package gateway

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/tidwall/gjson"
)

// upstreamAnswers is an upstream that drains the request and sends raw bytes as
// a stream, each string in a write of its own, and then closes cleanly.
func upstreamAnswers(writes ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, writes...)
	}
}

// breakOff ends the connection without the terminating chunk.
func breakOff(writes ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sse(w, writes...)
		panic(http.ErrAbortHandler)
	}
}

const interruptedEvent = `data: {"error":{"message":"the upstream ended the stream before the answer was complete","type":"upstream_error","param":null,"code":"stream_interrupted"}}` + "\n\n"

func TestStreams(t *testing.T) {
	errorEvent := `data: {"error":{"message":"out of memory","type":"server_error","param":null,"code":"oom","more":1}}` + "\n\n"
	numbered := `data: {"error":{"message":"out of memory","code":500}}` + "\n\n"
	bare := "event: error\ndata: {\"message\":\"out of memory\"}\n\n"
	shaped := func(code string) string {
		return `data: {"error":{"message":"out of memory","type":"upstream_error","param":null,"code":` + code + `}}` + "\n\n"
	}
	toolA := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}` + "\n\n"
	toolB := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}}]}` + "\n\n"
	long := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + strings.Repeat("x", 200<<10) + `"}}]}}]}` + "\n\n"
	multibyte := `data: {"choices":[{"index":0,"delta":{"content":"é漢🙂"}}]}` + "\n\n"
	askUsage := strings.Replace(streamBody, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
	refuseUsage := strings.Replace(streamBody, `"stream":true`, `"stream":true,"stream_options":{"include_usage":false}`, 1)
	twoChoices := strings.Replace(streamBody, `"stream":true`, `"stream":true,"n":2`, 1)

	tests := []struct {
		name     string
		body     string
		upstream http.HandlerFunc
		want     string
		outcome  outcome
		source   string
		output   int64
	}{
		{"passes events on and hides the usage that only metering asked for", streamBody,
			upstreamAnswers(roleEvent, helloEvent, worldEvent, finishEvent, usageEvent, doneEvent),
			roleEvent + helloEvent + worldEvent + finishEvent + doneEvent, outcomeOK, "usage", 2},
		{"shows usage to a client that asked for it", askUsage,
			upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent),
			helloEvent + finishEvent + usageEvent + doneEvent, outcomeOK, "usage", 2},
		{"hides usage from a client that declined it", refuseUsage,
			upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent),
			helloEvent + finishEvent + doneEvent, outcomeOK, "usage", 2},
		{"counts the events of a server without usage", streamBody,
			upstreamAnswers(roleEvent, helloEvent, worldEvent, finishEvent, doneEvent),
			roleEvent + helloEvent + worldEvent + finishEvent + doneEvent, outcomeOK, "estimated", 2},
		{"reports a stream that ends half-way", streamBody,
			upstreamAnswers(helloEvent, worldEvent), helloEvent + worldEvent + interruptedEvent, outcomeInterrupted, "estimated", 2},
		{"reports a connection that breaks half-way", streamBody,
			breakOff(helloEvent, worldEvent), helloEvent + worldEvent + interruptedEvent, outcomeInterrupted, "estimated", 2},
		{"drops half an event before the error", streamBody,
			breakOff(helloEvent, `data: {"choices":[{"ind`), helloEvent + interruptedEvent, outcomeInterrupted, "estimated", 1},
		{"passes an error event on and ends without DONE", streamBody,
			upstreamAnswers(helloEvent, errorEvent, doneEvent), helloEvent + errorEvent, outcomeStreamError, "estimated", 1},
		{"gives an error event OpenAI's shape", streamBody,
			upstreamAnswers(helloEvent, numbered, doneEvent), helloEvent + shaped(`"500"`), outcomeStreamError, "estimated", 1},
		{"gives an error event without an object one", streamBody,
			upstreamAnswers(helloEvent, bare, doneEvent), helloEvent + shaped("null"), outcomeStreamError, "estimated", 1},
		{"counts output that came after the usage", streamBody,
			upstreamAnswers(`data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":0}}`+"\n\n", helloEvent, worldEvent, finishEvent, doneEvent),
			helloEvent + worldEvent + finishEvent + doneEvent, outcomeOK, "usage", 2},
		{"adds DONE after a finish reason", streamBody,
			upstreamAnswers(helloEvent, finishEvent), helloEvent + finishEvent + doneEvent, outcomeOK, "estimated", 1},
		{"adds DONE after a finish reason and a broken connection", streamBody,
			breakOff(helloEvent, finishEvent), helloEvent + finishEvent + doneEvent, outcomeOK, "estimated", 1},
		{"one finish reason of two is not the end", twoChoices,
			upstreamAnswers(helloEvent, finishEvent), helloEvent + finishEvent + interruptedEvent, outcomeInterrupted, "estimated", 1},
		{"completes a DONE without a blank line", streamBody,
			upstreamAnswers(helloEvent, "data: [DONE]"), helloEvent + doneEvent, outcomeOK, "estimated", 1},
		{"ignores what comes after DONE", streamBody,
			upstreamAnswers(helloEvent, doneEvent, worldEvent), helloEvent + doneEvent, outcomeOK, "estimated", 1},
		{"passes a line of 200 KB", streamBody,
			upstreamAnswers(long, finishEvent, doneEvent), long + finishEvent + doneEvent, outcomeOK, "estimated", 200 << 10 / bytesPerToken},
		{"keeps characters that arrive one byte at a time", streamBody,
			upstreamAnswers(append(strings.Split(multibyte, ""), finishEvent, doneEvent)...), multibyte + finishEvent + doneEvent, outcomeOK, "estimated", 2},
		{"keeps parallel tool calls apart", streamBody,
			upstreamAnswers(toolA, toolB, toolA, finishEvent, doneEvent), toolA + toolB + toolA + finishEvent + doneEvent, outcomeOK, "estimated", 3},
		{"passes comments on and does not count them", streamBody,
			upstreamAnswers(": ping\n\n", helloEvent, ": ping\n\n", finishEvent, doneEvent), ": ping\n\n" + helloEvent + ": ping\n\n" + finishEvent + doneEvent, outcomeOK, "estimated", 1},
		{"reads data without a space after the colon", streamBody,
			upstreamAnswers(strings.ReplaceAll(helloEvent+finishEvent+usageEvent+doneEvent, "data: ", "data:")),
			strings.ReplaceAll(helloEvent+finishEvent+doneEvent, "data: ", "data:"), outcomeOK, "usage", 2},
		{"reads CRLF", streamBody,
			upstreamAnswers(strings.ReplaceAll(helloEvent+finishEvent+usageEvent+doneEvent, "\n", "\r\n")),
			strings.ReplaceAll(helloEvent+finishEvent+doneEvent, "\n", "\r\n"), outcomeOK, "usage", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.upstream)
			got := s.post(test.body)
			if got.status != http.StatusOK {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			if got.body != test.want {
				t.Errorf("stream\ngot  %.600q\nwant %.600q", got.body, test.want)
			}
			for header, want := range map[string]string{
				"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Length": "",
				"X-Llmctl-Deployment": "cluster/real-model",
			} {
				if v := got.header.Get(header); v != want {
					t.Errorf("%s is %q, want %q", header, v, want)
				}
			}
			s.settled()
			line := s.logs.String()
			if v := gjson.Get(line, "outcome").Str; v != string(test.outcome) {
				t.Errorf("outcome %q, want %q", v, test.outcome)
			}
			if v := gjson.Get(line, "tokens_source").Str; v != test.source {
				t.Errorf("tokens come from %q, want %q", v, test.source)
			}
			if v := gjson.Get(line, "output_tokens").Int(); v != test.output {
				t.Errorf("%d output tokens charged, want %d", v, test.output)
			}
		})
	}
}

func TestStreamFailuresBeforeTheFirstEventGetAStatus(t *testing.T) {
	tests := []struct {
		name     string
		upstream http.HandlerFunc
		status   int
		code     string
		outcome  outcome
	}{
		{"an error as the first event", upstreamAnswers(`data: {"error":{"message":"slow down","type":"rate_limit_error","code":429}}` + "\n\n"),
			429, "429", outcomeStreamError},
		{"an unknown model as the first event", upstreamAnswers(`data: {"error":{"message":"no such model","code":404}}` + "\n\n"),
			502, "upstream_error", outcomeUpstream},
		{"bad credentials as the first event", upstreamAnswers(`data: {"error":{"message":"bad key","code":401}}` + "\n\n"),
			502, "upstream_auth_error", outcomeAuth},
		{"an error event without an object", upstreamAnswers("event: error\ndata: boom\n\n"), 502, "upstream_error", outcomeStreamError},
		{"an empty stream", upstreamAnswers(""), 502, "stream_interrupted", outcomeInterrupted},
		{"a stream broken at once", breakOff(""), 502, "stream_interrupted", outcomeInterrupted},
		{"HTML", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, 502, "upstream_error", outcomeUpstream},
		{"a compressed stream", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "identity" {
				t.Errorf("the upstream was offered %q", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			sse(w, "\x1f\x8b")
		}, 502, "upstream_error", outcomeUpstream},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.upstream)
			got := s.post(streamBody)
			if got.status != test.status || gjson.Get(got.body, "error.code").String() != test.code {
				t.Errorf("status %d, body %s; want %d, code %s", got.status, got.body, test.status, test.code)
			}
			s.settled()
			if v := gjson.Get(s.logs.String(), "outcome").Str; v != string(test.outcome) {
				t.Errorf("outcome %q, want %q", v, test.outcome)
			}
			if used := s.gateway.limits.Ledger().Settled; used != 0 {
				t.Errorf("%d tokens charged", used)
			}
		})
	}
}

func TestStreamRequestAnsweredWithAWholeBodyPassesIt(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, plainReply)
	})
	if got := s.post(streamBody); got.status != 200 || got.body != plainReply {
		t.Errorf("status %d, body %s", got.status, got.body)
	}
}

// The upstream sends its next event only after the client has seen the one
// before: a gateway that held anything back would never finish.
func TestEachEventReachesTheClientBeforeTheNextIsSent(t *testing.T) {
	seen := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, e := range []string{helloEvent, ": ping\n\n", worldEvent, finishEvent, doneEvent} {
			sse(w, e)
			select {
			case <-seen:
			case <-r.Context().Done():
				return
			}
		}
	})
	response, err := s.client.Do(s.request(t.Context(), streamBody))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	lines := bufio.NewReader(response.Body)
	events := 0
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if line != "\n" {
			continue
		}
		events++
		select {
		case seen <- struct{}{}:
		case <-time.After(patience):
			t.Fatal("the upstream does not wait for this event")
		}
	}
	if events != 5 {
		t.Errorf("%d events, want 5", events)
	}
}

func TestTimeouts(t *testing.T) {
	hang := func(r *http.Request) { <-r.Context().Done() }
	short := func(first, idle, total time.Duration) func(*config.Config, *Options) {
		return configure(func(c *config.Config) {
			c.Models[0].Timeouts = config.Timeouts{FirstToken: config.Duration(first), Idle: config.Duration(idle), Total: config.Duration(total)}
		})
	}
	const soon, late = 500 * time.Millisecond, time.Minute // soon is long for a request to arrive on a busy machine
	event := func(message string) string {
		return `data: {"error":{"message":"` + message + `","type":"timeout_error","param":null,"code":"upstream_timeout"}}` + "\n\n"
	}
	tests := []struct {
		name     string
		timeouts func(*config.Config, *Options)
		body     string
		upstream func(http.ResponseWriter, *http.Request)
		status   int
		want     string // of a stream
		outcome  outcome
		charged  int64
	}{
		{"no header in time", short(soon, late, late), streamBody, func(_ http.ResponseWriter, r *http.Request) { hang(r) },
			504, "", outcomeFirstToken, 0},
		{"a role is no token", short(soon, late, late), streamBody, func(w http.ResponseWriter, r *http.Request) { sse(w, roleEvent); hang(r) },
			504, "", outcomeFirstToken, 0},
		{"silence after a token", short(late, soon, late), streamBody, func(w http.ResponseWriter, r *http.Request) { sse(w, helloEvent); hang(r) },
			200, helloEvent + event(cutIdle.message), outcomeIdle, 1 + 1},
		{"the whole request", short(late, late, soon), plainBody, func(_ http.ResponseWriter, r *http.Request) { hang(r) },
			504, "", outcomeTotal, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			gone := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				test.upstream(w, r)
				close(gone)
			}, test.timeouts)
			got := s.post(test.body)
			if got.status != test.status || test.want != "" && got.body != test.want {
				t.Errorf("status %d, body %q; want %d, %q", got.status, got.body, test.status, test.want)
			}
			wait(t, gone, "the upstream to be cancelled")
			s.settled()
			if v := gjson.Get(s.logs.String(), "outcome").Str; v != string(test.outcome) {
				t.Errorf("outcome %q, want %q", v, test.outcome)
			}
			if used := s.gateway.limits.Ledger().Settled; used != test.charged {
				t.Errorf("%d tokens charged, want %d", used, test.charged)
			}
		})
	}
}
