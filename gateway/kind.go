package gateway

import (
	"net/http"

	"github.com/llmctl/llmctl/gateway/config"
)

// kind is the protocol of a provider. The pipeline speaks OpenAI's; a kind turns
// requests into the provider's own, and answers back.
type kind interface {
	// authorize puts the provider's key, when there is one, where the protocol
	// wants it, with whatever else every request carries.
	authorize(h http.Header, key string)
	// encode turns a request body for a path of OpenAI's API into the provider's
	// path and body. The failure is one of the request, which the provider could
	// never serve.
	encode(d *dialect, path string, body []byte) (upstreamPath string, upstreamBody []byte, f *failure)
	// decode turns an answer, whole, streamed or an error, into OpenAI's form. It
	// may wrap the body, and reads nothing itself.
	decode(d *dialect, response *http.Response) *http.Response
	// counts tells whether streams end with usage whoever asks for it.
	counts() bool
	// limits is what header fields begin with that say how much the key may still use.
	limits() string
}

// kinds are all protocols, by their name in the configuration, which has the same ones
// in config.Kinds.
var kinds = map[string]kind{config.KindOpenAI: openAI{}, config.KindAnthropic: messages{}}

// openAI is the protocol of OpenAI and of most engines: everything passes as it
// is.
type openAI struct{}

func (openAI) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

func (openAI) encode(_ *dialect, path string, body []byte) (string, []byte, *failure) {
	return path, body, nil
}

func (openAI) decode(_ *dialect, response *http.Response) *http.Response { return response }

func (openAI) counts() bool { return false }

func (openAI) limits() string { return "X-Ratelimit-" }
