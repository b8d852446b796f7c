package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/llmctl/llmctl/internal/userfile"
)

// Open opens a regular file and unpacks it when it is gzip or zstd, told by its
// first bytes.
func Open(path string) (io.ReadCloser, error) {
	f, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, 1<<16)
	head, _ := in.Peek(4) // a short file is no compressed one
	unpacked := &unpacked{Reader: in, file: f, done: func() {}}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		unpacked.Reader, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// A larger window than 128 MiB is asked for by no tool unless told to.
		var decoder *zstd.Decoder
		decoder, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(1<<27))
		if err == nil {
			unpacked.Reader, unpacked.done = decoder, decoder.Close
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return unpacked, nil
}

type unpacked struct {
	io.Reader
	file *os.File
	done func() // releases the decoder
}

// Close implements io.Closer.
func (u *unpacked) Close() error {
	u.done()
	return u.file.Close()
}
