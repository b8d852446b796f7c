package mapped

// Memory is zeroed memory outside of Go's heap, so that the collector neither counts
// it nor lets garbage grow with it. Little of it, and all where the system gives none,
// is of the heap.
type Memory struct {
	data []byte
	free func([]byte) error // nil where it is of the heap
}

// NewMemory returns size bytes, aligned to 64. Close them.
func NewMemory(size int) *Memory {
	if size >= readBelow {
		if data, err := mapMemory(size); err == nil {
			return &Memory{data, freeMemory}
		}
	}
	return &Memory{data: onHeap(size)}
}

// alignment is that of a cache line, and of the widest vector.
const alignment = 64

// Bytes are the memory. They are gone after Close.
func (m *Memory) Bytes() []byte { return m.data }

// Close gives the memory back. Nothing may touch it any more, in other goroutines
// neither. A second Close does nothing.
func (m *Memory) Close() error {
	data, free := m.data, m.free
	m.data, m.free = nil, nil
	if free == nil {
		return nil
	}
	return free(data)
}
