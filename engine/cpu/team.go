package cpu

import (
	"sync"
	"sync/atomic"
)

// team is a fixed set of goroutines that share the tiles of one phase at a time.
// The caller is one of them.
type team struct {
	wake   []chan struct{} // one per extra worker
	exited sync.WaitGroup
	busy   sync.WaitGroup
	work   func(worker, tile int)
	tiles  int32
	next   atomic.Int32
}

func newTeam(workers int) *team {
	t := &team{}
	for w := 1; w < workers; w++ {
		wake := make(chan struct{}, 1)
		t.wake = append(t.wake, wake)
		t.exited.Go(func() {
			for range wake {
				t.share(w)
				t.busy.Done()
			}
		})
	}
	return t
}

// run calls work for every tile, on any worker and in any order, and returns
// when all calls have.
func (t *team) run(tiles int, work func(worker, tile int)) {
	t.work, t.tiles = work, int32(tiles)
	t.next.Store(0)
	helpers := t.wake[:max(0, min(len(t.wake), tiles-1))]
	t.busy.Add(len(helpers))
	for _, wake := range helpers {
		wake <- struct{}{}
	}
	t.share(0)
	t.busy.Wait()
}

func (t *team) share(worker int) {
	for tile := t.next.Add(1) - 1; tile < t.tiles; tile = t.next.Add(1) - 1 {
		t.work(worker, int(tile))
	}
}

// close ends the goroutines and waits for them.
func (t *team) close() {
	for _, wake := range t.wake {
		close(wake)
	}
	t.exited.Wait()
}
