package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pages remembers each write.
type pages struct{ written []string }

func (p *pages) Write(b []byte) (int, error) {
	p.written = append(p.written, string(b))
	return len(b), nil
}

// stuck is a pipe that nobody reads until it is told to go on.
type stuck struct {
	bytes.Buffer
	on chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.on
	return s.Buffer.Write(b)
}

func missing(lines int64) []byte { return fmt.Appendf(nil, "%d missing\n", lines) }

func TestLogLinesAreWrittenTogetherAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &pages{}
		log := newBatchedLog(to, missing)
		for round := range 2 {
			for _, line := range []string{"a\n", "b\n"} {
				if n, err := log.Write([]byte(line)); n != 2 || err != nil {
					t.Fatalf("%d, error %v", n, err)
				}
				time.Sleep(logDelay / 4)
			}
			time.Sleep(logDelay)
			synctest.Wait()
			if len(to.written) != round+1 || to.written[round] != "a\nb\n" {
				t.Errorf("written: %q", to.written)
			}
		}
		_ = log.Close()
	})
}

func TestLogLinesDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &pages{}
		log := newBatchedLog(to, missing)
		line := []byte(strings.Repeat("x", logBuffer/2))
		_, _ = log.Write(line)
		_, _ = log.Write(line)
		synctest.Wait()
		if len(to.written) != 1 || len(to.written[0]) != logBuffer {
			t.Errorf("%d writes before the delay is over", len(to.written))
		}
		_ = log.Close()
	})
}

func TestNoLogLineIsLostAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to bytes.Buffer
		log := newBatchedLog(&to, missing)
		_, _ = log.Write([]byte("a\n"))
		for range 2 {
			if err := log.Close(); err != nil || to.String() != "a\n" {
				t.Errorf("%q, error %v", to.String(), err)
			}
		}
		_, _ = log.Write([]byte("b\n"))
		if to.String() != "a\n" || log.Dropped() != 1 {
			t.Errorf("after the end: %q, %d dropped", to.String(), log.Dropped())
		}
	})
}

// A pipe that is full holds up nobody: what does not fit is dropped, and said in its
// place once somebody reads again.
func TestAReaderOfTheLogThatStopsHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &stuck{on: make(chan struct{})}
		log := newBatchedLog(to, missing)
		_, _ = log.Write([]byte("first\n"))
		time.Sleep(logDelay)
		synctest.Wait() // the write hangs
		const size, more = 1 << 20, 3
		line := []byte(strings.Repeat("x", size-1) + "\n")
		for range logMost/size + more {
			_, _ = log.Write(line)
		}
		_, _ = log.Write([]byte("short\n")) // which would fit, and would be in front of those that are missing
		if log.Dropped() != more+1 {
			t.Errorf("%d dropped, want %d", log.Dropped(), more+1)
		}
		close(to.on)
		synctest.Wait()
		_, _ = log.Write([]byte("last\n"))
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		want := "first\n" + strings.Repeat(string(line), logMost/size) + "4 missing\nlast\n"
		if got := to.String(); got != want {
			t.Errorf("%d bytes that end in %q, want %d", len(got), got[max(0, len(got)-60):], len(want))
		}
	})
}

// Nor does it hold up the end.
func TestAReaderOfTheLogThatStopsDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &stuck{on: make(chan struct{})}
		log := newBatchedLog(to, missing)
		_, _ = log.Write([]byte("a\n"))
		began := time.Now()
		if err := log.Close(); !errors.Is(err, errLogStuck) || time.Since(began) != logPatience {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
		close(to.on)
	})
}

// full is a disk that is full for its first writes.
type full struct {
	pages
	times int
}

func (f *full) Write(b []byte) (int, error) {
	if f.times--; f.times >= 0 {
		return 0, errors.New("no space left on device")
	}
	return f.pages.Write(b)
}

func TestLinesThatADiskDidNotTakeAreToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &full{times: 2}
		log := newBatchedLog(to, missing)
		for _, lines := range []string{"a\nb\n", "c\n", "d\n", "e\n"} {
			_, _ = log.Write([]byte(lines))
			time.Sleep(2 * logDelay)
		}
		_ = log.Close()
		if got := strings.Join(to.written, "|"); got != "3 missing\nd\n|e\n" || log.Dropped() != 3 {
			t.Errorf("written %q, %d dropped", got, log.Dropped())
		}
	})
}

func BenchmarkBatchedLogLine(b *testing.B) {
	log := newBatchedLog(io.Discard, missing)
	line := []byte(strings.Repeat("x", 400) + "\n")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = log.Write(line)
	}
	_ = log.Close()
}
