package gateway

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

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
		c.output = document.Get("delta").Str != ""
	case kind == "response.completed", kind == "response.incomplete", kind == "response.cancelled":
		c.done = true
		c.usage = document.Get("response.usage")
		c.reason = document.Get("response.status").Str
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
	document.Get("output").ForEach(func(_, item gjson.Result) bool {
		size := len(item.Get("arguments").Str)
		item.Get("content").ForEach(func(_, part gjson.Result) bool {
			size += len(part.Get("text").Str)
			return true
		})
		a.output += textTokens(size)
		return true
	})
	return a
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
