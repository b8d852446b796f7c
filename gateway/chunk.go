package gateway

import (
	"bytes"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/jsonscan"
	"github.com/llmctl/llmctl/internal/openai"
)

// chunk is what the gateway reads from one event of a completion stream.
type chunk struct {
	done      bool         // [DONE]
	failure   gjson.Result // the error object, when there is one
	failed    bool
	output    bool    // carries generated output in any channel
	heard     heard   // of it
	answer    int64   // tokens of the whole answer by the gateway's own count, where the event has it
	finished  []int64 // choices that end here
	reason    string  // the last finish_reason
	usage     gjson.Result
	bit       bit  // of a plain event
	sound     bool // its JSON is known to be an object
	garbage   bool // clients could not read it
	usageOnly bool // has usage and no choices: the chunk that include_usage adds
}

var (
	doneData  = []byte("[DONE]")
	errorName = []byte("error")
)

// readChunk reads an event, each part of it once.
func readChunk(e openai.Event) chunk {
	if p, plain := readPlain(e); plain {
		return chunk{output: p.output, heard: p.heard, bit: p, sound: true}
	}
	return readClosely(e)
}

// readClosely reads an event of any kind.
func readClosely(e openai.Event) chunk {
	if bytes.Equal(bytes.TrimSpace(e.Data), doneData) {
		return chunk{done: true}
	}
	c := chunk{failed: bytes.Equal(e.Name, errorName)}
	choices := 0
	gjson.ParseBytes(e.Data).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices":
			if value.IsArray() { // gjson takes anything else for a list of one
				value.ForEach(func(_, choice gjson.Result) bool {
					choices++
					c.readChoice(choice)
					return true
				})
			}
		case "usage":
			c.usage = value
		case "error":
			c.failure = value
			c.failed = c.failed || value.Type != gjson.Null
		}
		return true
	})
	c.usageOnly = c.usage.IsObject() && choices == 0
	return c
}

func (c *chunk) readChoice(choice gjson.Result) {
	var p bit
	choice.ForEach(func(key, value gjson.Result) bool {
		switch s := jsonscan.New([]byte(value.Raw)); key.Str {
		case "text":
			p.text(&s, s.Text())
		case "delta":
			if s.Peek() == '{' {
				p.delta(&s)
			}
		case "finish_reason":
			if value.Type == gjson.String && value.Str != "" {
				c.finished = append(c.finished, choice.Get("index").Int())
				c.reason = value.Str
			}
		}
		return true
	})
	p.piece(false)
	c.output = c.output || p.output
	c.heard.add(p.heard)
}

// statusOfError is the status that an error object would have had outside of a
// stream, 0 when it does not tell. Engines write it as its code; others have words
// there.
func statusOfError(e gjson.Result) int {
	if code := int(e.Get("code").Int()); code != 0 {
		return code
	}
	switch e.Get("code").Str {
	case "rate_limit_exceeded":
		return http.StatusTooManyRequests
	case "overloaded":
		return http.StatusServiceUnavailable
	case "model_not_found":
		return http.StatusNotFound
	}
	switch e.Get("type").Str {
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "authentication_error", "permission_error":
		return http.StatusForbidden
	case "invalid_request_error":
		return http.StatusBadRequest
	}
	return 0
}

// told is an error inside a stream as the client hears of it: as the upstream said
// it where that is an error to OpenAI's clients, and in that form where it is not.
func (c chunk) told(d *dialect, p *provider, f frame) []byte {
	if !c.garbage && (d == &responses && c.failure.IsObject() || p.wellFormed(c.failure)) {
		return p.redact(f.raw)
	}
	e := c.failure
	if !e.IsObject() {
		e = gjson.ParseBytes(f.event.Data)
	}
	return d.failed(p.shaped(e, statusOfError(e)))
}

// streamError is the failure of a stream whose first event is an error: nothing
// has been sent yet, so the client can still get a status.
func (c chunk) streamError(t *target) *failure {
	status, code := http.StatusBadGateway, statusOfError(c.failure)
	if f := misconfigured(t, code); f != nil {
		return f
	}
	if code >= 400 && code < 500 || code == http.StatusServiceUnavailable {
		status = code
	}
	f := &failure{status: status, outcome: outcomeStreamError, remedy: anotherTry, cause: reported(http.StatusOK, c.failure)}
	if status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout {
		f.remedy = noRemedy
	}
	if p := t.provider; !c.garbage && p.wellFormed(c.failure) {
		f.raw = p.redact([]byte(`{"error":` + c.failure.Raw + `}`))
	} else if c.failure.IsObject() {
		f.body = p.shaped(c.failure, status)
	} else {
		f.body = openai.NewError("upstream_error", "the upstream reported an error", "", "upstream_error")
	}
	return f
}
