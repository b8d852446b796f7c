package main

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	logDelay  = 100 * time.Millisecond // at most, for a line on its way
	logBuffer = 64 << 10               // bytes, at which lines are written before that
	// logMost bounds what waits for a reader that has stopped: some 16,000 lines.
	logMost = 8 << 20
	// logPatience is the time that the reader has at the end to take what is left.
	logPatience = time.Second
)

var errLogStuck = errors.New("closing the log: nobody reads it")

// batchedLog writes many lines at once, in order: a system call for each one costs
// half of what it costs to make the line. A line waits for at most logDelay, and
// nobody waits for it: a reader that has stopped, such as a pipe that is full, would
// stop all requests and the end of the process with it. Beyond logMost lines are
// dropped and counted. It is safe for concurrent use; Close ends its goroutine.
type batchedLog struct {
	to io.Writer
	// missing makes the line that says how many are missing in its place.
	missing func(lines int64) []byte

	awake, full, closing, ended chan struct{}

	mu      sync.Mutex
	lines   []byte
	closed  bool
	gap     int64 // lines that are missing after those that wait, for which there was no room
	unsaved int64 // and before them, which could not be written
	dropped int64 // lines, since the start
}

// newBatchedLog begins to write.
func newBatchedLog(to io.Writer, missing func(lines int64) []byte) *batchedLog {
	b := &batchedLog{
		to: to, missing: missing,
		awake: make(chan struct{}, 1), full: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	go b.run()
	return b
}

// Write takes one line, or several. Those for which there is no room, and those
// after Close, are dropped, which is no error of the caller's.
func (b *batchedLog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.gap > 0 || len(b.lines)+len(p) > logMost { // gap: the log has to say so there before it goes on
		n := countLines(p)
		b.gap += n
		b.dropped += n
		return len(p), nil
	}
	if len(b.lines) == 0 {
		ring(b.awake)
	}
	b.lines = append(b.lines, p...)
	if len(b.lines) >= logBuffer {
		ring(b.full)
	}
	return len(p), nil
}

// ring says something that need be said only once.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// run writes lines until Close.
func (b *batchedLog) run() {
	defer close(b.ended)
	delay := time.NewTimer(0)
	defer delay.Stop()
	var spare []byte
	for {
		select {
		case <-b.awake:
		case <-b.closing:
			b.flush(spare)
			return
		}
		delay.Reset(logDelay)
		select {
		case <-delay.C:
		case <-b.full:
		case <-b.closing:
		}
		spare = b.flush(spare)
	}
}

// flush writes what waits, while further lines come into spare. It returns the memory
// for the next one.
func (b *batchedLog) flush(spare []byte) []byte {
	b.mu.Lock()
	lines, gap, unsaved := b.lines, b.gap, b.unsaved
	b.lines, b.gap, b.unsaved = spare[:0], 0, 0
	b.mu.Unlock()
	if len(lines) == 0 {
		return lines
	}
	all := lines
	if gap > 0 {
		all = append(all, b.missing(gap)...)
	}
	if unsaved > 0 {
		all = append(b.missing(unsaved), all...)
	}
	if n, err := b.to.Write(all); err != nil { // a full disk, or a reader that is gone: there is nobody to tell now
		lost := countLines(lines[max(0, min(n-len(all)+len(lines), len(lines))):])
		b.mu.Lock()
		b.unsaved += unsaved + gap + lost
		b.dropped += lost
		b.mu.Unlock()
	}
	if cap(lines) > 4*logBuffer {
		return nil // what a reader that was slow has made large goes to the garbage
	}
	return lines
}

func countLines(p []byte) int64 { return int64(bytes.Count(p, []byte{'\n'})) }

// Dropped is how many lines nobody will read.
func (b *batchedLog) Dropped() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

// Close writes what waits, within logPatience. The error says that it could not: the
// write that hangs then ends with the process.
func (b *batchedLog) Close() error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	b.mu.Unlock()
	if first {
		close(b.closing)
	}
	patience := time.NewTimer(logPatience)
	defer patience.Stop()
	select {
	case <-b.ended:
		return nil
	case <-patience.C:
		return errLogStuck
	}
}
