package pages

import "unsafe"

const (
	// huge is the size of a huge page of amd64, and of arm64 with small pages of 4 KiB.
	huge = 2 << 20
	// chunk is the most that an arena allocates for more than one piece. Pages of it that
	// nobody writes to cost nothing.
	chunk = 32 << 20
	// line is the size of a cache line.
	line = 64
)

// Arena hands out zeroed memory, in pieces of chunks that grow with what was asked for.
// A chunk lives as long as any piece of it. The zero Arena is empty. It is used by one
// goroutine at a time.
type Arena struct {
	free []byte
	used int // bytes handed out
}

// Bytes returns n zeroed bytes, aligned to a cache line.
func (a *Arena) Bytes(n int) []byte {
	padded := roundUp(n, line)
	if padded > len(a.free) {
		a.free = chunkOf(max(padded, min(chunk, a.used)))
	}
	b := a.free[:n:padded]
	a.free = a.free[padded:]
	a.used += padded
	return b
}

// chunkOf returns at least size bytes. If they fill a huge page, they begin and end with
// one.
func chunkOf(size int) []byte {
	if size < huge {
		return aligned(size, line)
	}
	b := aligned(roundUp(size, huge), huge)
	advise(b)
	return b
}

func aligned(size, to int) []byte {
	b := make([]byte, size+to)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (to - 1)
	return b[skip:][:size:size]
}

// roundUp rounds to a multiple of a power of two.
func roundUp(n, to int) int { return (n + to - 1) &^ (to - 1) }
