package record

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// flushEvery bounds what a killed process loses.
	flushEvery = time.Second
	// flushAt bounds the lines that wait in memory for the next flush.
	flushAt = 4 << 20
)

// File is what a Writer needs of *os.File.
type File interface {
	io.WriteCloser
	io.Seeker
	Truncate(size int64) error
	Sync() error
}

// Writer appends records to a file as zstd-compressed lines. Each flush, at
// least one a second unless FlushBySize was called, is a complete zstd frame, so the file is readable
// whenever the process dies. Add only formats the line; compression and I/O
// happen on the Writer's own goroutine, away from the path that is measured.
//
// When a write fails (a full disk), the file is cut back to its last whole
// frame, the lines are kept in memory, and the next flush tries again; Err and
// Close tell. A Writer is safe for concurrent use.
type Writer struct {
	mu      sync.Mutex
	pending []byte // lines not yet taken by the flusher
	added   int
	closed  bool
	bySize  bool  // see FlushBySize
	err     error // of the last flush

	file    File
	good    int64  // length of the file up to the last whole frame
	unsaved []byte // lines of a flush that failed; owned by the flusher
	encoder *zstd.Encoder

	kick chan struct{} // flush now, pending is large
	stop chan struct{}
	done chan struct{}
}

// NewWriter writes to file, which must be empty and which Close closes.
func NewWriter(file File) *Writer {
	// Without a stream the encoder has no goroutine, and these options are
	// always valid.
	encoder, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	w := &Writer{
		file:    file,
		encoder: encoder,
		kick:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	go w.run()
	return w
}

// FlushBySize has frames end by their size alone, and not by the clock, so that the
// same records make the same bytes: those of a simulation, whose killed run can be
// made again. It is called before the first Add; Add is then for one goroutine, and
// writes a frame itself when one is full.
func (w *Writer) FlushBySize() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bySize = true
}

// Add appends r. The record is copied; the caller may reuse it. The error is
// that of the last flush, if it failed: the record is kept and will be tried
// again, so a caller may go on.
func (w *Writer) Add(r *Record) error {
	full, err := w.add(r)
	if full {
		w.flush()
		return w.Err()
	}
	return err
}

// add appends r, and reports whether the caller is to write the frame.
func (w *Writer) add(r *Record) (full bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false, fmt.Errorf("saving record %d: the file is closed", r.ID)
	}
	w.pending = append(r.AppendJSON(w.pending), '\n')
	w.added++
	if len(w.pending) < flushAt {
		return false, w.err
	}
	if w.bySize {
		return true, w.err
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
	return false, w.err
}

// Added is the number of records that were added.
func (w *Writer) Added() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.added
}

// Err is the error of the last flush, nil when all that it had was saved.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) sized() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bySize
}

// Close saves what is left, closes the file and waits for the Writer's
// goroutine. The error says how many bytes of lines could not be saved. A
// second Close does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	if !first {
		<-w.done
		return nil
	}
	close(w.stop)
	<-w.done
	err := w.Err()
	if err == nil {
		err = w.file.Sync()
	}
	if closing := w.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("saving records: %w", err)
	}
	return nil
}

func (w *Writer) run() {
	defer close(w.done)
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if !w.sized() {
				w.flush()
			}
		case <-w.kick:
			w.flush()
		case <-w.stop:
			w.flush()
			return
		}
	}
}

// flush writes everything that has come so far as one frame.
func (w *Writer) flush() {
	w.mu.Lock()
	lines := w.pending
	w.pending = nil
	w.mu.Unlock()
	if w.unsaved = append(w.unsaved, lines...); len(w.unsaved) == 0 {
		return
	}
	err := w.writeFrame(w.encoder.EncodeAll(w.unsaved, nil))
	if err == nil {
		w.unsaved = nil
	} else {
		err = fmt.Errorf("%w (%d bytes of records wait in memory)", plain(err), len(w.unsaved))
	}
	w.mu.Lock()
	w.err = err
	w.mu.Unlock()
}

// writeFrame appends frame to the file, or leaves the file as it was.
func (w *Writer) writeFrame(frame []byte) error {
	n, err := w.file.Write(frame)
	if err == nil {
		w.good += int64(n)
		return nil
	}
	if n > 0 {
		// Without the cut the next frame would follow half of this one.
		if cut := w.file.Truncate(w.good); cut != nil {
			return fmt.Errorf("%w, then cutting the file back: %w", err, cut)
		}
	}
	if _, seek := w.file.Seek(w.good, io.SeekStart); seek != nil {
		return fmt.Errorf("%w, then rewinding the file: %w", err, seek)
	}
	return err
}
