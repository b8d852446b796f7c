package wire

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdle: connections are closed when they have been idle for as long as
// servers wait, and not used then.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened, closed atomic.Int64
		tr := New(Options{Now: func() time.Duration { return 0 }, Dial: func(context.Context, string, string) (net.Conn, error) {
			opened.Add(1)
			client, server := net.Pipe()
			go func() {
				echo(server)
				closed.Add(1)
			}()
			return client, nil
		}})
		defer tr.Close()
		pool := tr.Pool("x:1")
		send := func() {
			if _, _, err := post(t.Context(), pool, "x", false); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			after          time.Duration
			opened, closed int64
		}{{0, 1, 0}, {KeepAlive - time.Second, 1, 0}, {KeepAlive - time.Millisecond, 1, 0}, {KeepAlive + time.Second, 2, 1}} {
			time.Sleep(step.after)
			send()
			synctest.Wait()
			if opened.Load() != step.opened || closed.Load() != step.closed {
				t.Errorf("after %v: %d opened, %d closed, want %d and %d", step.after, opened.Load(), closed.Load(), step.opened, step.closed)
			}
		}
		time.Sleep(2 * KeepAlive)
		synctest.Wait()
		if closed.Load() != 2 {
			t.Errorf("%d closed in the end", closed.Load())
		}
	})
}

// TestConnectTimeout: an attempt to connect is bounded, and so is the number of
// attempts at a time.
func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialing atomic.Int64
		tr := New(Options{ConnectTimeout: time.Second, Now: func() time.Duration { return 0 }, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if n := dialing.Add(1); n > maxDials {
				t.Errorf("%d at once", n)
			}
			<-ctx.Done()
			dialing.Add(-1)
			return nil, ctx.Err()
		}})
		defer tr.Close()
		start := time.Now()
		failures := make(chan error)
		for range 2 * maxDials {
			go func() {
				_, _, err := post(t.Context(), tr.Pool("x:1"), "x", false)
				failures <- err
			}()
		}
		for range 2 * maxDials {
			if err := <-failures; err != context.DeadlineExceeded { //nolint:errorlint // itself
				t.Errorf("error %v", err)
			}
		}
		if time.Since(start) != 2*time.Second {
			t.Errorf("two rounds of attempts took %v", time.Since(start))
		}
	})
}
