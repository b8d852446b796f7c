package conform_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/loadgen/conform"
)

// A server that wants its key on its metrics page, too, as llama.cpp's does, gets it;
// a page at another address does not.
func TestTheMetricsPageGetsTheKeyOfItsOwnServerOnly(t *testing.T) {
	tests := []struct {
		name  string
		other bool // the page is another server's
	}{
		{"the endpoint's own page", false},
		{"another server's page", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := faultless()
			locked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/metrics" && r.Header.Get("Authorization") != "Bearer "+testKey {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				m.ServeHTTP(w, r)
			})
			server, page := httptest.NewServer(locked), httptest.NewServer(locked)
			defer server.Close()
			defer page.Close()
			o := conform.Options{Endpoint: server.URL, Key: testKey, Metrics: server.URL + "/metrics", Pick: []string{"cancel/freed-mid-stream"}}
			if tt.other {
				o.Metrics = page.URL + "/metrics"
			}
			r, err := conform.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			c := r.Results[0]
			if locked := strings.Contains(c.Reason, "answered 401"); locked != tt.other || !tt.other && c.Verdict == conform.Skip {
				t.Errorf("%s %s%s", c.Verdict, c.Seen, c.Reason)
			}
		})
	}
}
