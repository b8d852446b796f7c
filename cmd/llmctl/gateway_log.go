package main

import (
	"io"
	"sync"
	"time"
)

const (
	logDelay  = 100 * time.Millisecond // at most, for a line on its way
	logBuffer = 64 << 10
)

// batchedLog writes many lines at once: a system call for each one costs half of
// what it costs to make the line. A line waits for at most
// logDelay; Close writes what is left. It is safe for concurrent use.
type batchedLog struct {
	to io.Writer

	mu     sync.Mutex
	lines  []byte
	timer  *time.Timer // that writes the lines; nil before the first
	closed bool
}

// Write takes one line, or several. When too much waits, or after Close, it writes
// at once: who logs faster than the log can be written has to wait.
func (b *batchedLog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waits := len(b.lines) > 0
	b.lines = append(b.lines, p...)
	switch {
	case b.closed || len(b.lines) >= logBuffer:
		return len(p), b.flush()
	case waits:
	case b.timer == nil:
		b.timer = time.AfterFunc(logDelay, b.ring)
	default:
		b.timer.Reset(logDelay)
	}
	return len(p), nil
}

func (b *batchedLog) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.flush() // a log that cannot be written has nobody to tell
}

// flush writes what waits. The caller holds mu.
func (b *batchedLog) flush() error {
	if len(b.lines) == 0 {
		return nil
	}
	_, err := b.to.Write(b.lines)
	b.lines = b.lines[:0]
	return err
}

// Close writes what waits. Later lines are written at once.
func (b *batchedLog) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	return b.flush()
}
