package usage

import (
	"context"
	"errors"
	"time"
)

const (
	batchSize     = 1000                   // records of one transaction
	writeEvery    = 500 * time.Millisecond // at most; half of the second that a crash may cost
	writePatience = 10 * time.Second       // for one transaction
	closePatience = 5 * time.Second        // for the last ones
	pruneEvery    = time.Hour
)

// writer is the state of the ledger's goroutine.
type writer struct {
	batch   []Record // being written; kept as it is until that succeeds, so that the store can tell it from new ones
	failing bool
	lost    int64 // at the last success
	started time.Time
	pruned  time.Duration // when, since started; the next time after pruneEvery
}

// run brings records to the store until ctx ends.
func (l *Ledger) run(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	l.wrote.started, l.wrote.pruned = time.Now(), -pruneEvery
	for {
		select {
		case <-l.wake:
			_ = l.drain(ctx) // it has logged; the next tick tries again
		case <-tick.C:
			if l.drain(ctx) == nil {
				l.prune(ctx)
			}
		case reply := <-l.flush:
			reply <- l.drain(ctx)
		case <-ctx.Done():
			l.finish()
			return
		}
	}
}

// drain writes batch after batch until none is left or one fails.
func (l *Ledger) drain(ctx context.Context) error {
	for {
		w := &l.wrote
		if len(w.batch) == 0 {
			l.mu.Lock()
			w.batch = l.pending.take(w.batch, batchSize)
			l.writing = len(w.batch)
			l.mu.Unlock()
		}
		if len(w.batch) == 0 {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, writePatience)
		err := l.store.write(limited, w.batch)
		cancel()
		if err != nil && errors.Is(ctx.Err(), context.Canceled) {
			return err // the ledger is being closed: it will be tried again
		}
		l.note(err, len(w.batch))
		if err != nil {
			return err
		}
		clear(w.batch)
		w.batch = w.batch[:0]
	}
}

// note counts and logs how a write went: once when an outage begins and once when
// it is over.
func (l *Ledger) note(err error, n int) {
	l.mu.Lock()
	l.stats.Failing = err != nil
	if err == nil {
		l.stats.Written += int64(n)
		l.writing = 0
	}
	lost, waiting := l.stats.Lost, l.stats.Appended-l.stats.Written-l.stats.Lost
	l.mu.Unlock()
	w := &l.wrote
	switch {
	case err != nil && !w.failing:
		l.log.Error("usage cannot be written, and waits in memory", "cause", err.Error(), "waiting", waiting, "room", l.room)
	case err == nil && w.failing:
		l.log.Info("usage is written again", "waiting", waiting, "lost", lost-w.lost)
	}
	if w.failing = err != nil; !w.failing {
		w.lost = lost
	}
}

// prune forgets old requests, a slice at a time, so that records need not wait.
// Its clock is the monotonic one: a step of the wall clock deletes nothing.
func (l *Ledger) prune(ctx context.Context) {
	w := &l.wrote
	ran := time.Since(w.started)
	if ran-w.pruned < pruneEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	more, err := l.store.prune(ctx, w.started.Add(ran-l.keep))
	if err != nil && !errors.Is(err, context.Canceled) {
		l.log.Warn("old usage cannot be deleted", "cause", err.Error())
	}
	if err != nil || !more {
		w.pruned = ran
	}
}

// finish writes what is left and counts what that did not succeed for as lost.
func (l *Ledger) finish() {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	for l.drain(ctx) != nil {
		select {
		case <-time.After(writeEvery):
			continue
		case <-ctx.Done():
		}
		break
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Lost += int64(len(l.wrote.batch) + l.pending.len())
	if n := len(l.wrote.batch) + l.pending.len(); n > 0 {
		l.log.Error("usage is lost", "records", n, "cause", errors.Join(errClosed, ctx.Err()).Error())
	}
}
