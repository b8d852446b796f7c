package wire

import (
	"io"
	"sync"
	"time"
)

// ReadSize is the size of one read from a connection. Small reads make a client
// late when many streams are busy (vllm-project/vllm#39963).
const ReadSize = 16 << 10

var buffers = sync.Pool{New: func() any { return new([ReadSize]byte) }}

// Read hands on what each read of r returns, and when it did, until push wants
// no more, which is no error, or r ends; io.EOF is returned as such. p is valid
// until push returns.
func Read(r io.Reader, now func() time.Duration, push func(p []byte, now time.Duration) (more bool)) error {
	buffer := buffers.Get().(*[ReadSize]byte)
	defer buffers.Put(buffer)
	for {
		n, err := r.Read(buffer[:])
		at := now()
		if n > 0 && !push(buffer[:n], at) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
