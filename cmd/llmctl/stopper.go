package main

import (
	"context"
	"os"
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

// watch stops on the first interrupt, which first hears of, and aborts on the
// second.
func (s *stopper) watch(ctx context.Context, interrupts <-chan os.Signal, first func()) {
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
		first()
	}
}
