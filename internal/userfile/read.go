package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/llmctl/llmctl/internal/units"
)

// Limits of what is read into memory. They are far above any file that people
// or tools write, and keep a mistaken path from filling the memory.
const (
	ConfigLimit = 16 << 20 // a config.json; the longest known ones list every module of a quantized checkpoint
	IndexLimit  = 64 << 20 // an index of a checkpoint's tensors
	YAMLLimit   = 1 << 20  // what people write by hand
)

// Read reads a regular file of at most limit bytes. An error names the file. A
// folder, a device or a pipe is refused before it is opened, since opening a
// pipe may wait for ever.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return bounded(f, path, limit)
}

// Open opens a regular file for who reads it piece by piece.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// ReadFS is Read inside a file system.
func ReadFS(dir fs.FS, name string, limit int64) ([]byte, error) {
	f, _, err := OpenFS(dir, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return bounded(f, name, limit)
}

// OpenFS is Open inside a file system; it also tells the size.
func OpenFS(dir fs.FS, name string) (fs.File, int64, error) {
	info, err := fs.Stat(dir, name)
	if err != nil {
		return nil, 0, err
	}
	if err := regular(name, info); err != nil {
		return nil, 0, err
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func bounded(f io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than the %s that are read of such a file", name, units.Bytes(limit))
	}
	return data, nil
}

// ErrNotRegular marks errors about things that have a name but are no files.
var ErrNotRegular = errors.New("is no regular file")

func regular(name string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	default:
		return fmt.Errorf("%s %w", name, ErrNotRegular)
	}
	return fmt.Errorf("%s %w but %s", name, ErrNotRegular, what)
}
