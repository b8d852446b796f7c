package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/llmctl/llmctl/internal/atomicfile"
)

// RunSchema names the form of run.json.
const RunSchema = "llmctl/run/v1"

// Names of the two files of a run directory.
const (
	RunFile     = "run.json"
	RecordsFile = "records.jsonl.zst"
)

// Dir is a run directory that is being written: first the records as they come,
// at the end run.json.
type Dir struct {
	path string
	*Writer
}

// CreateDir makes a run directory at path and starts its records file. A
// directory that already holds a run is refused: a run is never overwritten. If
// records are to survive a kill with their meaning, call WriteRun once before
// the run, with what is known by then.
func CreateDir(path string) (*Dir, error) {
	for _, name := range []string{RunFile, RecordsFile} {
		_, err := os.Stat(filepath.Join(path, name))
		if err == nil {
			return nil, fmt.Errorf("saving to %s: it already holds a run (%s), and a run directory is never overwritten", path, name)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("saving to %s: %w", path, plain(err))
		}
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("creating run directory %s: %w", path, plain(err))
	}
	// O_EXCL settles a race between two runs that were given the same name.
	file, err := os.OpenFile(filepath.Join(path, RecordsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("creating %s in %s: %w", RecordsFile, path, plain(err))
	}
	return &Dir{path: path, Writer: NewWriter(file)}, nil
}

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// WriteRun writes run.json, replacing it in one step, so that a reader sees the
// old file or the new one and never half of one. doc is the report as a JSON
// object; the facts of run are added to it as its last member, "facts". A nil
// doc marks a run that has not finished. That of a finished run keeps the number
// of records that were added, by which a reader finds those that are missing.
func (d *Dir) WriteRun(run Run, doc json.RawMessage) error {
	run.Records = 0
	if doc != nil {
		run.Records = Counted(d.Added())
	}
	facts, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("encoding the run: %w", err)
	}
	if doc == nil {
		doc = fmt.Appendf(nil, `{"schema":%q,"unfinished":true}`, RunSchema)
	}
	body := bytes.TrimRight(doc, " \n\t\r")
	if len(body) < 2 || body[0] != '{' || body[len(body)-1] != '}' {
		return errors.New("encoding the run: the report is not a JSON object")
	}
	body = bytes.TrimRight(body[:len(body)-1], " \n\t\r")
	if body[len(body)-1] != '{' {
		body = append(bytes.Clone(body), ',')
	}
	var text bytes.Buffer
	if err := json.Indent(&text, fmt.Appendf(nil, `%s"facts":%s}`, body, facts), "", "  "); err != nil {
		return fmt.Errorf("encoding the run: %w", err)
	}
	text.WriteByte('\n')
	if err := atomicfile.Write(filepath.Join(d.path, RunFile), text.Bytes()); err != nil {
		return fmt.Errorf("writing %s in %s: %w", RunFile, d.path, plain(err))
	}
	return nil
}

// plain strips the path that the os package repeats in its errors.
func plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
