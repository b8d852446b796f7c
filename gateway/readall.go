package gateway

import (
	"bytes"
	"errors"
	"io"
)

const (
	// believedLength bounds the memory that is set aside for a body because its header
	// announces so much.
	believedLength = 1 << 20
	// believedTimes is how much more than has come is set aside for one that is longer.
	believedTimes = 8
	// mostPiece bounds the pieces of a body whose length nobody announced.
	mostPiece = 4 << 20
)

// errTooLong is the end of a body beyond the most that may be read.
var errTooLong = errors.New("the body is too long")

// readAll is io.ReadAll for bodies that may be large, of at most so many bytes. Where
// the length is known, -1 if it is not, it takes one piece of memory of the right size,
// or grows to it in a few steps, so that a long body takes little more memory than it
// has bytes; others are put together from pieces, which takes twice as much for a moment.
func readAll(r io.Reader, length, most int64) ([]byte, error) {
	switch {
	case length > most:
		return nil, errTooLong
	case length < 0:
		return readPieces(r, most)
	}
	body := make([]byte, 0, min(length+1, believedLength)) // one more, to see the end
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > most:
			return nil, errTooLong
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, err
		case len(body) == cap(body):
			room := believedTimes * int64(len(body))
			if int64(len(body)) <= length {
				room = min(room, length+1)
			}
			body = append(make([]byte, 0, room), body...)
		}
	}
}

// readPieces reads a body of unknown length. What is too long, or breaks off, is not put
// together.
func readPieces(r io.Reader, most int64) ([]byte, error) {
	var pieces [][]byte
	total := int64(0)
	for piece := make([]byte, 0, 8<<10); ; {
		n, err := r.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		total += int64(n)
		switch {
		case total > most:
			return nil, errTooLong
		case err == io.EOF && len(pieces) == 0:
			return piece, nil
		case err == io.EOF:
			return bytes.Join(append(pieces, piece), nil), nil
		case err != nil:
			return nil, err
		case len(piece) == cap(piece):
			pieces = append(pieces, piece)
			piece = make([]byte, 0, min(2*cap(piece), mostPiece))
		}
	}
}
