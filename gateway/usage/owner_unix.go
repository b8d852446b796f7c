//go:build unix && !solaris && !aix

package usage

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes a lock that ends with the file's descriptor, and reports whether nobody
// else has one.
func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
