package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// maxCause is the length at which the reason for a failure is cut.
const maxCause = 200

// cause says why the request failed: what operators can act on, without keys and
// without anything that a client or a model wrote for the other. It is empty for a
// client that left.
func (x *exchange) cause() string {
	f := x.failure
	text := ""
	switch {
	case f.cause != nil:
		text = f.cause.Error()
	case f.outcome.timeout() && x.model != nil:
		text = x.ranOut(f.outcome)
	case f.body != nil:
		text = words(f.body)
	}
	return brief(x.redact(text), maxCause)
}

// words are what the client was told, with the field that it is about.
func words(e *openai.Error) string {
	if e.Param == nil || strings.Contains(e.Message, *e.Param) {
		return e.Message
	}
	return *e.Param + ": " + e.Message
}

// ranOut says which time-out it was.
func (x *exchange) ranOut(o outcome) string {
	t := x.model.timeouts
	switch o {
	case outcomeFirstToken:
		return fmt.Sprintf("no output within timeouts.first_token, %v", time.Duration(t.FirstToken))
	case outcomeIdle:
		return fmt.Sprintf("nothing came for timeouts.idle, %v", time.Duration(t.Idle))
	}
	return fmt.Sprintf("not at its end within timeouts.total, %v", time.Duration(t.Total))
}

// redacted stands where a secret was.
const redacted = "[redacted]"

// redact takes the keys of the client and of the provider out of a text for operators,
// who need the addresses in it.
func (x *exchange) redact(text string) string {
	if key, err := bearer(x.r.Header); err == nil {
		text = strings.ReplaceAll(text, key, redacted)
	}
	if x.try != nil {
		text = string(x.try.target.provider.withoutKeys([]byte(text)))
	}
	return text
}

// reported is an upstream's error for the log: its status, and of the error object the
// type and the code. Its message may quote the prompt.
func reported(status int, e gjson.Result) error {
	text := fmt.Sprintf("the upstream answered %d %s", status, http.StatusText(status))
	if status == http.StatusOK {
		text = "the upstream sent an error with status 200"
	}
	text = strings.TrimSpace(text)
	for _, name := range []string{"type", "code"} {
		if v := e.Get(name); v.Type == gjson.String && v.Str != "" || v.Type == gjson.Number {
			text += fmt.Sprintf(", %s %s", name, brief(v.String(), 40))
		}
	}
	return fmt.Errorf("%s", text)
}

// with is a failure's words for the client, and behind them what only operators see.
func with(message string, cause error) error {
	if cause == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", message, cause)
}

// grave tells whether operators should look: the upstream was at fault, or the gateway.
func (o outcome) grave() bool {
	switch o {
	case outcomeInternal, outcomeLimitsUnavailable, outcomeUnhealthy:
		return true
	}
	return o.upstreamFault()
}
