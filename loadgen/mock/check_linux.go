package mock

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// A watcher keeps streams open and notes when their events come.
type watcher struct {
	server  *Server
	epoll   int
	request []byte
	buf     []byte
	start   time.Time
	until   time.Duration
	streams map[int]*watched
	result  Checked
}

// watched is one stream.
type watched struct {
	sent   time.Duration
	last   time.Duration // when the latest event came
	events int
}

// watchStreams is the client of Check. It owns its thread, as the server does.
func watchStreams(ctx context.Context, s *Server, to *net.TCPAddr, streams int, duration time.Duration) (Checked, error) {
	body := `{"model":` + quoted(s.names()[0]) + `,"prompt":"check","stream":true}`
	w := &watcher{
		server: s, buf: make([]byte, readBuffer), streams: map[int]*watched{}, start: time.Now(), until: duration,
		request: fmt.Appendf(nil, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", s.APIKey, len(body), body),
	}
	done := make(chan error)
	go func() {
		ownThread()
		done <- w.run(ctx, to, streams)
	}()
	err := <-done
	w.result.Streams, w.result.Duration = streams, time.Since(w.start)
	return w.result, err
}

func (w *watcher) now() time.Duration { return time.Since(w.start) }

func (w *watcher) run(ctx context.Context, to *net.TCPAddr, streams int) (err error) {
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("watching streams: %w", err)
	}
	defer func() {
		for fd := range w.streams {
			_ = unix.Close(fd)
		}
		_ = unix.Close(w.epoll)
	}()
	if err := w.connect(to, streams); err != nil {
		return fmt.Errorf("opening %d streams: %w", streams, err)
	}
	events := make([]unix.EpollEvent, 256)
	for len(w.streams) > 0 && ctx.Err() == nil {
		n, err := unix.EpollWait(w.epoll, events, 100) // the timeout is for ctx
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("watching streams: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			if err := w.read(int(e.Fd)); err != nil {
				return fmt.Errorf("watching streams: %w", err)
			}
		}
	}
	return ctx.Err()
}

// connect opens all connections first, and then sends the first requests spread
// over one gap, so that events do not come in bursts.
func (w *watcher) connect(to *net.TCPAddr, streams int) error {
	address := &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}
	var fds []int
	for range streams {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		w.streams[fd] = new(watched)
		if err := unix.Connect(fd, address); err != nil {
			return err
		}
		fds = append(fds, fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return err
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // only exactness is lost without
		if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
			return err
		}
	}
	begin := w.now()
	w.until += begin
	for i, fd := range fds {
		left := begin + w.server.ITL*time.Duration(i)/time.Duration(streams) - w.now()
		if left > 0 {
			spec := unix.NsecToTimespec(int64(left))
			_ = unix.Nanosleep(&spec, nil) // interrupted, it is a little early
		}
		if err := w.send(fd); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) send(fd int) error {
	w.streams[fd].events, w.streams[fd].sent = 0, w.now()
	_, err := unix.Write(fd, w.request)
	return err
}

// tokenMark is in each event with tokens, and in no other. The server writes
// events whole, so no read cuts it.
var tokenMark = []byte(`"finish_reason":null`)

func (w *watcher) read(fd int) error {
	n, err := unix.Read(fd, w.buf)
	at := w.now()
	if err == unix.EAGAIN || err == unix.EINTR {
		return nil
	}
	if err != nil || n == 0 {
		return fmt.Errorf("a stream broke: %w", err)
	}
	s, data := w.streams[fd], w.buf[:n]
	for range bytes.Count(data, tokenMark) {
		step := time.Duration(max(w.server.TokensPerChunk, 1)) * w.server.ITL
		if s.events == 0 {
			w.result.TTFT.Add(at - s.sent - w.server.TTFT)
		} else {
			w.result.Gap.Add((at - s.last - step).Abs())
		}
		s.events++
		s.last = at
		w.result.Events++
	}
	if !bytes.HasSuffix(data, []byte(lastChunk)) {
		return nil
	}
	w.result.Answers++
	if at < w.until {
		return w.send(fd)
	}
	delete(w.streams, fd)
	return unix.Close(fd)
}
