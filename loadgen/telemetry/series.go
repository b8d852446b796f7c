package telemetry

import (
	"context"
	"time"
)

// maxSamples bounds a series: at one sample a second that is two hours. A longer
// run keeps every second one, then every fourth, and so on.
const maxSamples = 7200

// series is samples in order of time, equally far apart.
type series[T any] struct {
	all    []T
	stride int // of the ticks that make a sample
}

// add appends a sample.
func (s *series[T]) add(v T) {
	if len(s.all) >= maxSamples {
		half := s.all[:0]
		for i := 0; i < len(s.all); i += 2 {
			half = append(half, s.all[i])
		}
		clear(s.all[len(half):])
		s.all = half
		s.stride = max(s.stride, 1) * 2
	}
	s.all = append(s.all, v)
}

// due reports whether the n-th tick makes a sample.
func (s *series[T]) due(n int) bool { return n%max(s.stride, 1) == 0 }

// edges tell when something is read beside the ticks: when the window begins
// and ends, so that counters are those of the window, and at the end.
type edges struct {
	warmup time.Duration
	now    func() time.Duration
	mark   <-chan struct{} // the window ends
	ending <-chan struct{}
}

func (e edges) with(mark <-chan struct{}) edges {
	e.mark = mark
	return e
}

// run calls read at the start, at each tick that is due, and at the edges,
// until the end or until read says that there is nothing more to read.
func (e edges) run(ctx context.Context, interval time.Duration, due func(n int) bool, read func() (more bool)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	begin := time.NewTimer(max(e.warmup-e.now(), 0))
	defer begin.Stop()
	if e.warmup <= e.now() {
		begin.Stop() // the first reading is that of the window's beginning
	}
	more := read()
	for n := 1; more; {
		select {
		case <-ticker.C:
			if due(n) {
				more = read()
			}
			n++
		case <-begin.C:
			more = read()
		case <-e.mark:
			more = read()
		case <-e.ending:
			read()
			return
		case <-ctx.Done():
			return
		}
	}
}
