package mapped

import "unsafe"

// onHeap is memory of Go's, aligned like mapped memory: the collector does not move it.
func onHeap(size int) []byte {
	data := make([]byte, size+alignment-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(data))) % alignment
	return data[skip:][:size:size]
}
