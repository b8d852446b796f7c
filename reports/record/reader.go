package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/llmctl/llmctl/internal/jsonscan"
)

// maxLine bounds one line of a records file: a response of a million chunks.
const maxLine = 64 << 20

// Saved is a run directory that is being read.
type Saved struct {
	Run    Run
	Report json.RawMessage // run.json without its facts; nil when the run did not finish

	path     string
	warnings []Warning
	err      error
}

// Open reads run.json of the directory at path, or of the directory of the
// run.json at path. The records are read by Records. A run whose process was
// killed opens too: its window ends where its records do, and Warnings says so.
func Open(path string) (*Saved, error) {
	if filepath.Base(path) == RunFile {
		path = filepath.Dir(path)
	}
	text, err := os.ReadFile(filepath.Join(path, RunFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("opening run %s: it has no %s, expected a directory that --save made", path, RunFile)
	case err != nil:
		return nil, fmt.Errorf("opening run %s: %w", path, plain(err))
	}
	s := &Saved{path: path}
	if err := s.parseRun(text); err != nil {
		return nil, fmt.Errorf("reading %s of run %s: %w", RunFile, path, err)
	}
	if s.Report == nil {
		s.warnings = append(s.warnings, Warning{Unfinished, "the run was killed before its report was written; this is made from the records that reached the disk"})
		s.Run.Interrupted = true
		s.endWithRecords()
	}
	return s, nil
}

// parseRun splits run.json into facts and report.
func (s *Saved) parseRun(text []byte) error {
	var head struct {
		Schema     string
		Unfinished bool
		Facts      json.RawMessage
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("parsing: %w", err)
	}
	if err := checkSchema(head.Schema); err != nil {
		return err
	}
	if head.Facts == nil || string(head.Facts) == "null" {
		return errors.New(`it has no "facts", expected the file that --save writes rather than a report`)
	}
	if err := json.Unmarshal(head.Facts, &s.Run); err != nil {
		return fmt.Errorf("parsing facts: %w", err)
	}
	s.Run = s.Run.Clean()
	if head.Unfinished {
		return nil
	}
	var doc bytes.Buffer
	if err := withoutFacts(&doc, text); err != nil {
		return fmt.Errorf("parsing: %w", err)
	}
	s.Report = doc.Bytes()
	return nil
}

// withoutFacts copies the object in text without its member "facts", in order.
func withoutFacts(w *bytes.Buffer, text []byte) error {
	in := jsonscan.New(text)
	w.WriteByte('{')
	in.Object()
	for key, ok := in.Key(); ok; key, ok = in.Key() {
		value := in.Value()
		if in.Bad() || string(key) == "facts" {
			continue
		}
		if w.Len() > 1 {
			w.WriteByte(',')
		}
		name, _ := json.Marshal(string(key)) // a string always marshals
		w.Write(append(name, ':'))
		if err := json.Compact(w, value); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return in.Err()
}

func checkSchema(schema string) error {
	if schema == RunSchema {
		return nil
	}
	if strings.HasPrefix(schema, "llmctl/run/") {
		return fmt.Errorf("its schema is %s, this llmctl reads %s: use the llmctl that wrote it, or a newer one", schema, RunSchema)
	}
	return fmt.Errorf("its schema is %q, expected %s: not a run of llmctl", schema, RunSchema)
}

// endWithRecords ends the window of an unfinished run where its records end.
func (s *Saved) endWithRecords() {
	var last Moment
	for r := range s.Records() {
		last = max(last, r.Scheduled, r.Sent)
	}
	d, ok := last.Since()
	if planned := s.Run.Window.End; planned > 0 { // a run bounded by requests had no end planned
		d = min(d, planned)
	}
	if ok {
		s.Run.Window.End = max(s.Run.Window.Start, d)
	}
}

// Records yields the records in the order in which they were saved, reading
// them from the file as it goes; each is the caller's to keep. A file that
// ends in the middle of a line or a frame is what a killed process leaves: what
// came before is yielded. Of the records of one request the first is yielded,
// and of records that can not be right none. Warnings tells of all this
// afterwards, and of records that are missing. A file that can not be read any
// further ends the sequence and is told by Err, too.
func (s *Saved) Records() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		s.err = nil
		stopped := false
		audit := audit{ids: idSet{}}
		truncated, err := s.readLines(func(line []byte) bool {
			r := new(Record)
			if err := r.UnmarshalJSON(line); !audit.passes(r, err) {
				return true
			}
			r.Clean()
			stopped = !yield(r)
			return !stopped
		})
		if stopped {
			return // what comes after it is unknown
		}
		if err != nil {
			s.err = fmt.Errorf("reading records of run %s: %w", s.path, err)
		}
		for _, w := range audit.warnings(s.Run.Records, truncated, err) {
			s.warn(w)
		}
	}
}

// readLines reads the lines of the records file.
func (s *Saved) readLines(yield func(line []byte) bool) (truncated bool, err error) {
	file, err := os.Open(filepath.Join(s.path, RecordsFile))
	if err != nil {
		return false, plain(err)
	}
	defer file.Close() //nolint:errcheck // only read
	return readLines(file, yield)
}

func (s *Saved) warn(w Warning) {
	for _, old := range s.warnings {
		if old == w {
			return
		}
	}
	s.warnings = append(s.warnings, w)
}

// Err is why the last sequence of Records ended early, nil when it did not.
func (s *Saved) Err() error { return s.err }

// Warnings are what a reader must know about the files themselves. They are
// complete after Records has been read to its end.
func (s *Saved) Warnings() []Warning { return s.warnings }

// ReadRecords reads compressed lines from r until the end, or until yield
// returns false. truncated means that the input ends in the middle of a frame
// or of a line.
func ReadRecords(r io.Reader, yield func(*Record) bool) (truncated bool, err error) {
	var broken error
	n := 0
	truncated, err = readLines(r, func(line []byte) bool {
		n++
		record := new(Record)
		if err := record.UnmarshalJSON(line); err != nil {
			broken = fmt.Errorf("line %d: %w", n, err)
			return false
		}
		return yield(record)
	})
	return truncated, errors.Join(broken, err)
}

// readLines reads compressed lines like ReadRecords; a line is valid until
// yield returns.
func readLines(r io.Reader, yield func(line []byte) bool) (truncated bool, err error) {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxLine), zstd.WithDecoderMaxMemory(4*maxLine))
	if err != nil {
		return false, err
	}
	defer decoder.Close()
	lines := bufio.NewReaderSize(decoder, 256<<10)
	var long []byte
	for n := 0; ; n++ {
		line, err := readLine(lines, &long)
		switch {
		case err == io.EOF:
			return len(line) > 0, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return true, nil
		case errors.Is(err, zstd.ErrMagicMismatch):
			return false, fmt.Errorf("after %d records: not zstd data", n)
		case err != nil:
			return false, fmt.Errorf("after %d records: %w", n, err)
		}
		if !yield(line) {
			return false, nil
		}
	}
}

// readLine returns the next line without its end; it is valid until the next
// call. long is the buffer for lines that do not fit into the reader's own.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == nil {
		return line[:len(line)-1], nil
	}
	*long = append((*long)[:0], line...)
	for err == bufio.ErrBufferFull {
		if len(*long) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		line, err = r.ReadSlice('\n')
		*long = append(*long, line...)
	}
	if err != nil {
		return *long, err
	}
	return (*long)[:len(*long)-1], nil
}
