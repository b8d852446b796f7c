package mock

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ServeExact answers what comes in at l until ctx ends, and closes l. One thread
// does everything: it sleeps until the next write is due or a request comes, and
// writes straight to the sockets, so that nothing stands between the clock and
// the wire. Its sleeps are the kernel's high-resolution ones: those of Go's own
// timers end 0.5 to 1 ms late on machines with few cores.
//
// A listener that is no TCP socket is served by net/http.
func (s *Server) ServeExact(ctx context.Context, l net.Listener) error {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return s.servePlainly(ctx, l)
	}
	s.forget = true
	loop, err := newLoop(s, tcp)
	if err != nil {
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	}
	stop := context.AfterFunc(ctx, func() { loop.post(func() { loop.stopped = true }) })
	defer stop()
	ended := make(chan error)
	go func() { // a goroutine of its own, because its thread is given up
		ownThread()
		ended <- loop.run()
	}()
	err = <-ended
	loop.close()
	return err
}

// A loop is the thread that serves.
type loop struct {
	server  *Server
	start   time.Time
	epoll   int
	wake    int // an eventfd
	listen  int
	paused  bool // nothing is accepted, for want of file descriptors
	stopped bool

	conns   map[int]*conn
	due     dueHeap
	buf     []byte // what a read fills
	scratch []byte // what a write is put together in

	work  sync.WaitGroup
	mu    sync.Mutex
	inbox []func() // what other goroutines want done here
}

const readBuffer = 64 << 10

func newLoop(s *Server, l *net.TCPListener) (*loop, error) {
	lp := &loop{server: s, start: time.Now(), epoll: -1, wake: -1, listen: -1, conns: map[int]*conn{}, buf: make([]byte, readBuffer)}
	file, err := l.File()
	if err != nil {
		return nil, err
	}
	_ = l.Close()                             // the copy goes on listening
	lp.listen, err = unix.Dup(int(file.Fd())) // the file would close its own
	_ = file.Close()
	if err == nil {
		unix.CloseOnExec(lp.listen)
		err = unix.SetNonblock(lp.listen, true)
	}
	if err == nil {
		lp.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	}
	if err == nil {
		lp.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	for _, fd := range []int{lp.listen, lp.wake} {
		if err == nil {
			err = lp.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN)
		}
	}
	if err != nil {
		lp.close()
		return nil, err
	}
	return lp, nil
}

func (l *loop) now() time.Duration { return time.Since(l.start) }

// post has f run by the loop's thread.
func (l *loop) post(f func()) {
	l.mu.Lock()
	l.inbox = append(l.inbox, f)
	l.mu.Unlock()
	_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // a full eventfd is awake already
}

func (l *loop) watch(op, fd int, events uint32) error {
	return unix.EpollCtl(l.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

// burst is how many writes go out before new requests get a look.
const burst = 16

func (l *loop) run() error {
	events := make([]unix.EpollEvent, 256)
	for !l.stopped {
		now := l.now()
		for range burst {
			if len(l.due) == 0 || l.due[0].dueAt > now {
				break
			}
			now = l.fire(l.due[0])
		}
		ready, err := l.sleep()
		if err != nil {
			return fmt.Errorf("waiting for the next write: %w", err)
		}
		if !ready {
			continue
		}
		n, err := unix.EpollWait(l.epoll, events, 0)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("asking for requests: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			l.handle(int(e.Fd), e.Events)
		}
	}
	return nil
}

// sleep waits until the next write is due or something comes in. ready is false
// when surely nothing came in.
func (l *loop) sleep() (ready bool, err error) {
	var timeout *unix.Timespec
	if len(l.due) > 0 {
		left := l.due[0].dueAt - l.now()
		if left <= 0 {
			return true, nil
		}
		spec := unix.NsecToTimespec(int64(left))
		timeout = &spec
	}
	n, err := unix.Ppoll([]unix.PollFd{{Fd: int32(l.epoll), Events: unix.POLLIN}}, timeout, nil)
	if err == unix.EINTR {
		return true, nil
	}
	return n > 0, err
}

func (l *loop) handle(fd int, events uint32) {
	switch fd {
	case l.wake:
		l.drainInbox()
	case l.listen:
		l.accept()
	default:
		c := l.conns[fd]
		if c != nil && events&unix.EPOLLOUT != 0 {
			l.flush(c)
		}
		if c != nil && !c.closed && events&^unix.EPOLLOUT != 0 {
			l.read(c)
		}
	}
}

func (l *loop) drainInbox() {
	var b [8]byte
	_, _ = unix.Read(l.wake, b[:]) // resets it
	l.mu.Lock()
	inbox := l.inbox
	l.inbox = nil
	l.mu.Unlock()
	for _, f := range inbox {
		f()
	}
}

func (l *loop) accept() {
	for {
		fd, _, err := unix.Accept4(l.listen, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == unix.EINTR || err == unix.ECONNABORTED:
			continue
		case err != nil:
			// Short of descriptors, clients wait in the backlog until one is free.
			l.paused = err != unix.EAGAIN && l.watch(unix.EPOLL_CTL_DEL, l.listen, 0) == nil
			return
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // a socket without it is only less exact
		if err := l.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN|unix.EPOLLRDHUP); err != nil {
			_ = unix.Close(fd)
			continue
		}
		l.conns[fd] = &conn{fd: fd, place: -1}
	}
}

// close ends what is still there.
func (l *loop) close() {
	for _, c := range l.conns {
		l.drop(c)
	}
	l.work.Wait()
	for _, fd := range []int{l.listen, l.wake, l.epoll} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}
