package server

import (
	"io"
	"net/http"
	"time"
)

// Many clients, Python's urllib among them, read no answer before they have sent all
// of their body, and lose it when the connection is closed while they send. So what is
// left of a body is read and dropped behind an answer that did not need it: up to
// these, more than which nobody sends who would read the answer.
const (
	maxUnread     = 512 << 20
	maxUnreadTime = 10 * time.Second
)

// unread is a body that knows whether something is left of it.
type unread struct {
	io.ReadCloser
	ended bool
}

func (u *unread) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	u.ended = u.ended || err != nil
	return n, err
}

// drain reads what is left of a body that was answered early. The answer goes first,
// for clients that look for it.
func (u *unread) drain(w http.ResponseWriter, r *http.Request) {
	if u.ended || r.ContentLength == 0 || r.Header.Get("Expect") != "" { // such a client has not begun to send
		return
	}
	control := http.NewResponseController(w)
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(maxUnreadTime)) != nil {
		return // not a connection, as in tests
	}
	_, _ = io.CopyN(io.Discard, u, maxUnread) // it ends for whatever reason
}
