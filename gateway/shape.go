package gateway

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// shaped is an upstream's error object in OpenAI's shape, without the provider's
// key: whatever of the four fields it has not, or has in another form, is filled
// by its status.
func (p *provider) shaped(e gjson.Result, status int) *openai.Error {
	text := e.Get("message").Str
	if text == "" {
		text = "the upstream reported an error"
	}
	kind := e.Get("type").Str
	if kind == "" {
		kind = errorKind(status)
	}
	code := e.Get("code").String() // engines write the status there
	if code == "null" {
		code = ""
	}
	clean := func(s string) string { return string(p.redact([]byte(s))) }
	return openai.NewError(clean(kind), clean(text), clean(e.Get("param").Str), clean(code))
}

// errorKind is the type of an error that says none.
func errorKind(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 400 && status < 500:
		return "invalid_request_error"
	}
	return "upstream_error"
}

// wellFormed tells whether an error object has OpenAI's shape: its four fields, the
// latter two as texts or null. Such a one passes as it came, whatever else it has.
func (p *provider) wellFormed(e gjson.Result) bool {
	for _, key := range []string{"message", "type"} {
		if e.Get(key).Type != gjson.String {
			return false
		}
	}
	for _, key := range []string{"param", "code"} {
		v := e.Get(key)
		if !v.Exists() || v.Type != gjson.String && v.Type != gjson.Null {
			return false
		}
	}
	// A key that is written with escapes is no text to be found in the raw form.
	return p.key == "" || !strings.Contains(fmt.Sprint(e.Value()), p.key)
}
