package gguf

import (
	"encoding/binary"
	"fmt"
)

// reader takes what it is asked for from the front of a file. After the first mistake
// it gives zeros, and err tells of it.
type reader struct {
	data []byte // all of it
	at   int
	err  error
}

// fail keeps the first mistake.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// left is how many bytes are to come.
func (r *reader) left() uint64 { return uint64(len(r.data) - r.at) }

// take gives the next n bytes, or nil.
func (r *reader) take(n uint64, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n > r.left() {
		r.fail("%s of %d bytes at byte %d is beyond the end of the file", what, n, r.at)
		return nil
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *reader) u32(what string) uint32 {
	if b := r.take(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64(what string) uint64 {
	if b := r.take(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// text takes a string: its length and its bytes.
func (r *reader) text(what string) []byte {
	n := r.u64("length of a " + what)
	return r.take(n, what)
}
