package gateway

import (
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/anthropic"
	"github.com/llmctl/llmctl/internal/openai"
)

// messages is Anthropic's Messages API, which answers chat completions only.
type messages struct{}

// vendorMaxTokens bounds the output of a request for which neither its client nor
// the alias names a bound: the vendor requires one.
const vendorMaxTokens = 4096

func (messages) authorize(h http.Header, key string) { anthropic.SetHeaders(h, key) }

func (messages) encode(d *dialect, path string, body []byte) (string, []byte, *failure) {
	if d != &chat {
		return "", nil, unserved(openai.NewError("invalid_request_error",
			"the model's provider has chat completions only, not "+path, "", "unsupported_endpoint"))
	}
	body, problem := anthropic.Request(body, anthropic.Options{Model: gjson.GetBytes(body, "model").Str, MaxTokens: vendorMaxTokens})
	if problem != nil {
		return "", nil, unserved(problem)
	}
	return anthropic.Path, body, nil
}

// unserved is a request that one provider cannot serve; another one may.
func unserved(problem *openai.Error) *failure {
	return &failure{status: http.StatusBadRequest, outcome: outcomeUnroutable, noRetry: true, remedy: anotherTarget, body: problem}
}

func (messages) decode(_ *dialect, response *http.Response) *http.Response {
	anthropic.Translate(response, time.Now().Unix())
	return response
}

func (messages) counts() bool { return true }

func (messages) limits() string { return "Anthropic-Ratelimit-" }
