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

// post sends a body to a mock in virtual time and returns the answer and when
// each line with data came.
func post(t *testing.T, server *mock.Server, path, body string) (status int, lines []string, at []time.Duration, err error) {
	t.Helper()
	network := mock.NewNetwork()
	defer network.Serve(server)()
	transport := &http.Transport{DialContext: network.Dial}
	defer transport.CloseIdleConnections()
	start := time.Now()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
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
			return response.StatusCode, lines, at, nil
		}
		if err != nil {
			return response.StatusCode, lines, at, err
		}
	}
}

const ms = time.Millisecond

func TestExactAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &mock.Server{TTFT: 50 * ms, ITL: 10 * ms, Tokens: 5, TokensPerChunk: 2, ContinuousUsage: true}
		_, lines, at, err := post(t, server, "/v1/completions", `{"prompt":"a b c","stream_options":{"include_usage":true}}`)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			`data: {"choices":[{"index":0,"text":" word word","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
			`data: {"choices":[{"index":0,"text":" word word","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
			`data: {"choices":[{"index":0,"text":" word","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}`,
			`data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`,
			`data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}`,
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
		_, lines, _, err := post(t, server, "/v1/chat/completions", `{"max_tokens":7,"messages":[{"role":"user","content":"a b"}]}`)
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

func TestOtherAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if status, _, _, _ := post(t, new(mock.Server), "/v1/completions", `nonsense`); status != http.StatusBadRequest {
			t.Errorf("status %d for a body that is not JSON", status)
		}
		if status, _, _, _ := post(t, new(mock.Server), "/elsewhere", `{}`); status != http.StatusNotFound {
			t.Errorf("status %d for an unknown path", status)
		}
	})
}
