package anthropic

import (
	"encoding/json"
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

// errorKinds are what OpenAI's API says for the vendor's types of errors.
var errorKinds = map[string]struct{ kind, code string }{
	"invalid_request_error": {"invalid_request_error", ""},
	"authentication_error":  {"authentication_error", "invalid_api_key"},
	"billing_error":         {"insufficient_quota", "insufficient_quota"},
	"permission_error":      {"permission_error", ""},
	"not_found_error":       {"invalid_request_error", "model_not_found"},
	"conflict_error":        {"invalid_request_error", ""},
	"request_too_large":     {"invalid_request_error", "request_too_large"},
	"rate_limit_error":      {"rate_limit_error", "rate_limit_exceeded"},
	"timeout_error":         {"timeout_error", "upstream_timeout"},
	"api_error":             {"server_error", ""},
	"overloaded_error":      {"server_error", "overloaded"},
}

// statusOverloaded is the vendor's own, for overloaded_error.
const statusOverloaded = 529

// statusOf is a status that OpenAI's clients know. A bill that the gateway's
// owner has not paid is a matter of the key, and not of the client.
func statusOf(status int) int {
	switch status {
	case statusOverloaded:
		return http.StatusServiceUnavailable
	case http.StatusPaymentRequired:
		return http.StatusForbidden
	}
	return status
}

// Failure translates the body of an error: of an answer with that status, or of
// an event inside a stream, whose status is 0.
func Failure(status int, body []byte) *openai.Error {
	var problem gjson.Result
	if json.Valid(body) { // it bounds the nesting, too
		problem = gjson.GetBytes(body, "error")
	}
	message := problem.Get("message").Str
	known, ok := errorKinds[problem.Get("type").Str]
	switch {
	case ok:
	case status == statusOverloaded:
		known = errorKinds["overloaded_error"]
	default:
		known.kind = "upstream_error"
	}
	if message == "" {
		message = strings.TrimSpace(fmt.Sprintf("the provider answered with an error %d %s", status, http.StatusText(status)))
	}
	if known.kind == "invalid_request_error" && strings.HasPrefix(message, "prompt is too long") {
		known.code = "context_length_exceeded"
	}
	return openai.NewError(known.kind, message, "", known.code)
}
