package usage

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeStore keeps records in memory and fails on demand.
type fakeStore struct {
	mu      sync.Mutex
	err     error
	hang    bool // write waits for its context
	records []Record
	when    []time.Time // of writes
	pruned  []time.Time
	more    bool
	closed  bool
}

func (f *fakeStore) write(ctx context.Context, batch []Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hang {
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return ctx.Err()
	}
	if f.err != nil {
		return f.err
	}
	f.records = append(f.records, batch...)
	f.when = append(f.when, time.Now())
	return nil
}

func (f *fakeStore) prune(_ context.Context, before time.Time) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pruned = append(f.pruned, before)
	return f.more, f.err
}

func (f *fakeStore) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeStore) kept() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.records)
}

func (f *fakeStore) sums(context.Context, Query) ([]row, error) { return nil, f.err }
func (f *fakeStore) requests(context.Context, time.Time, time.Time, func(*Record) error) error {
	return f.err
}
func (f *fakeStore) close() error { f.closed = true; return nil }

// inBubble runs a test in virtual time with a ledger over a fake store.
func inBubble(t *testing.T, o Options, test func(*testing.T, *Ledger, *fakeStore, *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, logs := &fakeStore{}, &bytes.Buffer{}
		o.Logger = slog.New(slog.NewJSONHandler(logs, nil))
		l := newLedger(f, o)
		test(t, l, f, logs)
		_ = l.Close()
	})
}

var errDiskFull = errors.New("the disk is full")

func TestRecordsReachTheStoreWithinASecond(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, l *Ledger, f *fakeStore, _ *bytes.Buffer) {
		for range 50 {
			began := time.Now()
			l.Append(sample())
			before := f.kept()
			for f.kept() == before {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			if waited := time.Since(began); waited > time.Second {
				t.Fatalf("%v passed until the record was kept", waited)
			}
			time.Sleep(73 * time.Millisecond)
		}
	})
}

func TestManyRecordsDoNotWait(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, l *Ledger, f *fakeStore, _ *bytes.Buffer) {
		began := time.Now()
		for range 2 * batchSize {
			l.Append(sample())
		}
		synctest.Wait()
		if f.kept() < batchSize || !time.Now().Equal(began) {
			t.Errorf("%d records kept after %v", f.kept(), time.Since(began))
		}
	})
}

// While the store fails, records wait in memory, as many as there is room for; the
// rest is lost and counted. The log tells of the outage once, and of its end, and
// nothing has to be restarted.
func TestOutageOfTheStoreIsSurvived(t *testing.T) {
	inBubble(t, Options{Buffer: 10}, func(t *testing.T, l *Ledger, f *fakeStore, logs *bytes.Buffer) {
		f.set(errDiskFull)
		for range 13 {
			l.Append(sample())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s := l.Stats()
		if s != (Stats{Appended: 13, Lost: 3, Waiting: 10, Failing: true}) {
			t.Errorf("during the outage: %+v", s)
		}
		if n := strings.Count(logs.String(), "\n"); n != 1 || !strings.Contains(logs.String(), "the disk is full") {
			t.Errorf("%d lines in the log, want one: %s", n, logs)
		}
		f.set(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		if s := l.Stats(); s != (Stats{Appended: 13, Written: 10, Lost: 3}) {
			t.Errorf("after the outage: %+v", s)
		}
		if !strings.Contains(logs.String(), `"lost":3`) || strings.Count(logs.String(), "\n") != 2 {
			t.Errorf("log %s", logs)
		}
		l.Append(sample())
		if err := l.Flush(t.Context()); err != nil || f.kept() != 11 {
			t.Errorf("%d records kept, error %v", f.kept(), err)
		}
	})
}

// A batch that is being written counts among those that wait.
func TestRoomIsForAllRecordsThatAreNotKept(t *testing.T) {
	inBubble(t, Options{Buffer: 3 * batchSize}, func(t *testing.T, l *Ledger, f *fakeStore, _ *bytes.Buffer) {
		f.set(errDiskFull)
		for range 10 {
			for range batchSize {
				l.Append(sample())
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if s := l.Stats(); s.Waiting != 3*batchSize || s.Lost != 7*batchSize {
			t.Errorf("%+v, want 3 batches to wait and 7 lost", s)
		}
	})
}

func TestStoreThatHangsHoldsNobodyUp(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, l *Ledger, f *fakeStore, _ *bytes.Buffer) {
		f.hang = true
		began := time.Now()
		for range batchSize + 1 {
			l.Append(sample())
		}
		if !time.Now().Equal(began) {
			t.Error("Append waited")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flushing: %v", err)
		}
		time.Sleep(writePatience)
		synctest.Wait()
		if s := l.Stats(); !s.Failing || s.Waiting != batchSize+1 {
			t.Errorf("%+v", s)
		}
		if err := l.Close(); err == nil || !strings.Contains(err.Error(), "1001 records") {
			t.Errorf("closing: %v", err)
		}
		if took := time.Since(began); took > writePatience+closePatience+time.Second {
			t.Errorf("closing took %v", took)
		}
	})
}

func TestCloseWritesWhatWaits(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, l *Ledger, f *fakeStore, _ *bytes.Buffer) {
		f.set(errDiskFull)
		l.Append(sample())
		go func() {
			time.Sleep(closePatience / 2)
			f.set(nil)
		}()
		if err := l.Close(); err != nil || f.kept() != 1 || !f.closed {
			t.Errorf("%d records kept, closed %v, error %v", f.kept(), f.closed, err)
		}
		l.Append(sample())
		if s := l.Stats(); s.Lost != 1 {
			t.Errorf("a record after the end: %+v", s)
		}
		if err := l.Flush(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("flushing: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("closing again: %v", err)
		}
	})
}

func TestOldRequestsArePruned(t *testing.T) {
	inBubble(t, Options{Keep: 24 * time.Hour}, func(t *testing.T, l *Ledger, f *fakeStore, _ *bytes.Buffer) {
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		if len(f.pruned) != 3 {
			t.Fatalf("pruned %d times in two hours, want 3", len(f.pruned))
		}
		if age := time.Since(f.pruned[2]); age < 24*time.Hour || age > 25*time.Hour {
			t.Errorf("pruned what is %v old", age)
		}
		f.mu.Lock()
		f.more, f.pruned = true, nil
		f.mu.Unlock()
		time.Sleep(time.Hour + 10*writeEvery)
		synctest.Wait()
		if n := len(f.pruned); n < 5 {
			t.Errorf("%d slices, want one each half second while there are more", n)
		}
	})
}

func TestIDsAreUniqueAndRise(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, l *Ledger, f *fakeStore, _ *bytes.Buffer) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 500 {
					l.Append(sample())
				}
			})
		}
		wg.Wait()
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(f.records); i++ {
			if f.records[i].id <= f.records[i-1].id {
				t.Fatalf("%s follows %s", f.records[i].id, f.records[i-1].id)
			}
		}
	})
}

func TestQueueKeepsOrder(t *testing.T) {
	var q queue
	next, want := 0, 0
	push := func(n int) {
		for range n {
			q.push(&Record{Status: next})
			next++
		}
	}
	take := func(n int) {
		for _, r := range q.take(nil, n) {
			if r.Status != want {
				t.Fatalf("record %d, want %d", r.Status, want)
			}
			want++
		}
	}
	for range 100 {
		push(3)
		take(2)
		push(4)
		take(4)
	}
	take(1000)
	if q.len() != 0 || next != want || cap(q.records) > 400 {
		t.Errorf("%d left of %d, room for %d", q.len(), next, cap(q.records))
	}
}
