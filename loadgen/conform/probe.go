package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
)

// probe is one run: what it knows of the endpoint, and answers that several
// cases look at, so that they cost one request. Cases run one after another;
// where one sends requests at once, they only use transport, sent and leaks.
type probe struct {
	o         Options
	public    string // the endpoint as it may be shown
	redact    func(string) string
	transport *http.Transport
	sent      atomic.Int64
	started   time.Time

	models []client.Model
	model  string
	window int // tokens; 0 is unknown
	server string

	plainWhole  memo[*answer]
	plainStream memo[*streamed]
	usageStream memo[*streamed]
	wideStream  memo[*streamed]
	arrivals    arrivals
	extended    memo[bool]
	stopped     memo[*answer]    // what the limited key's limit answered
	replayed    memo[[2]*answer] // two answers under one Idempotency-Key

	mu    sync.Mutex
	leaks []string // where an answer repeated a key
}

// memo keeps what a request brought, be it an error.
type memo[T any] struct {
	done  bool
	value T
	err   error
}

func (m *memo[T]) get(fetch func() (T, error)) (T, error) {
	if !m.done {
		m.value, m.err = fetch()
		m.done = true
	}
	return m.value, m.err
}

// getAnswered is get that forgets errors, so that the next one asks again.
func (m *memo[T]) getAnswered(fetch func() (T, error)) (T, error) {
	if !m.done {
		m.value, m.err = fetch()
		m.done = m.err == nil
	}
	return m.value, m.err
}

func newProbe(o Options) (*probe, error) {
	public := client.PublicEndpoint(o.Endpoint)
	if public == "" {
		return nil, fmt.Errorf("endpoint %q is no URL, expected one like http://localhost:8000/v1", client.PublicURL(o.Endpoint))
	}
	return &probe{
		o: o, public: public, started: time.Now(),
		redact:    client.Redactor(o.Endpoint, o.Key, o.SecondKey, o.LimitedKey),
		transport: newTransport(),
	}, nil
}

func (p *probe) close() { p.transport.CloseIdleConnections() }

// discover finds out what the endpoint serves. It is reachable when anything
// answers; whether the answer is right is for the cases.
func (p *probe) discover(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, p.o.CaseTimeout)
	defer cancel()
	a, err := p.ask(limited, request{path: "/v1/models"})
	if a == nil {
		return fmt.Errorf("%w: %s: %s", ErrUnreachable, p.public, p.redact(err.Error()))
	}
	p.server = p.redact(clip(a.header.Get("Server"), 80))
	if err == nil {
		for _, m := range a.get("data").Array() {
			p.models = append(p.models, client.Model{ID: m.Get("id").String(), MaxModelLen: int(m.Get("max_model_len").Int())})
		}
	}
	if p.model = p.o.Model; p.model == "" {
		if p.model, err = client.OnlyModel(p.models); err != nil {
			if a.status != http.StatusOK {
				err = fmt.Errorf("GET /v1/models was answered %s, so a model must be named", p.redact(a.said()))
			}
			return fmt.Errorf("%w: name one with --model", err)
		}
	}
	if p.window = p.o.Context; p.window == 0 {
		if i := slices.IndexFunc(p.models, func(m client.Model) bool { return m.ID == p.model }); i >= 0 {
			p.window = p.models[i].MaxModelLen
		}
	}
	return nil
}

// keys are the credentials of the run.
func (p *probe) keys() []string {
	const tooShort = 5 // placeholders such as "x" are in any text
	return slices.DeleteFunc([]string{p.o.Key, p.o.SecondKey, p.o.LimitedKey}, func(k string) bool { return len(k) < tooShort })
}

// watch looks for keys in an answer.
func (p *probe) watch(path string, a *answer) {
	for _, key := range p.keys() {
		found := bytes.Contains(a.body, []byte(key))
		for _, values := range a.header {
			found = found || strings.Contains(strings.Join(values, "\n"), key)
		}
		if found {
			p.mu.Lock()
			p.leaks = append(p.leaks, fmt.Sprintf("%s, status %d", path, a.status))
			p.mu.Unlock()
		}
	}
}

// answersWhole skips a case when plain answers do not work at all.
func (p *probe) answersWhole(ctx context.Context) error {
	if _, err := p.whole(ctx); err != nil {
		return skipped("no whole answer to look at (whole/answered)")
	}
	return nil
}

// answersStreams skips a case when streams do not work at all.
func (p *probe) answersStreams(ctx context.Context) error {
	if _, err := p.stream(ctx); err != nil {
		return skipped("no stream to look at (stream/answered)")
	}
	return nil
}

// whole is the answer to the plain request.
func (p *probe) whole(ctx context.Context) (*answer, error) {
	return p.plainWhole.get(func() (*answer, error) {
		a, err := p.post(ctx, chatPath, p.chat(nil))
		if err != nil {
			return nil, err
		}
		if a.status != http.StatusOK {
			return nil, wrong("it was answered %s", a.said())
		}
		if !a.get("choices.0").Exists() {
			return nil, wrong("the answer has no choices: %s", a.said())
		}
		return a, nil
	})
}

// stream is the stream for the plain request.
func (p *probe) stream(ctx context.Context) (*streamed, error) {
	return p.plainStream.get(func() (*streamed, error) { return p.working(ctx, p.chat(members{"stream": true})) })
}

// streamWithUsage is the stream for the plain request that asks for usage.
func (p *probe) streamWithUsage(ctx context.Context) (*streamed, error) {
	return p.usageStream.get(func() (*streamed, error) {
		return p.working(ctx, p.chat(members{"stream": true, "stream_options": members{"include_usage": true}}))
	})
}

// wide is the stream for a request that invites characters of several bytes.
func (p *probe) wide(ctx context.Context) (*streamed, error) {
	return p.wideStream.get(func() (*streamed, error) {
		return p.working(ctx, p.chat(members{"stream": true, "messages": user("Repeat exactly: é漢🙂 é漢🙂 é漢🙂 é漢🙂")}))
	})
}

// extends reports whether the server takes members that vLLM adds to the API. A
// request that got no answer does not tell, so the next case asks again.
func (p *probe) extends(ctx context.Context) (bool, error) {
	return p.extended.getAnswered(func() (bool, error) {
		a, err := p.post(ctx, chatPath, p.chat(members{"max_tokens": 1, "ignore_eos": true}))
		if err != nil {
			return false, err
		}
		return a.status == http.StatusOK, nil
	})
}

// working is a stream that brought output.
func (p *probe) working(ctx context.Context, body string) (*streamed, error) {
	s, err := p.streamed(ctx, body)
	switch {
	case err != nil:
		return nil, err
	case s.status != http.StatusOK:
		return nil, wrong("it was answered %s", s.said())
	case s.outputs() > 0:
		return s, nil
	case s.failure() != "":
		return nil, wrong("an error came instead of output: %q", clip(s.failure(), 120))
	case s.err != nil:
		return nil, fmt.Errorf("no output came: %w", s.err)
	}
	return nil, errors.New("no output came")
}
