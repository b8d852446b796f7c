//go:build cgo && linux

package gpu

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// List names the NVIDIA GPUs of this machine. It returns an error that says why
// when NVML can not be asked: no driver, or no device.
func List() ([]Device, error) {
	handles, err := open()
	if err != nil {
		return nil, err
	}
	defer shutdown()
	driver, _ := nvml.SystemGetDriverVersion()
	devices := make([]Device, 0, len(handles))
	for _, handle := range handles {
		device := Device{Driver: driver}
		device.Name, _ = handle.GetName()
		if memory, r := handle.GetMemoryInfo(); r == nvml.SUCCESS {
			device.MemoryBytes = int64(memory.Total)
		}
		devices = append(devices, device)
	}
	return devices, nil
}

// Open readies the GPUs of this machine to be read. It returns an error that
// says why when there are none, or NVML can not be asked.
func Open() (*Monitor, error) {
	handles, err := open()
	if err != nil {
		return nil, err
	}
	if len(handles) == 0 {
		shutdown()
		return nil, errors.New("the driver knows no GPU")
	}
	m := &Monitor{release: shutdown}
	for _, handle := range handles {
		m.devices = append(m.devices, device{handle})
	}
	return m, nil
}

// open loads NVML and finds the devices. Without an error, shutdown must follow.
func open() ([]nvml.Device, error) {
	if r := nvml.Init(); r != nvml.SUCCESS {
		return nil, fmt.Errorf("loading NVML: %s", nvml.ErrorString(r))
	}
	n, r := nvml.DeviceGetCount()
	if r != nvml.SUCCESS {
		shutdown()
		return nil, fmt.Errorf("counting GPUs: %s", nvml.ErrorString(r))
	}
	handles := make([]nvml.Device, 0, n)
	for i := range n {
		handle, r := nvml.DeviceGetHandleByIndex(i)
		if r != nvml.SUCCESS {
			shutdown()
			return nil, fmt.Errorf("opening GPU %d: %s", i, nvml.ErrorString(r))
		}
		handles = append(handles, handle)
	}
	return handles, nil
}

func shutdown() { _ = nvml.Shutdown() } // an error here leaves nothing to release

// device reads one GPU. Units are those of the NVML API reference.
type device struct{ nvml.Device }

func (d device) name() string {
	name, _ := d.GetName()
	return name
}

func (d device) powerMilliwatts() (uint32, bool) { return told(d.GetPowerUsage()) }

func (d device) utilizationPercent() (uint32, bool) {
	rates, r := d.GetUtilizationRates()
	return told(rates.Gpu, r)
}

func (d device) memoryUsedBytes() (uint64, bool) {
	memory, r := d.GetMemoryInfo()
	return told(memory.Used, r)
}

func (d device) smClockMHz() (uint32, bool) { return told(d.GetClockInfo(nvml.CLOCK_SM)) }

func (d device) memoryClockMHz() (uint32, bool) { return told(d.GetClockInfo(nvml.CLOCK_MEM)) }

func (d device) temperatureCelsius() (uint32, bool) {
	return told(d.GetTemperature(nvml.TEMPERATURE_GPU))
}

func (d device) energyMillijoules() (uint64, bool) { return told(d.GetTotalEnergyConsumption()) }

// told is a value that the driver gave, if it did.
func told[T any](v T, r nvml.Return) (T, bool) { return v, r == nvml.SUCCESS }
