package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/jsonscan"
	"github.com/llmctl/llmctl/internal/openai"
)

// responses is OpenAI's Responses API. It passes through: the gateway meters it
// and bounds it, and has nothing to do with what upstreams store (see stored).
var responses = dialect{
	path: "/v1/responses", operation: "chat",
	fields:  append([]string{"input", "instructions", "text", "max_output_tokens", "background", "previous_response_id", "conversation"}, common...),
	maxKeys: []string{"max_output_tokens"},
	streams: true, generates: true, salted: true, modelPath: "response.model",
	estimate: estimateResponse, event: readResponseEvent, whole: readResponse, failed: responseError,
}

// readResponseEvent reads an event of a response's stream. They are typed, and
// the last one says how the response ended; no [DONE] follows.
func readResponseEvent(e openai.Event) (c chunk) {
	if bytes.Equal(bytes.TrimSpace(e.Data), doneData) {
		return chunk{done: true}
	}
	document := gjson.ParseBytes(e.Data)
	kind := document.Get("type").Str
	if kind == "" {
		kind = string(e.Name)
	}
	switch {
	case strings.HasSuffix(kind, ".delta"):
		if delta := document.Get("delta"); delta.Str != "" {
			c.output, c.heard.pieces = true, 1
			if !strings.HasSuffix(kind, "audio.delta") { // whose transcript has events of its own
				c.heard.bytes = int64(len(delta.Str))
			}
		}
	case kind == "response.completed", kind == "response.incomplete", kind == "response.cancelled":
		c.done = true
		c.usage = document.Get("response.usage")
		c.reason = document.Get("response.status").Str
		c.answer = outputOf(document.Get("response.output")).tokens()
	case kind == "response.failed":
		c.failed = true
		c.usage = document.Get("response.usage")
		c.failure = document.Get("response.error")
	case kind == "error":
		c.failed = true
		c.failure = document
	}
	return c
}

// readResponse reads a whole response.
func readResponse(body []byte) (a wholeAnswer) {
	document := gjson.ParseBytes(body)
	a.usage = document.Get("usage")
	a.finishReason = document.Get("status").Str
	a.output = outputOf(document.Get("output")).tokens()
	return a
}

// outputOf is what the items of a response's output hold.
func outputOf(items gjson.Result) (h heard) {
	items.ForEach(func(_, item gjson.Result) bool {
		s := jsonscan.New([]byte(item.Raw))
		if n := written(&s); n > 0 {
			h.add(heard{pieces: 1, bytes: int64(n)})
		}
		return true
	})
	return h
}

// responseError is the Responses API's own error event, with the object in it
// that OpenAI's clients look for in every stream.
func responseError(e *openai.Error) []byte {
	body := openai.ErrorBody(e) // {"error":{…}}
	event := append([]byte("event: error\ndata: "), `{"type":"error",`...)
	inner := gjson.GetBytes(body, "error")
	for _, key := range []string{"code", "message", "param"} {
		event = append(gjson.AppendJSONString(event, key), ':')
		event = append(append(event, inner.Get(key).Raw...), ',')
	}
	event = append(event, body[1:]...)
	return append(event, "\n\n"...)
}

// stored refuses what of the Responses API outlives its request. An answer in the
// background is never seen here, so that nobody would pay for it; and what upstreams
// keep under an id is open to everyone who calls them with the same key, which all
// tenants do. Aliases for a single tenant can allow the latter.
func (x *exchange) stored(q *request) *failure {
	if q.dialect != &responses {
		return nil
	}
	refused := ""
	switch {
	case q.fields["background"].Bool():
		refused = "background"
	case x.model.storedResponses:
	case q.fields["previous_response_id"].Type != gjson.Null:
		refused = "previous_response_id"
	case q.fields["conversation"].Type != gjson.Null:
		refused = "conversation"
	}
	if refused == "" {
		return nil
	}
	return &failure{status: http.StatusBadRequest, outcome: outcomeInvalid,
		body: openai.NewError("invalid_request_error", fmt.Sprintf("this model does not take %q: send the conversation with each request", refused), refused, "unsupported_parameter")}
}
