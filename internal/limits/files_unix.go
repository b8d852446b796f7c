//go:build unix

package limits

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Files is how many files and sockets this process may have open. The Go
// runtime has raised the soft limit to the hard one by the time it is asked.
func Files() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the file limit: %w", err)
	}
	return uint64(limit.Cur), nil //nolint:unconvert // signed on some systems
}
