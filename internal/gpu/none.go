//go:build !cgo || !linux

package gpu

import "errors"

// List says that this build can not ask: go-nvml needs cgo on Linux.
func List() ([]Device, error) {
	return nil, errors.New("this build has no GPU telemetry: it was made without cgo on Linux")
}
