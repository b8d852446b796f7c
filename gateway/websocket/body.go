package websocket

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
)

// body is the request's body: the first message. Nothing is read before the
// handler asks for it, and never more than it asks for.
type body struct {
	conn    *conn
	message io.Reader
	err     error
}

// IsMessage tells whether a request's body is the message of a connection.
func IsMessage(r *http.Request) bool {
	_, ok := r.Body.(*body)
	return ok
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.message == nil {
		if _, b.message, err = b.conn.ws.Reader(context.Background()); err != nil {
			return 0, b.broke(err)
		}
	}
	n, err = b.message.Read(p)
	switch {
	case err == io.EOF: //nolint:errorlint // one that is wrapped is the end of the connection
		b.err = err
		b.conn.watch()
	case err != nil:
		err = b.broke(err)
	}
	return n, err
}

// broke ends the request when the client is gone, and not merely slow.
func (b *body) broke(err error) error {
	b.conn.broken.Store(violates(err))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		b.conn.cancel()
	}
	b.err = err
	return err
}

// Close implements io.Closer.
func (b *body) Close() error { return nil }

// watch notices from here on that the client closes the connection, or sends what
// nobody asked for. Reading also answers its pings. It ends with the connection.
func (c *conn) watch() {
	c.tasks.Go(func() {
		_, _, err := c.ws.Reader(context.Background())
		c.interrupted.Store(err == nil)
		c.cancel()
	})
}

// violates tells frames that RFC 6455 forbids, and after which the library sends no
// close frame: one without a mask (section 5.1), and one whose length has its highest
// bit set (section 5.2). It has no other name for them than their texts.
func violates(err error) bool {
	return strings.Contains(err.Error(), "unmasked frame") || strings.Contains(err.Error(), "negative payload length")
}
