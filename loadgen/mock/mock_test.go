package mock_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/mock"
)

const ms = time.Millisecond

// ask sends a request to a mock in virtual time and returns the answer and when
// each line of it came.
func ask(t *testing.T, server *mock.Server, method, path, body string, header ...string) (status int, lines []string, at []time.Duration, err error) {
	t.Helper()
	network := mock.NewNetwork()
	defer network.Serve(server)()
	transport := &http.Transport{DialContext: network.Dial}
	defer transport.CloseIdleConnections()
	start := time.Now()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	reader := bufio.NewReader(response.Body)
	for {
		line, err := reader.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			lines, at = append(lines, line), append(at, time.Since(start))
		}
		if err == io.EOF {
			synctest.Wait() // until the server has counted the request out
			return response.StatusCode, lines, at, nil
		}
		if err != nil {
			return response.StatusCode, lines, at, err
		}
	}
}

func post(t *testing.T, server *mock.Server, path, body string) (status int, lines []string, at []time.Duration, err error) {
	t.Helper()
	return ask(t, server, http.MethodPost, path, body)
}

// The synthetic clock of a bubble begins at 2000-01-01, which is what created
// says.
const created = `"created":946684800`

func TestExactAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &mock.Server{TTFT: 50 * ms, ITL: 10 * ms, Tokens: 5, TokensPerChunk: 2, ContinuousUsage: true}
		_, lines, at, err := post(t, server, "/v1/completions", `{"prompt":"a b c","stream":true,"stream_options":{"include_usage":true}}`)
		if err != nil {
			t.Fatal(err)
		}
		head := `data: {"id":"cmpl-0","object":"text_completion",` + created + `,"model":"mock","choices":[`
		want := []string{
			head + `{"index":0,"text":" word word","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
			head + `{"index":0,"text":" word word","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
			head + `{"index":0,"text":" word","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}`,
			head + `{"index":0,"text":"","finish_reason":"stop"}]}`,
			head + `],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}`,
			`data: [DONE]`,
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]time.Duration{50 * ms, 70 * ms, 90 * ms, 90 * ms, 90 * ms, 90 * ms}, at); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
	})
}

func TestMaxTokensDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := new(mock.Server)
		_, lines, _, err := post(t, server, "/v1/chat/completions", `{"max_tokens":7,"stream":true,"messages":[{"role":"user","content":"a b"}]}`)
		if err != nil || len(lines) != 7+2 {
			t.Errorf("%d lines, %v", len(lines), err)
		}
		if got := server.Requests(); len(got) != 1 || got[0].Words() != 2 || server.Peak() != 1 || server.InFlight() != 0 {
			t.Errorf("requests %+v, peak %d, in flight %d", got, server.Peak(), server.InFlight())
		}
	})
}

func TestScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &mock.Script{Status: 418, Pieces: []mock.Piece{{At: 30 * ms, Data: "one\n"}, {At: 20 * ms, Data: "two\n"}}, End: mock.Abort}
		server := &mock.Server{Script: func(mock.Request) *mock.Script { return script }}
		status, lines, at, err := post(t, server, "/v1/completions", `{}`)
		if status != 418 || err != io.ErrUnexpectedEOF || !cmp.Equal(lines, []string{"one", "two"}) || !cmp.Equal(at, []time.Duration{30 * ms, 30 * ms}) {
			t.Errorf("status %d, lines %q at %v, %v", status, lines, at, err)
		}
	})
}

func TestLengths(t *testing.T) {
	tests := []struct {
		name, body string
		server     *mock.Server
		tokens     int
		reason     string
	}{
		{"max_tokens", `"max_tokens":3`, &mock.Server{}, 3, "length"},
		{"max_completion_tokens", `"max_completion_tokens":4`, &mock.Server{}, 4, "length"},
		{"nobody says", `"seed":1`, &mock.Server{}, 16, "length"},
		{"tokens are exact", `"max_tokens":3`, &mock.Server{Tokens: 5}, 5, "stop"},
		{"max_tokens cuts", `"max_tokens":3`, &mock.Server{Tokens: 5, Limits: true}, 3, "length"},
		{"the model stops", `"max_tokens":9`, &mock.Server{Tokens: 5, Limits: true}, 5, "stop"},
		{"min_tokens", `"max_tokens":9,"min_tokens":7`, &mock.Server{Tokens: 5, Limits: true}, 7, "stop"},
		{"ignore_eos", `"max_tokens":9,"ignore_eos":true`, &mock.Server{Tokens: 5, Limits: true}, 9, "length"},
		{"no limit", `"seed":1`, &mock.Server{Tokens: 5, Limits: true}, 5, "stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, lines, _, err := post(t, tt.server, "/v1/completions", `{"prompt":"a","stream":true,`+tt.body+`}`)
				if err != nil || len(lines) != tt.tokens+2 || !strings.Contains(lines[tt.tokens], `"finish_reason":"`+tt.reason+`"`) {
					t.Errorf("%d tokens, end %q, %v", len(lines)-2, lines[len(lines)-2], err)
				}
			})
		})
	}
}

func TestOtherAnswers(t *testing.T) {
	tests := []struct {
		name, method, path, body string
		server                   *mock.Server
		status                   int
		want                     string
	}{
		{"not JSON", "POST", "/v1/completions", `nonsense`, &mock.Server{}, 400, `{"error":{"code":400,"message":"the body is not JSON: invalid character 'o' in literal null (expecting 'u')","type":"invalid_request_error"}}`},
		{"no object", "POST", "/v1/completions", `[1]`, &mock.Server{}, 400, `{"error":{"code":400,"message":"the body is JSON, expected an object","type":"invalid_request_error"}}`},
		{"unknown path", "POST", "/elsewhere", `{}`, &mock.Server{}, 404, `{"error":{"code":404,"message":"no such path: POST /elsewhere","type":"invalid_request_error"}}`},
		{"unknown model", "POST", "/v1/completions", `{"model":"c"}`, &mock.Server{Models: []string{"a", "b"}}, 404, `{"error":{"code":404,"message":"the model \"c\" does not exist","type":"NotFoundError"}}`},
		{"no key", "GET", "/v1/models", ``, &mock.Server{APIKey: "k"}, 401, `{"error":{"code":401,"message":"the API key is missing or wrong","type":"invalid_request_error"}}`},
		{"models", "GET", "/v1/models", ``, &mock.Server{Models: []string{"a"}}, 200, `{"object":"list","data":[{"id":"a","object":"model","created":0,"owned_by":"llmctl"}]}`},
		{"tokenize", "POST", "/tokenize", `{"prompt":"a  b\tc"}`, &mock.Server{}, 200, `{"count":3,"max_model_len":131072,"tokens":[0,1,2],"token_strs":null}`},
		{"no metrics", "GET", "/metrics", ``, &mock.Server{}, 404, `{"error":{"code":404,"message":"no such path: GET /metrics","type":"invalid_request_error"}}`},
		{"not streamed", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"a b"}]}],"max_tokens":2}`, &mock.Server{}, 200,
			`{"id":"chatcmpl-0","object":"chat.completion",` + created + `,"model":"mock","choices":[{"index":0,"message":{"role":"assistant","content":" word word"},"finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":2,"total_tokens":4}}`},
		{"tool calls and thoughts", "POST", "/v1/chat/completions", `{"max_tokens":4}`, &mock.Server{Tokens: 4, ReasoningTokens: 1, ReasoningNames: []string{"reasoning"}, ToolCalls: 2}, 200,
			`{"id":"chatcmpl-0","object":"chat.completion",` + created + `,"model":"mock","choices":[{"index":0,"message":{"role":"assistant","reasoning":" word","content":null,"tool_calls":[` +
				`{"id":"call_0","type":"function","function":{"name":"write","arguments":"{\"text\":\" word word\"}"}},{"id":"call_1","type":"function","function":{"name":"write","arguments":"{\"text\":\" word\"}"}}` +
				`]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":0,"completion_tokens":4,"total_tokens":4,"completion_tokens_details":{"reasoning_tokens":1}}}`},
		{"embeddings", "POST", "/v1/embeddings", `{"input":["a b","c"],"dimensions":1}`, &mock.Server{}, 200,
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[-0.826310]},{"object":"embedding","index":1,"embedding":[0.131162]}],"model":"mock","usage":{"prompt_tokens":3,"total_tokens":3}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				status, lines, _, err := ask(t, tt.server, tt.method, tt.path, tt.body)
				if got := strings.Join(lines, "\n"); err != nil || status != tt.status || got != tt.want {
					t.Errorf("status %d, %v, body\n%s, want %d\n%s", status, err, got, tt.status, tt.want)
				}
			})
		})
	}
}

func TestStreamedToolCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &mock.Server{Tokens: 4, ReasoningTokens: 1, ReasoningNames: []string{"reasoning", "reasoning_content"}, ToolCalls: 2}
		_, lines, _, err := post(t, server, "/v1/chat/completions", `{"stream":true}`)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range lines {
			_, lines[i], _ = strings.Cut(line, `"choices":`)
		}
		want := []string{
			`[{"index":0,"delta":{"role":"assistant","reasoning":" word","reasoning_content":" word"},"finish_reason":null}]}`,
			`[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":"write","arguments":"{\"text\":\" word"}}]},"finish_reason":null}]}`,
			`[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" word\"}"}}]},"finish_reason":null}]}`,
			`[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_1","type":"function","function":{"name":"write","arguments":"{\"text\":\" word\"}"}}]},"finish_reason":null}]}`,
			`[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			"",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	})
}

func TestResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &mock.Server{TTFT: 20 * ms, ITL: 5 * ms, Tokens: 3, ReasoningTokens: 1}
		_, lines, at, err := post(t, server, "/v1/responses", `{"input":"a b","stream":true}`)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var times []time.Duration
		for i, line := range lines {
			if name, ok := strings.CutPrefix(line, "event: response."); ok {
				names, times = append(names, name), append(times, at[i])
			}
		}
		want := []string{"created", "reasoning_text.delta", "output_item.added", "content_part.added", "output_text.delta", "output_text.delta",
			"output_text.done", "output_item.done", "completed"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]time.Duration{0, 20 * ms, 25 * ms, 25 * ms, 25 * ms, 30 * ms, 30 * ms, 30 * ms, 30 * ms}, times); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, `"usage":{"input_tokens":2,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":5}`) {
			t.Errorf("no usage in %s", last)
		}
	})
}

// The times of a request that had to wait count from when it may run, but its
// time to the first token includes the wait.
func TestQueueInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &mock.Server{TTFT: 50 * ms, ITL: 10 * ms, Tokens: 6, MaxConcurrency: 1, PrefillRate: 100, MetricsStyle: "vllm"}
		network := mock.NewNetwork()
		defer network.Serve(server)()
		transport := &http.Transport{DialContext: network.Dial}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		start := time.Now()
		took := make(chan time.Duration)
		for range 3 {
			go func() {
				response, err := client.Post("http://localhost/v1/completions", "application/json", strings.NewReader(`{"prompt":"a b c d e","stream":true}`))
				if err == nil {
					_, err = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
				if err != nil {
					t.Error(err)
				}
				took <- time.Since(start)
			}()
		}
		for i := range time.Duration(3) {
			if got, want := <-took, (i+1)*150*ms; got != want { // 50 ms, 5 words at 100/s, 5 gaps
				t.Errorf("answer %d after %v, want %v", i+1, got, want)
			}
		}
		synctest.Wait()
		if v := server.Served(); v.Finished != 3 || v.OutputTokens != 18 || v.Late.Max() != 0 {
			t.Errorf("served %d, %d tokens, late by %v", v.Finished, v.OutputTokens, v.Late.Max())
		}
	})
}

func TestJitterKeepsOrderAndSeed(t *testing.T) {
	times := func(seed uint64) (at []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			server := &mock.Server{TTFT: 50 * ms, ITL: 10 * ms, Tokens: 50, Jitter: 30 * ms, Seed: seed}
			_, _, at, _ = post(t, server, "/v1/completions", `{"stream":true}`)
		})
		return at[:50]
	}
	first, again, other := times(1), times(1), times(2)
	if !cmp.Equal(first, again) || cmp.Equal(first, other) {
		t.Error("the seed does not decide")
	}
	moved := 0
	for i, at := range first {
		nominal := 50*ms + time.Duration(i)*10*ms
		if at < nominal-30*ms || i > 0 && at < first[i-1] {
			t.Errorf("event %d at %v, due at %v", i, at, nominal)
		}
		if at != nominal {
			moved++
		}
	}
	if moved < 40 {
		t.Errorf("only %d of 50 events moved", moved)
	}
}
