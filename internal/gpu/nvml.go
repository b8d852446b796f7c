//go:build cgo && linux

package gpu

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// List names the NVIDIA GPUs of this machine. It returns an error that says why
// when NVML can not be asked: no driver, or no device.
func List() ([]Device, error) {
	if r := nvml.Init(); r != nvml.SUCCESS {
		return nil, fmt.Errorf("loading NVML: %s", nvml.ErrorString(r))
	}
	defer func() { _ = nvml.Shutdown() }() // an error here leaves nothing to release
	n, r := nvml.DeviceGetCount()
	if r != nvml.SUCCESS {
		return nil, fmt.Errorf("counting GPUs: %s", nvml.ErrorString(r))
	}
	driver, _ := nvml.SystemGetDriverVersion()
	devices := make([]Device, 0, n)
	for i := range n {
		handle, r := nvml.DeviceGetHandleByIndex(i)
		if r != nvml.SUCCESS {
			return nil, fmt.Errorf("opening GPU %d: %s", i, nvml.ErrorString(r))
		}
		device := Device{Driver: driver}
		device.Name, _ = handle.GetName()
		if memory, r := handle.GetMemoryInfo(); r == nvml.SUCCESS {
			device.MemoryBytes = int64(memory.Total)
		}
		devices = append(devices, device)
	}
	return devices, nil
}
