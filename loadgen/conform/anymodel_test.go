package conform_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/llmctl/llmctl/loadgen/conform"
)

// A server of one model that answers whatever the model's name, as llama.cpp's does,
// fails the case about the name and not the one about how streams are refused.
func TestAServerThatAnswersForAnyModel(t *testing.T) {
	tests := []struct {
		name    string
		refuses bool // chats without messages
		want    conform.Verdict
	}{
		{"and refuses what has no messages", true, conform.Pass},
		{"and refuses nothing", false, conform.Skip},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := faultless()
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				if tt.refuses && r.Method == http.MethodPost && !gjson.GetBytes(body, "messages").Exists() {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, badRequestBody)
					return
				}
				if gjson.GetBytes(body, "model").Exists() {
					if body, err = sjson.SetBytes(body, "model", "m"); err != nil {
						t.Error(err)
					}
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				r.ContentLength = int64(len(body))
				m.ServeHTTP(w, r)
			})
			r := check(t, h, conform.Options{Pick: []string{"errors/before-stream", "errors/unknown-model"}})
			if c := result(t, r, "errors/before-stream"); c.Verdict != tt.want {
				t.Errorf("%s %s%s, expected %s", c.Verdict, c.Seen, c.Reason, tt.want)
			}
			if c := result(t, r, "errors/unknown-model"); c.Verdict != conform.Fail {
				t.Errorf("errors/unknown-model: %s %s%s", c.Verdict, c.Seen, c.Reason)
			}
		})
	}
}
