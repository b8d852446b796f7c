package conform

import (
	"sync"
	"time"
)

// pulse notes when this process stood still: what came meanwhile was read late,
// and together, through no fault of the endpoint.
type pulse struct {
	wg   sync.WaitGroup
	stop chan struct{}
	gaps stalls
}

// A beat comes every beatEvery; a gap of at least stallFrom is a stall. Timers of
// an idle machine are late by less than that.
const (
	beatEvery = 2 * time.Millisecond
	stallFrom = 8 * time.Millisecond
)

// stalls are for how long a process stood still, each time that it did.
type stalls []time.Duration

// startPulse begins to watch; end says what was seen, and must be called.
func startPulse() *pulse {
	p := &pulse{stop: make(chan struct{})}
	p.wg.Go(func() {
		beats := time.NewTicker(beatEvery)
		defer beats.Stop()
		last := time.Now()
		for {
			select {
			case <-p.stop:
				p.gaps = p.gaps.after(time.Since(last))
				return
			case <-beats.C:
				now := time.Now()
				p.gaps = p.gaps.after(now.Sub(last))
				last = now
			}
		}
	})
	return p
}

func (p *pulse) end() stalls {
	close(p.stop)
	p.wg.Wait()
	return p.gaps
}

// after adds a gap, when it is one.
func (s stalls) after(gap time.Duration) stalls {
	if gap < stallFrom {
		return s
	}
	return append(s, gap)
}

// longest is the longest stall.
func (s stalls) longest() (most time.Duration) {
	for _, gap := range s {
		most = max(most, gap)
	}
	return most
}

// sum is how long all stalls of at least some length took.
func (s stalls) sum(from time.Duration) (all time.Duration) {
	for _, gap := range s {
		if gap >= from {
			all += gap
		}
	}
	return all
}
