package wire

import (
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// batch is how many sockets one call of epoll_wait reports at most.
const batch = 256

// loop reads the sockets of a transport. One goroutine waits in epoll_wait and
// reads what is ready into one buffer: no stream has a buffer or a wake-up of
// its own, which is what makes a thousand of them cheap.
type loop struct {
	epoll, wake int // file descriptors
	now         func() time.Duration
	exited      chan struct{}

	mu    sync.Mutex
	links map[int32]*polled // by file descriptor
}

// startLoop returns a running loop. The error is that of the system, which may
// have no file descriptor left.
func startLoop(now func() time.Duration) (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epoll)
		return nil, err
	}
	l := &loop{epoll: epoll, wake: wake, now: now, exited: make(chan struct{}), links: map[int32]*polled{}}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wake)}); err != nil {
		l.release()
		return nil, err
	}
	go l.run()
	return l, nil
}

// stop ends the loop and waits for it.
func (l *loop) stop() {
	_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // an eventfd takes it always
	<-l.exited
	l.release()
}

func (l *loop) release() {
	_ = unix.Close(l.wake)
	_ = unix.Close(l.epoll)
}

// run waits for sockets and reads them. As long as there is something to read
// it does not sleep, so that it keeps its processor.
func (l *loop) run() {
	defer close(l.exited)
	var (
		events [batch]unix.EpollEvent
		links  [batch]*polled
		busy   []*polled // with more to read; they come after those that have waited
		buffer = make([]byte, ReadSize)
		sleep  = -1 // milliseconds; −1 is until something happens
	)
	for {
		n, err := unix.EpollWait(l.epoll, events[:], sleep)
		if err != nil && err != unix.EINTR {
			return // the epoll instance is gone: a bug that the tests would show
		}
		n = max(n, 0)
		if !l.find(events[:n], links[:n]) {
			return
		}
		waiting := len(busy)
		for i, c := range links[:n] {
			if c == nil {
				continue
			}
			queued := c.left != 0
			c.left |= events[i].Events
			if more := c.ready(c.left, buffer); !queued && more {
				busy = append(busy, c)
			} else if !queued {
				c.left = 0
			}
			links[i] = nil
		}
		turns := 0
		busy = slices.DeleteFunc(busy, func(c *polled) bool {
			if turns++; turns > waiting || c.ready(c.left, buffer) {
				return false
			}
			c.left = 0
			return true
		})
		if sleep = 0; n == 0 && len(busy) == 0 {
			sleep = -1
		}
	}
}

// find looks up whose sockets are ready; ok is false when the loop has been
// told to stop. A link that was closed in the meantime is nil. When its number
// is already that of another one, that one reads in vain.
func (l *loop) find(events []unix.EpollEvent, links []*polled) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range events {
		if events[i].Fd == int32(l.wake) {
			return false
		}
		links[i] = l.links[events[i].Fd]
	}
	return true
}

// add begins to watch a link. Events come when something changes (EPOLLET), so
// that a stream costs one read and no search per event.
func (l *loop) add(c *polled) error {
	l.mu.Lock()
	l.links[int32(c.fd)] = c
	l.mu.Unlock()
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(c.fd)}
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, c.fd, &event)
}

// remove ends the watch of a link, before its file descriptor is closed.
func (l *loop) remove(c *polled) {
	l.mu.Lock()
	delete(l.links, int32(c.fd))
	l.mu.Unlock()
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.fd, nil) // closing it does the same
}

// link makes a link of a connection: one that the loop reads when it is a TCP
// socket, else one that blocks.
func (t *Transport) link(conn net.Conn) link {
	if tcp, ok := conn.(*net.TCPConn); ok {
		if l := t.theLoop(); l != nil {
			if c, err := newPolled(l, tcp); err == nil {
				return c
			}
		}
	}
	return &blocking{conn, t.now}
}

// theLoop is the loop of the transport, started with its first socket; nil when
// it can not be.
func (t *Transport) theLoop() *loop {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.tried {
		t.tried = true
		t.loop, _ = startLoop(t.now) // without it, requests read by themselves
	}
	return t.loop
}
