package mapped

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/llmctl/llmctl/internal/userfile"
)

// readBelow is the size up to which files are read: copying as much takes less than a
// millisecond, and what is copied cannot be taken away.
const readBelow = 1 << 20

// File is a file whose bytes are at hand.
type File struct {
	data  []byte
	unmap func([]byte) error // nil where the bytes were read
}

// Open maps a regular file. Errors name it.
func Open(path string) (*File, error) {
	f, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // a mapping outlives it
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	switch {
	case size > math.MaxInt:
		return nil, fmt.Errorf("%s has %d bytes, more than this machine can address", path, size)
	case size < readBelow:
		return read(f, path, int(size))
	}
	data, err := mapFile(f, int(size))
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes of %s: %w", size, path, err)
	}
	return &File{data, unmapFile}, nil
}

func read(f *os.File, path string, size int) (*File, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("reading %d bytes of %s: %w", size, path, err)
	}
	return &File{data: data}, nil
}

// Bytes are the file's bytes as of Open, to be read only: writing to them ends the
// process. They are gone after Close.
func (f *File) Bytes() []byte { return f.data }

// Close gives the bytes back. Nothing may read them any more, in other goroutines
// neither. A second Close does nothing.
func (f *File) Close() error {
	data, unmap := f.data, f.unmap
	f.data, f.unmap = nil, nil
	if unmap == nil {
		return nil
	}
	if err := unmap(data); err != nil {
		return fmt.Errorf("unmapping %d bytes: %w", len(data), err)
	}
	return nil
}
