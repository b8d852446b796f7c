package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/llmctl/llmctl/internal/openai"
)

// bodiesAtOnce is how many of the largest bodies may be in memory at once. Limits
// are asked once a body is known, so without a bound a single key could fill the
// memory with requests that are then refused.
const bodiesAtOnce = 32

// bodies counts the bytes of request bodies in memory.
type bodies struct{ held atomic.Int64 }

var errBodies = errors.New("too many large requests at once")

// weighed reads a body, and counts what it has read until it is let go.
type weighed struct {
	from  io.Reader
	all   *bodies
	most  int64 // bytes of all bodies together
	count int64
}

func (w *weighed) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	w.count += int64(n)
	if w.all.held.Add(int64(n)) > w.most && n > 0 {
		return n, errBodies
	}
	return n, err
}

// weigh counts the request's body until the request ends.
func (x *exchange) weigh(body io.Reader) io.Reader {
	x.body = weighed{from: body, all: &x.g.bodies, most: bodiesAtOnce * x.table.maxBody}
	return &x.body
}

func (w *weighed) letGo() {
	if w.all != nil {
		w.all.held.Add(-w.count)
		w.count = 0
	}
}

// crowded is the failure of a request whose body has no room.
func crowded() *failure {
	return &failure{status: http.StatusServiceUnavailable, outcome: outcomeShed, retryAfter: "1",
		body: openai.NewError("server_error", errBodies.Error(), "", "overloaded")}
}
