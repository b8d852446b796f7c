package limits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrNotKnown is for what a system does not tell.
var ErrNotKnown = errors.New("not known on this system")

// Ports are the first and the last port that connections from this machine are
// given. Each connection to one and the same address and port takes one.
func Ports() (low, high int, err error) {
	const file = "/proc/sys/net/ipv4/ip_local_port_range"
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, ErrNotKnown
	}
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(string(data), &low, &high); err != nil {
		return 0, 0, fmt.Errorf("reading %s: %w", file, err)
	}
	return low, high, nil
}
