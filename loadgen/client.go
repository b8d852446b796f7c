package loadgen

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/reports/record"
)

// job is one request to be sent.
type job struct {
	id        int64
	session   workload.Session
	turn      int
	due       time.Duration // since the start of the run; open loop only
	open      bool          // due counts
	body      []byte
	withUsage bool // the body asks for usage
}

// newRecord returns the record of a job before anything has happened to it.
func (j *job) newRecord(model string) *record.Record {
	turn := j.session.Turns[j.turn]
	r := &record.Record{
		ID:          j.id,
		Tenant:      j.session.Tenant,
		Class:       j.session.Class,
		Session:     j.session.Index,
		Turn:        j.turn,
		Model:       model,
		AskedInput:  record.Counted(turn.Input),
		AskedOutput: record.Counted(turn.Output),
	}
	if turn.Group != workload.NoGroup {
		r.PrefixGroup = record.Counted(turn.Group)
	}
	if j.open {
		r.Scheduled = record.At(j.due)
	}
	return r
}

// client sends requests and writes down what comes back. It is shared by all
// requests of a run.
type client struct {
	transport *http.Transport
	url       string
	header    http.Header
	secrets   []string // replaced wherever a server's message repeats one
	bodies    *bodyWriter
	ignoreEOS bool

	firstToken, idle, total time.Duration
	now                     func() time.Duration // since the start of the run

	usageRefused atomic.Bool // the server does not know stream_options

	onFirst  func(now, ttft time.Duration)
	onOutput func(tokens int)
}

func newClient(o Options, target endpoint, now func() time.Duration) *client {
	header := http.Header{}
	for name, values := range o.Headers {
		header[http.CanonicalHeaderKey(name)] = append([]string(nil), values...)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "llmctl")
	}
	authorize(header, o.APIKey, target)
	return &client{
		transport:  newTransport(o.env),
		url:        target.generate(o.API),
		header:     header,
		secrets:    secrets(o, target),
		bodies:     &bodyWriter{model: o.Model, api: o.API, ignoreEOS: o.IgnoreEOS, continuous: o.ContinuousUsage, stream: o.Workload},
		ignoreEOS:  o.IgnoreEOS,
		firstToken: o.FirstTokenTimeout,
		idle:       o.IdleTimeout,
		total:      o.TotalTimeout,
		now:        now,
		onFirst:    func(time.Duration, time.Duration) {},
		onOutput:   func(int) {},
	}
}

// authorize sets the credentials: the API key, else what the URL holds.
func authorize(header http.Header, key string, target endpoint) {
	switch {
	case key != "":
		header.Set("Authorization", "Bearer "+key)
	case target.user != nil && header.Get("Authorization") == "":
		password, _ := target.user.Password()
		basic := http.Request{Header: header}
		basic.SetBasicAuth(target.user.Username(), password)
	}
}

// exchange is one request on its way.
type exchange struct {
	*client
	job    *job
	record *record.Record
	watch  watchdog

	// The transport's goroutines write these, at times after it has returned.
	wrote, firstByte atomic.Int64 // a record.Moment

	answer answer
}

// do sends a job and fills its record. It returns when the request has ended in
// one way or another, at the latest a moment after ctx has.
func (c *client) do(ctx context.Context, j *job, r *record.Record) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{client: c, job: j, record: r}
	x.watch = watchdog{now: c.now, cancel: cancel, firstToken: c.firstToken, idle: c.idle, total: c.total}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.wrote.Store(int64(record.At(c.now()))) },
		GotFirstResponseByte: func() { x.firstByte.Store(int64(record.At(c.now()))) },
	})
	body := j.body
	if j.withUsage && c.usageRefused.Load() {
		body = c.withoutUsage(j)
	}
	if again := x.attempt(ctx, cancel, body); again {
		x.attempt(ctx, cancel, c.withoutUsage(j))
	}
	x.watch.stop()
	r.Wrote = record.Moment(x.wrote.Load())
	r.FirstByte = record.Moment(x.firstByte.Load())
	r.Detail = redact(r.Detail, c.secrets)
}

// withoutUsage writes the body again, for a server that does not know
// stream_options.
func (c *client) withoutUsage(j *job) []byte {
	j.withUsage = false
	return c.bodies.write(j.session, j.turn, false)
}

// attempt sends the request once. again reports that the server refuses
// stream_options by name and the request should be sent without it; there are
// no other retries.
func (x *exchange) attempt(ctx context.Context, cancel context.CancelCauseFunc, body []byte) (again bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(body))
	if err != nil {
		fail(x.record, record.Malformed, err.Error())
		return false
	}
	request.Header = x.header // shared: the transport does not change it
	if sent := x.now(); !x.record.Sent.Known() {
		x.record.Sent = record.At(sent)
		x.watch.start(sent)
	}
	x.record.Attempts++
	response, err := x.transport.RoundTrip(request)
	if err != nil {
		if !giveUp(ctx, x.record, x.now()) {
			failTransport(x.record, err)
		}
		return false
	}
	defer func() { _ = response.Body.Close() }() // nothing is left to read
	x.record.HTTPStatus = response.StatusCode
	x.record.RequestID = oneLine(response.Header.Get("X-Request-Id"))
	if response.StatusCode/100 != 2 {
		return x.refused(response)
	}
	if !x.notAStream(response) {
		x.read(ctx, response.Body)
		finishBody(response.Body, cancel)
	}
	return false
}

// afterlife is how long an answer that is over may take to end its HTTP
// message, so that its connection can be used again.
const afterlife = 100 * time.Millisecond

func finishBody(body io.Reader, cancel context.CancelCauseFunc) {
	timer := time.AfterFunc(afterlife, func() { cancel(nil) })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(body, readSize)) // only the connection depends on it
}

// maxErrorBody is how much of an error page is read, in bytes.
const maxErrorBody = 64 << 10

// refused handles a status other than 2xx.
func (x *exchange) refused(response *http.Response) (again bool) {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // half a message is better than none
	badRequest := response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnprocessableEntity
	named := bytes.Contains(body, []byte("stream_options")) || bytes.Contains(body, []byte("include_usage")) ||
		bytes.Contains(body, []byte("continuous_usage_stats"))
	if badRequest && named && x.job.withUsage {
		x.usageRefused.Store(true)
		return true
	}
	fail(x.record, record.HTTPFailure(response.StatusCode), errorText(response, body))
	return false
}

// notAStream handles a successful answer that says that it is something else
// than a stream of events.
func (x *exchange) notAStream(response *http.Response) bool {
	kind := mediaType(response)
	if kind != "text/html" && kind != "application/json" {
		return false
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	var chunk openai.Chunk
	if chunk.Parse(body) == nil && chunk.Failed {
		fail(x.record, record.StreamError, errorText(response, body))
	} else {
		fail(x.record, record.NotSSE, "answered "+kind+" instead of text/event-stream: "+errorText(response, body))
	}
	return true
}
