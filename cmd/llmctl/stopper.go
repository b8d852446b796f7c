package main

import (
	"context"
	"fmt"
	"sync"
)

// stopper turns the user's wish to end into the load generator's terms: stop
// ends sending, abort ends everything.
type stopper struct {
	once    sync.Once
	stopped chan struct{}
	abort   func()
}

func (s *stopper) stop() { s.once.Do(func() { close(s.stopped) }) }

func (s *stopper) used() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}

// cancels returns a context that ends, too, when the user stops. release frees what
// it takes, and must be called.
func (s *stopper) cancels(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.stopped:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watch.Wait()
	}
}

// watchInterrupts stops on the first interrupt and aborts on the second.
func (b *bench) watchInterrupts(ctx context.Context, s *stopper) {
	interrupts := b.io.Interrupts()
	for {
		select {
		case <-ctx.Done():
			return
		case <-interrupts:
		}
		if s.used() {
			s.abort()
			return
		}
		s.stop()
		if b.progress() == "plain" {
			fmt.Fprintf(b.io.Err, "stopping: what is in flight has %s to end; Ctrl-C again ends at once\n", b.flags.drain)
		}
	}
}
