package gateway

import (
	"context"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

// The idle time-out runs from the model's last event, to the instant, however many
// came before it, and a stopped one cancels nothing.
func TestIdleTimeoutRunsFromTheLastEvent(t *testing.T) {
	const idle = 10 * time.Second
	for _, test := range []struct {
		name   string
		after  func(*timers)
		want   error
		within time.Duration // after the last event
	}{
		{"silence", func(*timers) {}, cutIdle, idle},
		{"the answer was complete", func(r *timers) { r.linger(lingering) }, cutIdle, lingering},
		{"the attempt has ended", func(r *timers) { r.stop() }, nil, 2 * idle},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				r := newTimers(cancel, config.Timeouts{FirstToken: config.Duration(time.Minute), Idle: config.Duration(idle)}, true)
				defer r.stop()
				for range 5 {
					r.progress(true)
					time.Sleep(idle - time.Second)
				}
				r.progress(false)
				test.after(r)
				time.Sleep(test.within - time.Nanosecond)
				if synctest.Wait(); ctx.Err() != nil {
					t.Fatalf("%v before its time", context.Cause(ctx))
				}
				time.Sleep(time.Nanosecond)
				if synctest.Wait(); context.Cause(ctx) != test.want {
					t.Errorf("%v, want %v", context.Cause(ctx), test.want)
				}
			})
		})
	}
}

// A request whose body is announced as long takes no memory for what does not come.
func TestReadAll(t *testing.T) {
	for _, test := range []struct {
		name   string
		length int64
	}{{"known", 5}, {"unknown", -1}, {"announced as more than is believed", believedLength + 1}, {"announced as less", 2}} {
		t.Run(test.name, func(t *testing.T) {
			body, err := readAll(iotest.OneByteReader(strings.NewReader("hello")), test.length, 1<<30)
			if string(body) != "hello" || err != nil {
				t.Errorf("%q, error %v", body, err)
			}
			if cap(body) > believedLength {
				t.Errorf("%d bytes of memory", cap(body))
			}
		})
	}
}
