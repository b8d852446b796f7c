package gateway

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/llmctl/llmctl/internal/openai"
)

// lacksPath tells an upstream that does not have the path at all from one that does
// not know the model: servers say which in their words only. Of chats it is never
// said: what serves none of them is not a model's server, but another address.
func lacksPath(d *dialect, status int, body []byte) bool {
	switch {
	case d == &chat:
		return false
	case status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return true
	}
	return status == http.StatusNotFound && !bytes.Contains(bytes.ToLower(body), []byte("model"))
}

// pathless is the failure of a request for a path that the target's server does not
// have. That is no failure of the server's, so it is none of its breaker's, and no
// mistake in the configuration: engines serve what their model can do.
func pathless(d *dialect, t *target, status int) *failure {
	return &failure{
		status: http.StatusBadRequest, outcome: outcomeUpstreamRefused, remedy: anotherTarget, noRetry: true,
		cause: fmt.Errorf("the upstream answered %d for %s of model %q", status, d.path, t.model),
		body:  openai.NewError("invalid_request_error", "this model does not serve "+d.path, "model", "unsupported_endpoint"),
	}
}
