package gpu

import "github.com/llmctl/llmctl/reports/record"

// reader is one GPU in NVML's own units. ok is false for what the device or its
// driver does not tell.
type reader interface {
	name() string
	powerMilliwatts() (v uint32, ok bool)
	utilizationPercent() (v uint32, ok bool)
	memoryUsedBytes() (v uint64, ok bool)
	smClockMHz() (v uint32, ok bool)
	memoryClockMHz() (v uint32, ok bool)
	temperatureCelsius() (v uint32, ok bool)
	energyMillijoules() (v uint64, ok bool)
}

// Monitor reads the GPUs of this machine while it is open. It is for one
// goroutine.
type Monitor struct {
	devices []reader
	release func()
}

// Names of the devices, in the order by which Read counts them.
func (m *Monitor) Names() []string {
	names := make([]string, len(m.devices))
	for i, d := range m.devices {
		names[i] = d.name()
	}
	return names
}

// Read asks one device what it does. What it does not tell is NaN; the time of
// the sample is left to the caller.
func (m *Monitor) Read(device int) record.GPUSample {
	d, s := m.devices[device], record.UnknownGPU()
	set(&s.PowerW, d.powerMilliwatts, 1e-3)
	set(&s.Utilization, d.utilizationPercent, 1e-2)
	set(&s.MemoryUsedBytes, d.memoryUsedBytes, 1)
	set(&s.SMClockHz, d.smClockMHz, 1e6)
	set(&s.MemoryClockHz, d.memoryClockMHz, 1e6)
	set(&s.TemperatureC, d.temperatureCelsius, 1)
	set(&s.EnergyJ, d.energyMillijoules, 1e-3)
	return s
}

// Close ends the use of the driver.
func (m *Monitor) Close() { m.release() }

// set converts what a device tells to the unit of a sample.
func set[T uint32 | uint64](to *float64, from func() (T, bool), unit float64) {
	if v, ok := from(); ok {
		*to = float64(v) * unit
	}
}
