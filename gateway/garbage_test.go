package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// garbage is what no official client can read: each raises on it.
var garbage = map[string]string{
	"no JSON":                   "data: oops\n\n",
	"half of an object":         "data: {\"choices\":[{\"ind\n\n",
	"an object and more":        "data: {\"choices\":[]} {}\n\n",
	"a number":                  "data: 7\n\n",
	"a text":                    "data: \"Hello\"\n\n",
	"a list":                    "data: [{\"choices\":[]}]\n\n",
	"bytes that are no UTF-8":   "data: {\"type\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"caf\xe9\"}}]}\n\n",
	"a control character":       "data: {\"type\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\x01b\"}}]}\n\n",
	"the usual around no UTF-8": strings.Replace(helloEvent, "Hello", "caf\xe9", 1),
	"the usual around control":  strings.Replace(helloEvent, "Hello", "a\x01b", 1),
	"no UTF-8 beside the data":  "id: \xff\n" + helloEvent,
}

// streamingAPIs are the APIs that stream, by path.
var streamingAPIs = map[string]struct{ body, output, end string }{
	"/v1/chat/completions": {streamBody, helloEvent, finishEvent + doneEvent},
	"/v1/completions":      {`{"model":"small","prompt":"a","stream":true}`, `data: {"choices":[{"index":0,"text":"a","finish_reason":null}]}` + "\n\n", `data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}` + "\n\n" + doneEvent},
	"/v1/responses":        {`{"model":"small","input":"a","stream":true}`, deltaEvent, completed},
}

// brokenBy is a stream, and what broke it: all of its events but the last can be read by
// any client, and the last is the error.
func brokenBy(t *testing.T, got, passed string) {
	t.Helper()
	last, found := strings.CutPrefix(got, passed)
	_, data, _ := strings.Cut(last, "data: ")
	if !found || strings.Count(last, "data: ") != 1 || gjson.Get(data, "error.code").Str != "stream_interrupted" {
		t.Errorf("got %q after %q", last, passed)
	}
}

// What is garbage in a stream does not reach clients, who would stumble over it before
// they read why the stream has ended: they get the error in its place. Before the first
// output another server answers.
func TestGarbageInAStreamStaysHere(t *testing.T) {
	for path, api := range streamingAPIs {
		for name, bad := range garbage {
			t.Run(path+" after output, "+name, func(t *testing.T) {
				s := serve(t, upstreamAnswers(api.output, bad, api.output, api.end))
				got := s.at(path, api.body)
				if got.status != http.StatusOK {
					t.Fatalf("status %d: %s", got.status, got.body)
				}
				brokenBy(t, got.body, api.output)
				s.settled()
				line := s.lines()[0]
				if line.Get("outcome").Str != string(outcomeInterrupted) || !strings.Contains(line.Get("cause").Str, "not a JSON object") {
					t.Errorf("line %s", line.Raw)
				}
			})
			t.Run(path+" before output, "+name, func(t *testing.T) {
				good := httptest.NewServer(upstreamAnswers(api.output, api.end))
				t.Cleanup(good.Close)
				s := serve(t, upstreamAnswers(": a comment\n\n", bad, api.output, api.end), configure(func(c *config.Config) {
					c.Providers = append(c.Providers, config.Provider{Name: "other", Kind: "openai", Endpoints: []string{good.URL}})
					c.Models[0].Fallback = []config.Target{{Provider: "other", Model: "real-model"}}
				}))
				if got := s.at(path, api.body); got.status != http.StatusOK || got.body != api.output+api.end {
					t.Errorf("status %d: %s", got.status, got.body)
				}
			})
		}
	}
}

// The same over WebSocket, where a browser closes the connection on a message that is
// not UTF-8.
func TestGarbageStaysHereOverWebSocket(t *testing.T) {
	for name, bad := range garbage {
		t.Run(name, func(t *testing.T) {
			s := serve(t, upstreamAnswers(helloEvent, bad, worldEvent, doneEvent))
			c := s.dial(nil)
			s.say(c, streamBody)
			got := s.hear(c)
			if len(got) != 3 || got[0] != dataOf(helloEvent) || gjson.Get(got[1], "error.code").Str != "stream_interrupted" || !strings.HasPrefix(got[2], "1011") {
				t.Errorf("messages %q", got)
			}
		})
	}
}

// Where nothing of an answer is missing, garbage breaks none: the client hears the rest.
func TestGarbageThatBreaksNothing(t *testing.T) {
	for name, test := range map[string]struct{ stream, want string }{
		"after every choice has ended": {helloEvent + finishEvent + "data: oops\n\n" + usageEvent, helloEvent + finishEvent + doneEvent},
		"half an event at the end":     {helloEvent + finishEvent + "data: {\"usa", helloEvent + finishEvent + doneEvent},
		"empty data":                   {"data:\n\n" + helloEvent + finishEvent + doneEvent, helloEvent + finishEvent + doneEvent},
		"a comment that is no UTF-8":   {helloEvent + ": \xff\n\n" + finishEvent + doneEvent, helloEvent + finishEvent + doneEvent},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, upstreamAnswers(test.stream))
			if diff := cmp.Diff(test.want, s.post(streamBody).body); diff != "" {
				t.Errorf("stream (-want +got):\n%s", diff)
			}
		})
	}
}

// An error that is written as garbage is an error still, in a form that can be read.
func TestErrorWrittenAsGarbage(t *testing.T) {
	for name, bad := range map[string]string{
		"of that name, no JSON": "event: error\ndata: out of \xff memory\n\n",
		"an object, no UTF-8":   "data: {\"error\":{\"message\":\"caf\xe9\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n",
		"an object, and more":   "data: {\"error\":{\"message\":\"no\",\"type\":\"server_error\",\"param\":null,\"code\":null}} oops\n\n",
	} {
		for path, api := range streamingAPIs {
			if path == "/v1/responses" && !strings.HasPrefix(bad, "event") {
				continue // which has errors by their name only
			}
			t.Run(path+", "+name, func(t *testing.T) {
				s := serve(t, upstreamAnswers(api.output, bad, api.end))
				last, found := strings.CutPrefix(s.at(path, api.body).body, api.output)
				_, data, _ := strings.Cut(last, "data: ")
				if !found || !validJSON([]byte(data)) || gjson.Get(data, "error.message").Str == "" {
					t.Errorf("got %q", last)
				}
				s.settled()
				if got := s.lines()[0].Get("outcome").Str; got != string(outcomeStreamError) {
					t.Errorf("outcome %q", got)
				}
			})
		}
	}
}

// JSON that is not UTF-8 is none for clients, of a whole answer either.
func TestWholeAnswerThatIsNoUTF8(t *testing.T) {
	s := serve(t, replies(200, strings.Replace(plainReply, "Hello", "caf\xe9", 1)))
	if got := s.post(plainBody); got.status != http.StatusBadGateway || gjson.Get(got.body, "error.code").Str != "upstream_error" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}
