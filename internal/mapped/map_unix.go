//go:build unix

package mapped

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps size bytes, which are more than none.
func mapFile(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
}

func unmapFile(data []byte) error { return unix.Munmap(data) }

// mapMemory maps size bytes, which are more than none, without a file.
func mapMemory(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func freeMemory(data []byte) error { return unix.Munmap(data) }
