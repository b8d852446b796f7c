package team

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryPartIsDoneOnce runs pieces of all sizes one after another; work of one
// piece must be over when Run returns, and none may be done twice or by a worker that
// is somebody else at the same time.
func TestEveryPartIsDoneOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 6).Draw(rt, "workers")
		team := New(workers)
		defer team.Close()
		busy := make([]atomic.Int32, workers)
		for piece, parts := range rapid.SliceOfN(rapid.IntRange(0, 40), 1, 30).Draw(rt, "parts") {
			counts := make([]atomic.Int32, parts)
			team.Run(parts, func(worker, part int) {
				if busy[worker].Add(1) != 1 {
					t.Errorf("worker %d does two parts at once", worker)
				}
				if part%7 == piece%7 {
					runtime.Gosched()
				}
				counts[part].Add(1)
				busy[worker].Add(-1)
			})
			for part := range counts {
				if n := counts[part].Load(); n != 1 {
					rt.Fatalf("piece %d: part %d of %d done %d times", piece, part, parts, n)
				}
			}
		}
	})
}

// TestHelpersThatSleepAreWoken gives work after long pauses, in which helpers have
// gone to sleep, that the caller cannot do alone: each part waits for the other.
func TestHelpersThatSleepAreWoken(t *testing.T) {
	team := New(2)
	defer team.Close()
	for range 20 {
		for team.asleep.Load() == 0 {
			runtime.Gosched()
		}
		meet := make(chan struct{})
		team.Run(2, func(_, part int) {
			if part == 0 {
				meet <- struct{}{}
			} else {
				<-meet
			}
		})
	}
}

// TestTheCallerSleepsWhileAHelperIsBusy makes the last part outlast the caller's
// patience.
func TestTheCallerSleepsWhileAHelperIsBusy(t *testing.T) {
	team := New(2)
	defer team.Close()
	var first atomic.Bool
	team.Run(2, func(worker, _ int) {
		if worker == 0 { // until the helper has the other part
			for !first.Load() {
				runtime.Gosched()
			}
			return
		}
		first.Store(true)
		for !team.waiting.Load() {
			runtime.Gosched()
		}
	})
}

func BenchmarkRun(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			team := New(workers)
			defer team.Close()
			for b.Loop() {
				team.Run(8, func(int, int) {})
			}
		})
	}
}
