//go:build !cgo || !linux

package gpu

import "errors"

var errNoTelemetry = errors.New("this build has no GPU telemetry: it was made without cgo on Linux")

// List says that this build can not ask: go-nvml needs cgo on Linux.
func List() ([]Device, error) { return nil, errNoTelemetry }

// Open says the same.
func Open() (*Monitor, error) { return nil, errNoTelemetry }
