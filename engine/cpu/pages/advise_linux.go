package pages

import "golang.org/x/sys/unix"

// advise asks for huge pages. Memory works as well without, so that a kernel built
// without them is no error.
func advise(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
