package main

import (
	"bytes"
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

func TestLogLinesAreWrittenTogetherAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &pages{}
		log := &batchedLog{to: to}
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
	})
}

func TestLogLinesDoNotPileUp(t *testing.T) {
	to := &pages{}
	log := &batchedLog{to: to}
	line := []byte(strings.Repeat("x", logBuffer/2))
	_, _ = log.Write(line)
	_, _ = log.Write(line)
	if len(to.written) != 1 || len(to.written[0]) != logBuffer {
		t.Errorf("%d writes before the delay is over", len(to.written))
	}
	_ = log.Close()
}

func TestNoLogLineIsLostAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to bytes.Buffer
		log := &batchedLog{to: &to}
		_, _ = log.Write([]byte("a\n"))
		if err := log.Close(); err != nil || to.String() != "a\n" {
			t.Errorf("%q, error %v", to.String(), err)
		}
		_, _ = log.Write([]byte("b\n"))
		if to.String() != "a\nb\n" {
			t.Errorf("after the end: %q", to.String())
		}
	})
}
