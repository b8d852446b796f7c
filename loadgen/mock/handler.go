package mock

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// maxBody is the longest body that a request may have, in bytes.
const maxBody = 256 << 20

// ServeHTTP implements http.Handler. It serves tests, other protocols and other
// systems; Exact is nearer to its times. Its tokens come by Go's own timers, which
// under testing/synctest are exact.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	request := Request{Path: r.URL.Path, Header: r.Header.Clone()}
	var err error
	if request.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		return // the client left, or sent what nobody sends
	}
	a := s.answer(r.Method, &request)
	p := player{w: w, r: r, begin: begin, a: a}
	if !a.generates {
		p.play(nil)
		return
	}
	waited, ok := s.place(r)
	if !ok {
		return
	}
	if waited { // the answer's times count from now on
		p.begin = time.Now()
	}
	f := s.start(a, begin.Sub(p.begin))
	left := true
	defer func() { f.end(time.Since(p.begin), left) }() // also when the connection is broken on purpose
	left = !p.play(f)
	if a.end == Abort && p.conn == nil {
		panic(http.ErrAbortHandler)
	}
}

// place waits for a place in the batch where there is none; ok is false when the
// client left first.
func (s *Server) place(r *http.Request) (waited, ok bool) {
	granted := make(chan struct{})
	t := s.enter(func() { close(granted) })
	if t == nil {
		return false, true
	}
	select {
	case <-granted:
		return true, true
	case <-r.Context().Done():
		if !s.giveUp(t) {
			s.leave() // it got its place at the same moment
		}
		return true, false
	}
}

// player sends one answer through a ResponseWriter.
type player struct {
	w     http.ResponseWriter
	r     *http.Request
	begin time.Time
	a     *answer
	conn  net.Conn // when the framing is the answer's own
}

// play sends the answer, counting its writes in f where it is not nil. ok is
// false when the client left before the end.
func (p *player) play(f *flight) (ok bool) {
	if p.a.raw || p.a.end == Reset || p.a.end == Drop {
		if !p.takeOver() {
			return false
		}
		defer func() { _ = p.conn.Close() }()
	}
	if !p.a.raw {
		p.head()
	}
	for i := 0; ; i++ {
		piece, more := p.a.body.piece(i)
		if !more {
			break
		}
		due := p.begin.Add(piece.at)
		if !wait(p.r, due) || !p.write(piece.data) {
			return false
		}
		if f != nil {
			f.sent(&piece, max(piece.at, 0), time.Since(p.begin), false)
		}
	}
	p.end()
	return true
}

func (p *player) head() {
	if p.conn != nil {
		_, _ = p.conn.Write(appendHead(nil, p.a, false)) // a client that left shows at the first piece
		return
	}
	h := p.w.Header()
	for name, values := range p.a.header {
		h[name] = values
	}
	h.Set("Content-Type", p.a.kind)
	if p.a.kind == eventStream && h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache")
	}
	if whole, ok := p.a.body.(one); ok && p.a.whole {
		h.Set("Content-Length", strconv.Itoa(len(whole.data)))
	}
	if p.a.status != http.StatusOK {
		p.w.WriteHeader(p.a.status)
	}
}

func (p *player) write(data []byte) (ok bool) {
	if p.conn != nil {
		if !p.a.raw {
			data = appendChunk(nil, data)
		}
		_, err := p.conn.Write(data)
		return err == nil
	}
	if _, err := p.w.Write(data); err != nil {
		return false
	}
	return http.NewResponseController(p.w).Flush() == nil
}

// end ends the message as the answer wants it.
func (p *player) end() {
	switch p.a.end {
	case Hang:
		if p.conn == nil {
			_ = http.NewResponseController(p.w).Flush() // a header without any piece
			<-p.r.Context().Done()
			return
		}
		var b [1]byte
		_, _ = p.conn.Read(b[:]) // until the client leaves
	case Reset:
		if tcp, ok := p.conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // makes Close a reset
		}
	case Drop:
		if !p.a.raw {
			_, _ = io.WriteString(p.conn, lastChunk) // the connection ends either way
		}
	}
}

// takeOver takes the connection from the HTTP server. HTTP/2 has none to give:
// such answers are refused there.
func (p *player) takeOver() (ok bool) {
	conn, _, err := http.NewResponseController(p.w).Hijack()
	if err != nil {
		http.Error(p.w, `{"error":{"message":"this fault needs HTTP/1.1"}}`, http.StatusHTTPVersionNotSupported)
		return false
	}
	p.conn = conn
	return true
}

// wait returns at the time given; ok is false when the client left first.
func wait(r *http.Request, until time.Time) (ok bool) {
	left := time.Until(until)
	if left <= 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// servePlainly answers what comes in at l with net/http until ctx ends.
func (s *Server) servePlainly(ctx context.Context, l net.Listener) error {
	s.forget = true
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		_ = server.Close() // what still runs is cut
	})
	err := server.Serve(l)
	if stop() {
		return err // it ended by itself
	}
	<-stopped
	return nil
}
