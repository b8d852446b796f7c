package mapped

import (
	"runtime"
	"testing"
	"unsafe"
)

func TestMemoryIsZeroAndAligned(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
	}{
		{"none", 0}, {"little", 100}, {"largest of the heap", readBelow - 1}, {"smallest that is mapped", readBelow}, {"no whole number of pages", 3<<20 + 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMemory(c.size)
			data := m.Bytes()
			if len(data) != c.size {
				t.Fatalf("%d bytes, want %d", len(data), c.size)
			}
			if at := uintptr(unsafe.Pointer(unsafe.SliceData(data))); at%alignment != 0 {
				t.Errorf("at %#x, want a multiple of %d", at, alignment)
			}
			for i := range data {
				if data[i] != 0 {
					t.Fatalf("byte %d is %d", i, data[i])
				}
				data[i] = 1
			}
			for range 2 {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
			if m.Bytes() != nil {
				t.Error("bytes after Close")
			}
		})
	}
}

func TestMuchMemoryIsNotOfTheHeap(t *testing.T) {
	const much = 256 << 20
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := heap()
	m := NewMemory(much)
	defer func() { _ = m.Close() }()
	if after := heap(); after > before+much/2 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}
