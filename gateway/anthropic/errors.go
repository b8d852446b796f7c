package anthropic

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

func invalid(param, message string) *openai.Error {
	return openai.NewError("invalid_request_error", message, param, "")
}

func unsupported(param, message string) *openai.Error {
	return openai.NewError("invalid_request_error", message, param, "unsupported_parameter")
}

// brief cuts a client's word down to what fits into an error about it.
func brief(word string) string {
	const most = 40
	if len(word) <= most {
		return word
	}
	return strings.ToValidUTF8(word[:most], "") + "…"
}

// errorKinds are the vendor's types of errors with their status, and what
// OpenAI's API says instead.
var errorKinds = map[string]struct {
	status     int
	kind, code string
}{
	"invalid_request_error": {http.StatusBadRequest, "invalid_request_error", ""},
	"authentication_error":  {http.StatusUnauthorized, "authentication_error", "invalid_api_key"},
	"billing_error":         {http.StatusForbidden, "insufficient_quota", "insufficient_quota"},
	"permission_error":      {http.StatusForbidden, "permission_error", ""},
	"not_found_error":       {http.StatusNotFound, "invalid_request_error", "model_not_found"},
	"conflict_error":        {http.StatusConflict, "invalid_request_error", ""},
	"request_too_large":     {http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large"},
	"rate_limit_error":      {http.StatusTooManyRequests, "rate_limit_error", "rate_limit_exceeded"},
	"timeout_error":         {http.StatusGatewayTimeout, "timeout_error", "upstream_timeout"},
	"api_error":             {http.StatusInternalServerError, "server_error", ""},
	"overloaded_error":      {http.StatusServiceUnavailable, "server_error", "overloaded"},
}

// statusOverloaded is the vendor's own, for overloaded_error.
const statusOverloaded = 529

// Failure translates the body of an error, of an answer with that status or of
// an event inside a stream (then status is 0). The status it returns is one that
// OpenAI's clients know.
func Failure(status int, body []byte) (int, *openai.Error) {
	var problem gjson.Result
	if gjson.ValidBytes(body) {
		problem = gjson.GetBytes(body, "error")
	}
	message := problem.Get("message").Str
	known, ok := errorKinds[problem.Get("type").Str]
	switch {
	case !ok && status == 0:
		known = errorKinds["api_error"]
	case !ok && status == statusOverloaded:
		known = errorKinds["overloaded_error"]
	case !ok:
		known.status, known.kind = status, "upstream_error"
	}
	if message == "" {
		message = strings.TrimSpace(fmt.Sprintf("the provider answered %d %s", known.status, http.StatusText(known.status)))
	}
	if known.status == http.StatusBadRequest && strings.HasPrefix(message, "prompt is too long") {
		known.code = "context_length_exceeded"
	}
	return known.status, openai.NewError(known.kind, message, "", known.code)
}
