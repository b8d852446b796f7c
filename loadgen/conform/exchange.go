package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/loadgen/client"
)

// maxBody is how much of an answer is read.
const maxBody = 64 << 20

// request is what a case sends. The zero values send a GET with the run's key.
type request struct {
	method string
	path   string
	body   []byte
	header http.Header
	key    *string           // another key; one that is empty sends none
	over   http.RoundTripper // another transport than the run's
}

// answer is a whole answer.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
	reused bool // it came over a connection that another request had used
}

// get is a value of the answer's JSON; it does not exist where the body is none.
func (a *answer) get(path string) gjson.Result {
	if !gjson.ValidBytes(a.body) {
		return gjson.Result{}
	}
	return gjson.GetBytes(a.body, path)
}

func (a *answer) mediaType() string { return mediaType(a.header) }

func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return h.Get("Content-Type")
	}
	return kind
}

// said is the answer in short, for people.
func (a *answer) said() string {
	if message := a.get("error.message"); message.Exists() {
		return fmt.Sprintf("%d %q", a.status, clip(message.String(), 120))
	}
	if len(a.body) == 0 {
		return fmt.Sprintf("%d without a body", a.status)
	}
	return fmt.Sprintf("%d %s", a.status, clip(string(a.body), 120))
}

// open sends a request and returns the response with its body unread.
func (p *probe) open(ctx context.Context, r request) (*http.Response, *answer, error) {
	at, err := client.At(p.o.Endpoint, r.path)
	if err != nil {
		return nil, nil, err
	}
	a := new(answer)
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { a.reused = c.Reused }}
	method := r.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), method, at, bytes.NewReader(r.body))
	if err != nil {
		return nil, nil, err
	}
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	p.authorize(req.Header, r.key)
	for name, values := range r.header {
		req.Header[name] = values
	}
	if _, keyed := req.Header["Idempotency-Key"]; !keyed {
		// A server may close a connection that was idle, as RFC 9112 (9.3.1) says, at
		// the moment at which a request goes out over it. Set to nothing, which is not
		// sent, this has net/http send the request again over a new connection.
		req.Header["Idempotency-Key"] = nil
	}
	p.sent.Add(1)
	begin := time.Now()
	response, err := p.via(r).RoundTrip(req)
	if err != nil {
		return nil, nil, plain(ctx, err, begin)
	}
	a.status, a.header = response.StatusCode, response.Header
	p.watch(r.path, a)
	return response, a, nil
}

func (p *probe) via(r request) http.RoundTripper {
	if r.over != nil {
		return r.over
	}
	return p.transport
}

func (p *probe) authorize(h http.Header, key *string) {
	switch {
	case key == nil:
		client.Authorize(h, p.o.Key, p.o.Endpoint)
	case *key != "":
		h.Set("Authorization", "Bearer "+*key)
	}
}

// ask sends a request and reads its answer.
func (p *probe) ask(ctx context.Context, r request) (*answer, error) {
	begin := time.Now()
	response, a, err := p.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	a.body, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
	a.took = time.Since(begin)
	p.watch(r.path, a)
	if err != nil {
		return a, fmt.Errorf("reading the answer, %d: %w", a.status, plain(ctx, err, begin))
	}
	return a, nil
}

// post asks a path with a body.
func (p *probe) post(ctx context.Context, path, body string) (*answer, error) {
	return p.ask(ctx, request{method: http.MethodPost, path: path, body: []byte(body)})
}

// plain says an error of the transport without the URL, which is the same in all
// of them.
func plain(ctx context.Context, err error, begin time.Time) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no end within %.1f s: %w", time.Since(begin).Seconds(), ctx.Err())
	}
	return err
}
