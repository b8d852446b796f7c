package record

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ReadBack yields the records that were added to a directory that has been
// closed, in the order in which they were: those on disk, then those that a disk
// without room left in memory. It may be called again.
func (d *Dir) ReadBack(yield func(*Record) bool) error {
	file, err := os.Open(filepath.Join(d.path, RecordsFile))
	if err != nil {
		return fmt.Errorf("reading records back: %w", plain(err))
	}
	defer file.Close() //nolint:errcheck // only read
	return d.readBack(file, yield)
}

// Spool keeps the records of a run that nobody saves until they have been summed
// up, so that a long run needs no memory for them: in a temporary file that has
// no name where the system allows that, or compressed in memory where there is no
// place for temporary files.
type Spool struct {
	*Writer
	file *os.File      // nil when memory holds them
	name string        // of the file, while it has one
	data *bytes.Buffer // nil when a file does
}

// NewSpool returns an empty spool. Whoever made it ends it with Remove.
func NewSpool() *Spool {
	file, err := os.CreateTemp("", "llmctl-records-")
	if err != nil {
		s := &Spool{data: new(bytes.Buffer)}
		s.Writer = NewWriter(inMemory{s.data})
		return s
	}
	s := &Spool{Writer: NewWriter(unclosed{file}), file: file}
	if os.Remove(file.Name()) != nil { // an open file can not be removed everywhere
		s.name = file.Name()
	}
	return s
}

// ReadBack is as that of a Dir.
func (s *Spool) ReadBack(yield func(*Record) bool) error {
	if s.file == nil {
		return s.readBack(bytes.NewReader(s.data.Bytes()), yield)
	}
	return s.readBack(io.NewSectionReader(s.file, 0, s.good), yield)
}

// Remove ends the spool and frees what it holds. It may be called at any time,
// and more than once.
func (s *Spool) Remove() {
	_ = s.Close() // nobody will read what could not be written
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.name != "" {
		_ = os.Remove(s.name)
	}
}

// readBack yields the records of the file, and those that wait in memory. The
// Writer must have been closed.
func (w *Writer) readBack(file io.Reader, yield func(*Record) bool) error {
	stopped := false
	_, err := ReadRecords(file, func(r *Record) bool {
		stopped = !yield(r)
		return !stopped
	})
	if err != nil {
		return fmt.Errorf("reading records back: %w", err)
	}
	for line := range bytes.Lines(w.unsaved) {
		r := new(Record)
		if err := r.UnmarshalJSON(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return fmt.Errorf("reading records back: %w", err)
		}
		if stopped || !yield(r) {
			break
		}
	}
	return nil
}

// unclosed is a file that is read after its Writer has closed it, and that need
// not survive the machine.
type unclosed struct{ *os.File }

func (unclosed) Close() error { return nil }
func (unclosed) Sync() error  { return nil }

// inMemory is a File that never fails, so that nothing is ever cut back.
type inMemory struct{ *bytes.Buffer }

func (inMemory) Close() error                   { return nil }
func (inMemory) Sync() error                    { return nil }
func (inMemory) Truncate(int64) error           { return nil }
func (inMemory) Seek(int64, int) (int64, error) { return 0, nil }
