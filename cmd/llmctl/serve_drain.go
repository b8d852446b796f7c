package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/llmctl/llmctl/engine"
)

// visitors counts the requests that are being answered, questions after health and
// metrics left out.
type visitors struct {
	mu   sync.Mutex
	here int
	none chan struct{} // closed when none is here any more; nil while nobody asks
}

func (v *visitors) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			v.come()
			defer v.leave()
		}
		next.ServeHTTP(w, r)
	})
}

func (v *visitors) come() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.here++
}

func (v *visitors) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.here--
	v.tell()
}

func (v *visitors) tell() {
	if v.here == 0 && v.none != nil {
		close(v.none)
		v.none = nil
	}
}

func (v *visitors) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.here
}

// gone is closed when nobody is here. To be called once.
func (v *visitors) gone() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	none := make(chan struct{})
	v.none = none
	v.tell()
	return none
}

// A drain is how a server ends: it refuses what comes, /health says so with 503, and
// what runs may end within grace, or until the user asks again. What is cut then hears
// why, as an error or as an event of its stream.
type drain struct {
	engine     *engine.Engine
	visitors   *visitors
	grace      time.Duration
	interrupts <-chan os.Signal
	errs       io.Writer
}

// serve answers until the user asks for the end or the listener breaks. Answers that
// were cut make it end with the exit code of interrupted commands.
func (d *drain) serve(l *listener) error {
	broken := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if err := l.serve(); !errors.Is(err, http.ErrServerClosed) {
			broken <- fmt.Errorf("serving on %s: %w", l.Addr(), err)
		}
	})
	var failed error
	select {
	case <-d.interrupts:
	case failed = <-broken:
	}
	cut := d.wait()
	d.engine.Close() // what still runs is told so
	l.closeWithin(lastWords)
	switch {
	case failed != nil:
		return failed
	case cut > 0:
		fmt.Fprintf(d.errs, "stopped: %s\n", counted(cut, "request")+" cut short")
		return silent(exitInterrupted)
	}
	fmt.Fprintln(d.errs, "stopped")
	return nil
}

// wait lets what runs end, and returns how much did not.
func (d *drain) wait() (cut int) {
	d.engine.Drain()
	if n := d.visitors.count(); n > 0 {
		fmt.Fprintf(d.errs, "stopping: %s may end within %s (--grace); Ctrl-C again to stop at once\n", counted(n, "running request"), d.grace)
	}
	patience := time.NewTimer(d.grace)
	defer patience.Stop()
	select {
	case <-d.visitors.gone():
	case <-patience.C:
	case <-d.interrupts:
	}
	return d.visitors.count()
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
