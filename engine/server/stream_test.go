package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
)

// script is an executor that says the given bytes, one token each, and then ends
// the sequence. before, if not nil, is called ahead of each step.
type script struct {
	text   string
	prompt int
	before func()
}

func (s *script) Execute(sequences []*model.Sequence) error {
	if s.before != nil {
		s.before()
	}
	for _, q := range sequences {
		q.Next = 1
		if at := q.Start + len(q.Tokens) - s.prompt; at >= 0 && at < len(s.text) {
			q.Next = 8 + int32(s.text[at])
		}
	}
	return nil
}

func (s *script) Close() {}

// data are the data fields of all events of a stream, in order.
func data(t *testing.T, body string) (events []string) {
	t.Helper()
	var d openai.Decoder
	d.Push([]byte(body))
	d.End()
	for e, ok := d.Next(); ok; e, ok = d.Next() {
		events = append(events, string(e.Data))
	}
	return events
}

func TestStreamEvents(t *testing.T) {
	const head = `{"id":"chatcmpl-r","object":"chat.completion.chunk","created":1700000000,"model":"builtin","choices":`
	const plain = `{"id":"cmpl-r","object":"text_completion","created":1700000000,"model":"builtin","choices":`
	usage := func(n string, sum string) string {
		return `,"usage":{"prompt_tokens":5,"completion_tokens":` + n + `,"total_tokens":` + sum + `,"prompt_tokens_details":{"cached_tokens":0}}}`
	}
	role := `[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`
	text := func(s string) string {
		return `[{"index":0,"delta":{"content":"` + s + `"},"logprobs":null,"finish_reason":null}]`
	}
	end := `[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":null}]`
	for _, c := range []struct {
		name, path, body string
		want             []string
	}{
		{"chat", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"stream":true}`,
			[]string{head + role + "}", head + text("é") + "}", head + text("!") + "}", head + end + "}", "[DONE]"}},
		{"with usage", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`,
			[]string{head + role + `,"usage":null}`, head + text("é") + `,"usage":null}`, head + text("!") + `,"usage":null}`, head + end + `,"usage":null}`,
				head + "[]" + usage("4", "9"), "[DONE]"}},
		{"with continuous usage", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
			[]string{head + role + usage("0", "5"), head + text("é") + usage("2", "7"), head + text("!") + usage("3", "8"), head + end + usage("4", "9"),
				head + "[]" + usage("4", "9"), "[DONE]"}},
		{"completion", "/v1/completions", `{"prompt":[0,1,2,3,4],"stream":true}`,
			[]string{
				plain + `[{"index":0,"text":"é","logprobs":null,"finish_reason":null}]}`,
				plain + `[{"index":0,"text":"!","logprobs":null,"finish_reason":null}]}`,
				plain + `[{"index":0,"text":"","logprobs":null,"finish_reason":"stop","stop_reason":null}]}`, "[DONE]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := serve(t, engine.Config{Executor: &script{text: "é!", prompt: 5}}, Options{})
			status, header, body := f.do(t.Context(), "POST", c.path, c.body, http.Header{"X-Request-Id": {"r"}})
			if status != 200 {
				t.Fatalf("status %d: %s", status, body)
			}
			if diff := cmp.Diff(c.want, data(t, body)); diff != "" {
				t.Error(diff)
			}
			for name, want := range map[string]string{
				"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
			} {
				if got := header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// TestStreamSaysWhatTheWholeAnswerSays: streamed or not, text and usage are the
// same.
func TestStreamSaysWhatTheWholeAnswerSays(t *testing.T) {
	f := serve(t, engine.Config{}, Options{})
	const body = `"messages":[{"role":"user","content":"the old moon"}],"max_tokens":30,"seed":4,"stop":["."],"temperature":1`
	_, _, answer := f.post("/v1/chat/completions", "{"+body+"}")
	whole := decode[openai.Completion](t, answer)
	_, _, events := f.post("/v1/chat/completions", "{"+body+`,"stream":true,"stream_options":{"include_usage":true}}`)
	var text strings.Builder
	var finish string
	var usage openai.UsageReport
	for _, e := range data(t, events) {
		if e == "[DONE]" {
			continue
		}
		chunk := decode[struct {
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage *openai.UsageReport
		}](t, e)
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
			finish += c.Finish
		}
		if chunk.Usage != nil {
			usage = *chunk.Usage
		}
	}
	if got, want := text.String(), *whole.Choices[0].Message.Content; got != want {
		t.Errorf("streamed %q, whole %q", got, want)
	}
	if finish != whole.Choices[0].FinishReason {
		t.Errorf("streamed reason %q, whole %q", finish, whole.Choices[0].FinishReason)
	}
	if diff := cmp.Diff(whole.Usage, usage); diff != "" {
		t.Error(diff)
	}
}

// turnstile lets the test decide when a step runs.
type turnstile struct {
	arrived chan struct{}
	proceed chan struct{}
	once    sync.Once
}

func newTurnstile() *turnstile {
	return &turnstile{arrived: make(chan struct{}), proceed: make(chan struct{})}
}

func (g *turnstile) pass() {
	select {
	case g.arrived <- struct{}{}:
		<-g.proceed
	case <-g.proceed:
	}
}

func (g *turnstile) release() { g.once.Do(func() { close(g.proceed) }) }

// A client that closed only its sending half looks like one that left, and must not
// be told that all went well.
func TestAnAnswerThatIsGivenUpIsNoSuccess(t *testing.T) {
	e, err := engine.New(engine.Config{Blocks: 512, Executor: &script{text: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, stream := range []string{"false", "true"} {
		body := strings.NewReader(`{"messages":[{"role":"user","content":"a"}],"stream":` + stream + "}")
		w := httptest.NewRecorder()
		New(e, Options{}).ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodPost, "/v1/chat/completions", body))
		if w.Code != statusClientGone {
			t.Errorf("stream %s: %d %s", stream, w.Code, w.Body)
		}
	}
}

// TestClientThatLeavesFreesItsBlocks drops the connection of a request that is
// queued, in prefill or in decode, streamed or not.
func TestClientThatLeavesFreesItsBlocks(t *testing.T) {
	const long = `"messages":[{"role":"user","content":"` + "the old moon of the old moon of the old moon of the old moon" + `"}],"max_tokens":4000,"ignore_eos":true`
	for _, c := range []struct {
		name   string
		queued bool
		steps  int
	}{{"queued", true, 0}, {"in prefill", false, 1}, {"in decode", false, 4}} {
		for _, stream := range []string{"false", "true"} {
			t.Run(c.name+", stream "+stream, func(t *testing.T) {
				g := newTurnstile()
				answered := make(chan struct{})
				f := serveWrapped(t, engine.Config{
					Executor: &script{text: strings.Repeat("x", 5000), before: g.pass},
					Sched:    sched.Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 8},
				}, Options{}, func(h http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						defer close(answered)
						h.ServeHTTP(w, r)
					})
				})
				defer g.release()
				if c.queued {
					if _, err := f.engine.Submit(t.Context(), engine.Request{Tokens: []int32{0}, MaxTokens: 4000, IgnoreEOS: true}); err != nil {
						t.Fatal(err)
					}
				}
				leave := f.request("{" + long + `,"stream":` + stream + "}")
				<-g.arrived
				for range c.steps {
					g.proceed <- struct{}{}
					<-g.arrived
				}
				for c.queued && f.engine.Stats().Waiting == 0 {
					runtime.Gosched() // the request is on its way
				}
				leave()
				<-answered // the server has noticed; a step is still running
				g.release()
				s := f.engine.Stats()
				for ; s.Running+s.Waiting > 0; s = f.engine.Stats() {
					runtime.Gosched() // ends at the latest when everything is generated
				}
				if s.Usage != 0 || s.Finished[sched.Aborted] != 1 {
					t.Errorf("usage %v; requests by end: %v, want 1 aborted", s.Usage, s.Finished)
				}
			})
		}
	}
}

// request sends a chat and drops what comes; leave closes its connection and
// waits until that is done.
func (f *fixture) request(body string) (leave func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", f.http.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		if answer, err := f.http.Client().Do(r); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body) // ends with the connection
			_ = answer.Body.Close()
		}
	}()
	return func() { cancel(); <-left }
}

// broken is an executor whose steps fail after the first n.
type broken struct {
	script
	steps int
}

func (b *broken) Execute(sequences []*model.Sequence) error {
	if b.steps--; b.steps < 0 {
		return errors.New("out of memory on device 7")
	}
	return b.script.Execute(sequences)
}

// A failed step is 500 while that is possible, else an event; the cause is the
// operator's to know.
func TestFailedStep(t *testing.T) {
	const failed = `{"error":{"message":"the engine failed","type":"server_error","param":null,"code":null}}`
	for _, c := range []struct {
		name, stream string
		steps        int
		status       int
		want         string // the last event, or the body
	}{
		{"whole", "false", 1, 500, failed},
		{"stream, before the first token", "true", 0, 500, failed},
		{"stream, after it", "true", 1, 200, failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			heard := make(chan error, 1)
			f := serve(t, engine.Config{
				Executor: &broken{script{text: "xxxx", prompt: 2}, c.steps}, OnError: func(err error) { heard <- err },
			}, Options{})
			status, _, body := f.post("/v1/completions", `{"prompt":"x","stream":`+c.stream+`}`)
			if events := data(t, body); len(events) > 0 {
				body = events[len(events)-1]
			}
			if status != c.status || strings.TrimSpace(body) != c.want {
				t.Errorf("status %d, %s; want %d, %s", status, body, c.status, c.want)
			}
			if err := <-heard; !strings.Contains(err.Error(), "device 7") {
				t.Errorf("OnError heard %v", err)
			}
		})
	}
}

func TestOverloadIsRefused(t *testing.T) {
	g := newTurnstile()
	f := serve(t, engine.Config{
		Executor: &script{text: strings.Repeat("x", 300), before: g.pass}, MaxQueue: 1, Sched: sched.Config{MaxNumSeqs: 1},
	}, Options{})
	defer g.release()
	for range 2 {
		if _, err := f.engine.Submit(t.Context(), engine.Request{Tokens: []int32{0}, MaxTokens: 5}); err != nil {
			t.Fatal(err)
		}
	}
	status, header, body := f.post("/v1/completions", `{"prompt":"x"}`)
	if status != 503 || header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":"overloaded"`) {
		t.Errorf("status %d, Retry-After %q: %s", status, header.Get("Retry-After"), body)
	}
}

func TestShutdown(t *testing.T) {
	g := newTurnstile()
	f := serve(t, engine.Config{Executor: &script{text: strings.Repeat("x", 300), prompt: 2, before: g.pass}}, Options{})
	r, err := http.NewRequestWithContext(t.Context(), "POST", f.http.URL+"/v1/completions", strings.NewReader(`{"prompt":"x","max_tokens":100,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	body := make(chan string)
	go func() {
		answer, err := f.http.Client().Do(r)
		if err != nil {
			body <- err.Error()
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		body <- string(text)
	}()
	<-g.arrived
	g.proceed <- struct{}{}
	<-g.arrived
	g.release()
	f.engine.Close()
	events := data(t, <-body)
	if last := events[len(events)-1]; !strings.Contains(last, `"error"`) || !strings.Contains(last, "shut down") {
		t.Errorf("the stream ends with %s, want an error", last)
	}
	if status, _, _ := f.do(t.Context(), "GET", "/health", "", nil); status != 503 {
		t.Errorf("health after shutdown: %d, want 503", status)
	}
	if status, _, _ := f.post("/v1/completions", `{"prompt":"x"}`); status != 503 {
		t.Errorf("a request after shutdown: %d, want 503", status)
	}
}

// Streamed or not, an answer says how long its request waited to be started.
func TestAnswersTellHowLongTheyWaited(t *testing.T) {
	f := serve(t, engine.Config{}, Options{})
	for _, body := range []string{`{"prompt":"a","max_tokens":2}`, `{"prompt":"a","max_tokens":2,"stream":true}`} {
		_, header, _ := f.post("/v1/completions", body)
		if ms, err := strconv.ParseFloat(header.Get("X-Queue-Time"), 64); err != nil || ms < 0 || ms > 60_000 {
			t.Errorf("%s: X-Queue-Time %q", body, header.Get("X-Queue-Time"))
		}
	}
}
