package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/llmctl/llmctl/internal/units"
)

// Bounds of what is held of a file at a time.
const (
	sniffed = 1 << 16  // what the format is told by
	maxRow  = 64 << 20 // one row; a prompt of a million tokens has about 5 MB
)

// lines reads a file line by line.
type lines struct {
	in   *bufio.Reader
	n    int    // the number of the line that was read last, from 1
	long []byte // a line that the reader's buffer can not hold
}

// next returns the next line that is not blank, without its end. The slice is
// good until the next call. tooLong reports a line of more than maxRow bytes, of
// which nothing is returned. The error is io.EOF at the end.
func (l *lines) next() (line []byte, tooLong bool, err error) {
	for {
		line, tooLong, err = l.read()
		if err != nil || tooLong || len(bytes.TrimSpace(line)) > 0 {
			return line, tooLong, err
		}
	}
}

func (l *lines) read() (line []byte, tooLong bool, err error) {
	l.n++
	line, err = l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if !tooLong {
				l.long = append(l.long, line...)
			}
			tooLong = tooLong || len(l.long) > maxRow
			line, err = l.in.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	if errors.Is(err, io.EOF) && (len(line) > 0 || tooLong) {
		err = nil
	}
	if tooLong {
		l.long, line = nil, nil
	}
	return bytes.TrimRight(line, "\r\n"), tooLong, err
}

// each calls row with every line of the file; one that is too long is broken.
func (l *lines) each(b *builder, row func(line []byte)) error {
	for {
		line, tooLong, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("line %d: %w", l.n, err)
		case b.full():
			return errTooLarge
		}
		b.report.Rows++
		if tooLong {
			b.broken(l.n, 1, "line longer than "+units.Bytes(maxRow), "")
			continue
		}
		row(line)
	}
}
