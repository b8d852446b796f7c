package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/tidwall/gjson"
)

// replying is an upstream whose answer has these headers, in pairs.
func replying(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(header); i += 2 {
			w.Header()[header[i]] = []string{header[i+1]}
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// What upstreams do to whole answers, of which some are no answers.
func TestWholeAnswersInEveryWrapping(t *testing.T) {
	const kind, jsonType = "Content-Type", "application/json"
	tests := []struct {
		name     string
		upstream http.HandlerFunc
		status   int
		code     string // of an error
	}{
		{"a charset", replying(200, plainReply, kind, "application/json; charset=utf-8"), 200, ""},
		{"capital letters", replying(200, plainReply, kind, "Application/JSON"), 200, ""},
		{"text for a type", replying(200, plainReply, kind, "text/plain"), 200, ""},
		{"an empty type", replying(200, plainReply, kind, ""), 200, ""},
		{"blanks around", replying(200, "\n \n"+plainReply+"\n", kind, jsonType), 200, ""},
		{"a trailer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Checksum")
			replying(200, plainReply, kind, jsonType)(w, r)
			w.Header().Set("X-Checksum", "1")
		}, 200, ""},
		{"early hints", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			replying(200, plainReply, kind, jsonType)(w, r)
		}, 200, ""},
		{"many pieces", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(kind, jsonType)
			for _, piece := range strings.SplitAfter(plainReply, ",") {
				_, _ = io.WriteString(w, piece)
				_ = http.NewResponseController(w).Flush()
			}
		}, 200, ""},

		{"compressed though nobody asked", replying(200, gzipped(plainReply), kind, jsonType, "Content-Encoding", "gzip"), 502, "upstream_error"},
		{"no content", replying(204, ""), 502, "upstream_error"},
		{"an empty body", replying(200, "", kind, jsonType), 502, "upstream_error"},
		{"accepted for later", replying(202, `{"id":"x"}`, kind, jsonType), 502, "upstream_error"},
		{"a part", replying(206, plainReply, kind, jsonType), 502, "upstream_error"},
		{"moved", replying(301, "", "Location", "http://127.0.0.1:1/"), 502, "upstream_error"},
		{"not modified", replying(304, ""), 502, "upstream_error"},
		{"a page of a proxy", replying(200, "<html>login</html>", kind, "text/html"), 502, "upstream_error"},
		{"text that is no JSON", replying(200, "OK", kind, "text/plain"), 502, "upstream_error"},
		{"two answers in one", replying(200, plainReply+plainReply, kind, jsonType), 502, "upstream_error"},
		{"less than its length", replying(200, plainReply, kind, jsonType, "Content-Length", strconv.Itoa(len(plainReply)+10)), 502, "upstream_error"},
		{"a status of its own", replying(599, "", kind, jsonType), 502, "upstream_error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.upstream)
			got := s.post(plainBody)
			if got.status != test.status || got.header.Get(kind) != jsonType || gjson.Get(got.body, "error.code").Str != test.code {
				t.Fatalf("status %d of type %q: %s", got.status, got.header.Get(kind), got.body)
			}
			if test.code == "" && strings.TrimSpace(got.body) != plainReply {
				t.Errorf("body %q", got.body)
			}
			for _, name := range []string{"Link", "Trailer", "X-Checksum", "Location", "Content-Encoding"} {
				if v := got.header.Get(name); v != "" {
					t.Errorf("the upstream's %s came through: %q", name, v)
				}
			}
			s.settled()
			if charged := s.gateway.limits.Ledger().Settled; (charged > 0) != (test.code == "") {
				t.Errorf("%d tokens charged", charged)
			}
		})
	}
}

// A body whose length the gateway changes must not carry the length that it had.
func TestNoLengthOfTheUpstreamsIsCopied(t *testing.T) {
	t.Run("whole", func(t *testing.T) {
		const reply = `{"model":"a-name-that-is-much-longer-than-the-alias","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}`
		s := serve(t, replying(200, reply, "Content-Type", "application/json", "Content-Length", strconv.Itoa(len(reply))), renaming)
		if got := s.post(plainBody); got.status != 200 || gjson.Get(got.body, "model").Str != "small" || !gjson.Valid(got.body) {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	})
	t.Run("stream", func(t *testing.T) {
		stream := strings.ReplaceAll(helloEvent+finishEvent+usageEvent+doneEvent, `"id":"1"`, `"model":"x"`)
		s := serve(t, replying(200, stream, "Content-Type", "text/event-stream", "Content-Length", strconv.Itoa(len(stream))), renaming)
		got := s.post(streamBody)
		if got.header.Get("Content-Length") != "" || strings.Count(got.body, `"model":"small"`) != 2 || !strings.HasSuffix(got.body, doneEvent) {
			t.Errorf("length %q of %q", got.header.Get("Content-Length"), got.body)
		}
	})
}

// renaming makes answers longer or shorter: they carry the alias.
func renaming(c *config.Config, _ *Options) { c.Models[0].ResponseModel = "alias" }
