package team

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Team is a set of workers. The caller of Run is one of them.
type Team struct {
	// state holds the number of the piece of work in the upper half, how many parts it
	// has, and in the lowest bits the next part that nobody has taken. Taking a part is
	// one addition, which also says of which piece it is.
	state atomic.Uint64
	done  atomic.Int64 // parts of the piece that are finished
	work  func(worker, part int)

	asleep  atomic.Int64   // helpers that wait on wake, or are about to
	wake    chan struct{}  // one message lets one helper look again
	waiting atomic.Bool    // the caller waits on ended
	ended   chan struct{}  // the last part is finished
	closed  atomic.Bool    //
	exited  sync.WaitGroup // helpers
	helpers int            //
}

const (
	partBits = 20
	maxParts = 1<<partBits - 1024 // less what idle workers may count beyond the end
	partMask = 1<<partBits - 1

	helperLooks = 20_000 // before a helper goes to sleep: some tens of microseconds
	callerLooks = 2_000  // before the caller lets others run
	callerTurns = 20     // before the caller goes to sleep
)

// New starts a team of the given number of workers, at least one.
func New(workers int) *Team {
	t := &Team{helpers: max(workers, 1) - 1, ended: make(chan struct{}, 1)}
	t.wake = make(chan struct{}, t.helpers)
	for w := range t.helpers {
		t.exited.Go(func() { t.help(w + 1) })
	}
	return t
}

// Workers is how many goroutines there are, the caller included: the worker numbers
// that work sees are below it.
func (t *Team) Workers() int { return t.helpers + 1 }

// Run calls work for every part, on any worker and in any order, and returns when all
// calls have. One part is done by the caller at once. It is used by one goroutine at a
// time.
func (t *Team) Run(parts int, work func(worker, part int)) {
	if parts > maxParts {
		panic("team: too many parts")
	}
	if parts <= 1 || t.helpers == 0 {
		for part := range parts {
			work(0, part)
		}
		return
	}
	t.work = work
	t.done.Store(0)
	piece := t.state.Load()>>(2*partBits) + 1
	t.state.Store(piece<<(2*partBits) | uint64(parts)<<partBits)
	for range min(int(t.asleep.Load()), parts-1) {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
	t.share(0)
	t.finish(int64(parts))
}

// share does parts of the current piece until none is left.
func (t *Team) share(worker int) {
	for left(t.state.Load()) {
		state := t.state.Add(1) - 1
		if !left(state) {
			return
		}
		// The piece cannot end before this part does, so work is that of the state.
		t.work(worker, int(state&partMask))
		if t.done.Add(1) == int64(state>>partBits&partMask) && t.waiting.CompareAndSwap(true, false) {
			t.ended <- struct{}{}
		}
	}
}

func left(state uint64) bool { return state&partMask < state>>partBits&partMask }

// finish waits until all parts are done.
func (t *Team) finish(parts int64) {
	for i := 0; t.done.Load() < parts; i++ {
		switch {
		case i < callerLooks:
		case i < callerLooks+callerTurns:
			runtime.Gosched()
		default:
			t.waiting.Store(true)
			// The last part may have ended before it could see that.
			if t.done.Load() < parts || !t.waiting.CompareAndSwap(true, false) {
				<-t.ended
			}
			return
		}
	}
}

// help does parts until the team is closed.
func (t *Team) help(worker int) {
	for looks := 0; !t.closed.Load(); looks++ {
		switch {
		case left(t.state.Load()):
			t.share(worker)
			looks = 0
		case looks >= helperLooks:
			t.asleep.Add(1)
			// Work that came before the caller could see this helper asleep.
			if !left(t.state.Load()) && !t.closed.Load() {
				<-t.wake
			}
			t.asleep.Add(-1)
			looks = 0
		}
	}
}

// Close ends the helpers and waits for them.
func (t *Team) Close() {
	t.closed.Store(true)
	close(t.wake)
	t.exited.Wait()
}
