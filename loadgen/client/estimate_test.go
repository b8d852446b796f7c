package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/reports/record"
)

// TestEstimatedOutput is T28: without usage, N is one encode of all that was
// said, by a tokenizer that would count a token more for every piece alone.
func TestEstimatedOutput(t *testing.T) {
	count := func(text string) int { return 1 + len(strings.Fields(text)) } // its first token marks the beginning
	joined := strings.TrimSpace(strings.Repeat("word ", 99))
	var pieces strings.Builder
	pieces.WriteString(delta(`{"reasoning_content":"word wo"}`) + delta(`{"reasoning_content":"rd "}`))
	for range 97 {
		pieces.WriteString(c("word "))
	}
	for _, tt := range []struct {
		name   string
		count  func(string) int
		tail   string
		output int
		source record.TokensSource
	}{
		{"no tokenizer", nil, "", 99, record.FromChunk},
		{"tokenizer", count, "", count(joined), record.Estimated},
		{"usage counts more than a tokenizer", count, usage("42"), 42, record.FromUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write([]byte(pieces.String() + finish("stop") + tt.tail + done))
			}))
			defer server.Close()
			client, err := New(Options{Endpoint: server.URL, CountTokens: tt.count, TotalTimeout: DefaultConnectTimeout})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			var r record.Record
			client.Do(t.Context(), Request{Body: []byte(`{}`)}, &r)
			if n, _ := r.Output.Value(); r.Outcome != record.OK || n != tt.output || r.TokensSource != tt.source {
				t.Errorf("%s %s: %d tokens by %s, want %d by %s", r.Outcome, r.Detail, n, r.TokensSource, tt.output, tt.source)
			}
		})
	}
}
