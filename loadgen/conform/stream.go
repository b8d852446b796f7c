package conform

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// streamed is an answer that was asked for as a stream, as far as it came.
type streamed struct {
	answer
	events  []event
	parts   [][]byte      // the chunks of the body
	chunked bool          // it came in chunks
	closed  bool          // the body came to its end in an orderly way
	headed  time.Duration // when its header came, since the request
	ended   time.Duration // when its end came, or what broke it, since the request
	waited  bool          // [DONE] came, and then no end for Options.Linger
	tooLong bool          // an event was beyond all measure
	err     error         // what broke it
}

// event is one event of a stream.
type event struct {
	name   string
	data   string
	at     time.Duration // since the request
	output bool          // it carries generated output in any channel
	done   bool          // it is [DONE]
	bad    bool          // its data is no JSON object
	error  string        // what it says went wrong
}

// get is a value of the event's JSON.
func (e *event) get(path string) gjson.Result { return gjson.Get(e.data, path) }

// streamed sends a chat that asks for a stream and reads all of it. What breaks
// the stream is in its err; the error returned is for a request without answer.
func (p *probe) streamed(ctx context.Context, body string) (*streamed, error) {
	return p.readStream(ctx, request{method: http.MethodPost, path: chatPath, body: []byte(body)}, nil)
}

// readStream reads a stream until its end, or until enough says so.
func (p *probe) readStream(ctx context.Context, r request, enough func(*streamed) bool) (*streamed, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// On a connection of its own, a stream can not suffer from how the one before
	// it ended.
	p.transport.CloseIdleConnections()
	raw := new(wire)
	begin := time.Now()
	response, a, err := p.open(tapped(ctx, raw), r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	s := &streamed{answer: *a, headed: time.Since(begin)}
	d := openai.Decoder{Max: maxBody}
	lingering := time.AfterFunc(time.Hour, cancel)
	defer lingering.Stop()
	buf := make([]byte, 64<<10)
	for {
		n, err := response.Body.Read(buf)
		at := time.Since(begin)
		s.body = append(s.body, buf[:n]...)
		d.Push(append([]byte(nil), buf[:n]...))
		if s.take(&d, at) {
			lingering.Reset(p.o.Linger)
		}
		s.ended = at
		if err == nil && len(s.body) > maxBody {
			err = fmt.Errorf("it is longer than %d MiB", maxBody>>20)
		}
		if err != nil {
			s.finish(ctx, err, begin)
			break
		}
		if enough != nil && enough(s) {
			break
		}
	}
	d.End()
	s.take(&d, s.ended)
	s.tooLong = d.Err() != nil
	s.parts, s.chunked = raw.parts()
	s.took = time.Since(begin)
	p.watch(r.path, &s.answer)
	return s, nil
}

// take takes in the events that are complete; it reports whether [DONE] is
// among them.
func (s *streamed) take(d *openai.Decoder, at time.Duration) (done bool) {
	for e, ok := d.Next(); ok; e, ok = d.Next() {
		var c openai.Chunk
		bad := c.Parse(e.Data) != nil
		one := event{name: string(e.Name), data: string(e.Data), at: at, done: c.Done, bad: bad, output: !bad && c.Output()}
		if c.Failed || one.name == "error" {
			one.error = c.ErrorMessage()
			if one.error == "" {
				one.error = one.data
			}
		}
		s.events = append(s.events, one)
		done = done || c.Done
	}
	return done
}

func (s *streamed) finish(ctx context.Context, err error, begin time.Time) {
	switch {
	case err == io.EOF:
		s.closed = true
	case ctx.Err() == context.Canceled && s.isDone():
		s.waited = true
	default:
		s.err = plain(ctx, err, begin)
	}
}

func (s *streamed) isDone() bool {
	for i := range s.events {
		if s.events[i].done {
			return true
		}
	}
	return false
}

// broken says why a stream ended before its time in a way that stream/no-error
// tells, nil when it did not. What is missing then is that case's matter.
func (s *streamed) broken() error {
	if s.failure() != "" || s.err != nil {
		return skipped("the stream broke (stream/no-error)")
	}
	return nil
}

// complete skips a case when a stream did not come to its end.
func (s *streamed) complete() error {
	if err := s.broken(); err != nil {
		return err
	}
	if !s.isDone() && !s.finished() {
		return skipped("the stream did not come to its end (stream/finish-reason)")
	}
	return nil
}

// finished reports whether some chunk has a finish_reason.
func (s *streamed) finished() bool {
	for e := range s.chunks {
		if finishing(e) {
			return true
		}
	}
	return false
}

// outputs is how many events carry output.
func (s *streamed) outputs() (n int) {
	for i := range s.events {
		if s.events[i].output {
			n++
		}
	}
	return n
}

// failure is the first error that the stream tells; empty when it tells none.
func (s *streamed) failure() string {
	for i := range s.events {
		if s.events[i].error != "" {
			return s.events[i].error
		}
	}
	return ""
}

// chunks are the events that are JSON objects.
func (s *streamed) chunks(yield func(*event) bool) {
	for i := range s.events {
		if e := &s.events[i]; !e.done && !e.bad && !yield(e) {
			return
		}
	}
}

// text is the visible text of the first choice.
func (s *streamed) text() string {
	var b strings.Builder
	for e := range s.chunks {
		b.WriteString(e.get("choices.0.delta.content").String())
	}
	return b.String()
}

// usage is the last usage that the stream tells.
func (s *streamed) usage() (last gjson.Result) {
	for e := range s.chunks {
		if u := e.get("usage"); u.IsObject() {
			last = u
		}
	}
	return last
}
