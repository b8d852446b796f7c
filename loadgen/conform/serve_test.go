package conform_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/loadgen/conform"
	"github.com/llmctl/llmctl/loadgen/mock"
)

const testKey = "sk-conform-test-key"

// faultless is a mock that gives as many tokens as are asked for.
func faultless() *mock.Server {
	return &mock.Server{Models: []string{"m"}, APIKey: testKey, PrefixCache: true, MetricsStyle: "vllm"}
}

// streamsTo answers requests for streams with one handler, all others with
// another.
func streamsTo(streams, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if gjson.GetBytes(body, "stream").Bool() {
			streams.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// check runs cases against a handler, with short waits.
func check(t *testing.T, h http.Handler, o conform.Options) *conform.Report {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	o.Endpoint, o.Key = server.URL, testKey
	if o.Idle == 0 {
		o.Idle = 10 * time.Millisecond
	}
	if o.Linger == 0 {
		o.Linger = 300 * time.Millisecond
	}
	report, err := conform.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// failures are the cases that failed, in order.
func failures(r *conform.Report) []string {
	ids := []string{}
	for _, c := range r.Results {
		if c.Verdict == conform.Fail {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// result is that of one case.
func result(t *testing.T, r *conform.Report, id string) conform.Result {
	t.Helper()
	for _, c := range r.Results {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("there is no case %s", id)
	return conform.Result{}
}
