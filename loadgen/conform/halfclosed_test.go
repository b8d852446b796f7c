package conform_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/conform"
)

// Servers that answer a client whose sending half is closed, that give it up, and
// that do neither. Go's server ends the context of such a request.
func TestClientsThatHalfClose(t *testing.T) {
	tests := []struct {
		name    string
		instead http.HandlerFunc // nil answers
		time    time.Duration    // for the case
		want    conform.Verdict
		says    string
	}{
		{"answers", nil, time.Minute, conform.Pass, "answered, and nothing left behind"},
		{"says that it is gone", func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			w.WriteHeader(499)
		}, time.Minute, conform.Pass, "taken for a client that left: 499 without a body, and nothing left behind"},
		{"ends the connection", func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, time.Minute, conform.Pass, "the connection ended without an answer, and nothing left behind"},
		{"says nothing, which is 200", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			time.Minute, conform.Fail, "200 without choices"},
		{"hangs", nil, 2 * time.Second, conform.Fail, "neither an answer nor an end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := faultless()
			over := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				switch { // Connection: close is what the client that half-closes says
				case r.Close && tt.name == "hangs":
					<-over
					return
				case r.Close && tt.instead != nil:
					tt.instead(w, r)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				// What is written for one that seems gone arrives all the same.
				m.ServeHTTP(w, r.WithContext(t.Context()))
			}))
			defer server.Close()
			defer close(over)
			r, err := conform.Run(t.Context(), conform.Options{
				Endpoint: server.URL, Key: testKey, Metrics: server.URL + "/metrics", Pick: []string{"connection/half-closed"}, CaseTimeout: tt.time,
			})
			if err != nil {
				t.Fatal(err)
			}
			if c := r.Results[0]; c.Verdict != tt.want || !strings.Contains(c.Seen, tt.says) {
				t.Errorf("%s %s %s, want %s %s", c.Verdict, c.Seen, c.Reason, tt.want, tt.says)
			}
		})
	}
}
