//go:build unix

package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func fileLimit() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the file limit: %w", err)
	}
	return uint64(limit.Cur), nil //nolint:unconvert // signed on some systems
}
