package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
)

// pipes is a listener whose connections buffer nothing: what the client does not
// read blocks the server at once.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestClientThatStopsReadingFreesItsBlocks keeps the connection open, reads the
// beginning of the answer, or nothing, and no more.
func TestClientThatStopsReadingFreesItsBlocks(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		lines        int // of the answer that the client reads
	}{
		{"stream, nothing read", "true", 0},
		{"stream, the first event read", "true", 12},
		{"whole answer", "false", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			answered, steps := make(chan struct{}), 0
			e, err := engine.New(engine.Config{Blocks: 512, Executor: &script{text: strings.Repeat("x", 4000), prompt: 2, before: func() {
				if steps++; c.stream == "true" && steps > 100 {
					<-answered // so that the request cannot end by itself
				}
			}}})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			l := &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
			handler := New(e, Options{Patience: 20 * time.Millisecond})
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.ServeHTTP(w, r)
				close(answered)
			})}
			var serving sync.WaitGroup
			serving.Go(func() { _ = s.Serve(l) })
			defer serving.Wait()
			defer s.Close() //nolint:errcheck // the test is over
			client, behind := net.Pipe()
			defer client.Close()
			l.accept <- behind
			body := `{"prompt":"x","max_tokens":4000,"ignore_eos":true,"stream":` + c.stream + `}`
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://engine/v1/completions", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Write(client); err != nil {
				t.Fatal(err)
			}
			for lines := bufio.NewReaderSize(io.LimitReader(client, 1<<10), 16); c.lines > 0; c.lines-- {
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-answered: // although the client is still there
			case <-time.After(10 * time.Second):
				t.Fatal("the handler waits for ever")
			}
			for e.Stats().Running+e.Stats().Waiting > 0 {
				runtime.Gosched() // the abort takes effect at the next step
			}
			if s := e.Stats(); s.Usage != 0 || c.stream == "true" && s.Finished[sched.Aborted] != 1 {
				t.Errorf("usage %v; requests by end: %v, want 1 aborted", s.Usage, s.Finished)
			}
		})
	}
}
