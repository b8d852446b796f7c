package record

import (
	"math"
	"time"
)

// GPUSeries is what one GPU of the machine said of itself during a run.
type GPUSeries struct {
	Name    string
	Samples []GPUSample // in order of time
}

// GPUSample is one reading of a GPU. NaN marks what it does not tell.
type GPUSample struct {
	At              time.Duration
	PowerW          float64
	Utilization     float64 // 0..1: share of the last moments in which a kernel ran
	MemoryUsedBytes float64
	SMClockHz       float64
	MemoryClockHz   float64
	TemperatureC    float64
	EnergyJ         float64 // counter, since the driver was loaded
}

type gpuJSON struct {
	Name    string          `json:"name"`
	Samples []gpuSampleJSON `json:"samples,omitempty"`
}

type gpuSampleJSON struct {
	At              seconds  `json:"at_s"`
	PowerW          *float64 `json:"power_w,omitempty"`
	Utilization     *float64 `json:"utilization,omitempty"`
	MemoryUsedBytes *float64 `json:"memory_used_bytes,omitempty"`
	SMClockHz       *float64 `json:"sm_clock_hz,omitempty"`
	MemoryClockHz   *float64 `json:"memory_clock_hz,omitempty"`
	TemperatureC    *float64 `json:"temperature_c,omitempty"`
	EnergyJ         *float64 `json:"energy_j,omitempty"`
}

// UnknownGPU is a reading of a GPU that tells nothing.
func UnknownGPU() GPUSample {
	nan := math.NaN()
	return GPUSample{PowerW: nan, Utilization: nan, MemoryUsedBytes: nan, SMClockHz: nan, MemoryClockHz: nan, TemperatureC: nan, EnergyJ: nan}
}

func gpusToJSON(gpus []GPUSeries) (out []gpuJSON) {
	for _, g := range gpus {
		series := gpuJSON{Name: g.Name}
		for _, s := range g.Samples {
			series.Samples = append(series.Samples, gpuSampleJSON{
				seconds(s.At), known(s.PowerW), known(s.Utilization), known(s.MemoryUsedBytes),
				known(s.SMClockHz), known(s.MemoryClockHz), known(s.TemperatureC), known(s.EnergyJ),
			})
		}
		out = append(out, series)
	}
	return out
}

func gpusFromJSON(in []gpuJSON) (out []GPUSeries) {
	for _, g := range in {
		series := GPUSeries{Name: g.Name}
		for _, s := range g.Samples {
			series.Samples = append(series.Samples, GPUSample{
				time.Duration(s.At), orNaN(s.PowerW), orNaN(s.Utilization), orNaN(s.MemoryUsedBytes),
				orNaN(s.SMClockHz), orNaN(s.MemoryClockHz), orNaN(s.TemperatureC), orNaN(s.EnergyJ),
			})
		}
		out = append(out, series)
	}
	return out
}
