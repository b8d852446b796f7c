package conform_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/conform"
)

// streamTwists are servers that break one rule of streams which no fault of the
// mock does: what edit makes of a stream is what comes.
var streamTwists = []struct {
	name string
	edit func(r *http.Request, header http.Header, stream string) string
	pick string
	want []string
}{
	{"not UTF-8", func(_ *http.Request, _ http.Header, s string) string { return strings.ReplaceAll(s, "word", "w\xffrd") },
		"framing/utf8", []string{"framing/utf8"}},
	{"compressed", func(r *http.Request, h http.Header, s string) string {
		if r.Header.Get("Accept-Encoding") == "gzip" {
			h.Set("Content-Encoding", "gzip")
		}
		return s
	}, "framing/compression", []string{"framing/compression"}},
	{"usage with all output", func(_ *http.Request, _ http.Header, s string) string {
		return strings.ReplaceAll(s, `"finish_reason":null}]`, `"finish_reason":null}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`)
	}, "usage/null*", []string{"usage/null-until-end"}},
	{"usage before the end alone", func(_ *http.Request, _ http.Header, s string) string {
		return strings.ReplaceAll(s, `,"usage":{`, `,"used":{`)
	}, "usage/continuous", []string{"usage/continuous"}},
	{"refused as a stream", func(_ *http.Request, h http.Header, s string) string {
		if strings.Contains(s, "does not exist") {
			h.Set("Content-Type", "text/event-stream")
			return "data: " + s + "\n\n"
		}
		return s
	}, "errors/before-stream", []string{"errors/before-stream"}},
	{"completions without an end", func(_ *http.Request, _ http.Header, s string) string {
		return strings.ReplaceAll(s, "data: [DONE]\n\n", "")
	},
		"apis/completions-stream", []string{"apis/completions-stream"}},
	{"responses without usage", func(_ *http.Request, _ http.Header, s string) string {
		return strings.ReplaceAll(s, "output_tokens", "tokens")
	},
		"apis/responses-stream", []string{"apis/responses-stream"}},
}

func TestStreamTwistsFailTheirCases(t *testing.T) {
	for _, tt := range streamTwists {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := faultless()
			edited := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorder := httptest.NewRecorder()
				m.ServeHTTP(recorder, r)
				text := tt.edit(r, recorder.Header(), recorder.Body.String())
				for name, values := range recorder.Header() {
					if name != "Content-Length" {
						w.Header()[name] = values
					}
				}
				w.WriteHeader(recorder.Code)
				_, _ = io.WriteString(w, text)
			})
			o := conform.Options{Pick: []string{tt.pick}}
			if before := failures(check(t, faultless(), o)); slices.Contains(before, tt.want[0]) {
				t.Fatalf("%s fails without the twist", tt.want[0])
			}
			if diff := cmp.Diff(tt.want, failures(check(t, streamsTo(edited, m), o))); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s", diff)
			}
		})
	}
}
