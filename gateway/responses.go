package gateway

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/jsonscan"
	"github.com/llmctl/llmctl/internal/openai"
)

// responses is OpenAI's Responses API. It passes through: the gateway meters it
// and bounds it, and has nothing to do with what upstreams store (see stored).
var responses = dialect{
	path: "/v1/responses", operation: "chat",
	fields:  append([]string{"input", "instructions", "text", "background", "previous_response_id", "conversation", "prompt", "store"}, common...),
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
