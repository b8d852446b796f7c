package gateway

import (
	"bytes"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// chunk is what the gateway reads from one event of a completion stream.
type chunk struct {
	done      bool         // [DONE]
	failure   gjson.Result // the error object, when there is one
	failed    bool
	output    bool   // carries generated output in any channel
	finished  int64  // choices that end here
	reason    string // the last finish_reason
	usage     gjson.Result
	usageOnly bool // has usage and no choices: the chunk that include_usage adds
}

var (
	doneData  = []byte("[DONE]")
	usageKey  = []byte(`"usage"`)
	errorKey  = []byte(`"error"`)
	errorName = []byte("error")
)

// readChunk reads an event. Fields that most events lack are searched for only
// when their names occur.
func readChunk(e openai.Event) chunk {
	if bytes.Equal(bytes.TrimSpace(e.Data), doneData) {
		return chunk{done: true}
	}
	var c chunk
	if bytes.Equal(e.Name, errorName) || bytes.Contains(e.Data, errorKey) {
		c.failure = gjson.GetBytes(e.Data, "error")
		c.failed = bytes.Equal(e.Name, errorName) || c.failure.Exists() && c.failure.Type != gjson.Null
	}
	choices := gjson.GetBytes(e.Data, "choices")
	count := 0
	choices.ForEach(func(_, choice gjson.Result) bool {
		count++
		c.output = c.output || hasOutput(choice)
		if reason := choice.Get("finish_reason"); reason.Type == gjson.String && reason.Str != "" {
			c.finished++
			c.reason = reason.Str
		}
		return true
	})
	if bytes.Contains(e.Data, usageKey) {
		c.usage = gjson.GetBytes(e.Data, "usage")
		c.usageOnly = c.usage.IsObject() && count == 0
	}
	return c
}

// hasOutput tells whether a choice carries something that the model generated:
// content, reasoning, a refusal or a tool call. A role alone is none.
func hasOutput(choice gjson.Result) bool {
	if choice.Get("text").Str != "" {
		return true
	}
	found := false
	choice.Get("delta").ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content", "reasoning_content", "reasoning", "refusal":
			found = value.Str != ""
		case "tool_calls", "function_call":
			found = value.IsArray() && value.Get("#").Int() > 0 || value.IsObject()
		}
		return !found
	})
	return found
}

// streamError is the failure of a stream whose first event is an error: nothing
// has been sent yet, so the client can still get a status.
func (c chunk) streamError(p *provider) *failure {
	status := http.StatusBadGateway
	if code := int(c.failure.Get("code").Int()); code == http.StatusTooManyRequests || code >= 400 && code < 500 && code != 401 && code != 403 {
		status = code
	}
	f := &failure{status: status, outcome: outcomeStreamError}
	if c.failure.IsObject() {
		f.raw = p.redact([]byte(`{"error":` + c.failure.Raw + `}`))
	} else {
		f.body = openai.NewError("upstream_error", "the upstream reported an error", "", "upstream_error")
	}
	return f
}
