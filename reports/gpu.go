package reports

import (
	"math"

	"github.com/llmctl/llmctl/reports/record"
)

// gpus sums up what the GPUs of this machine did over the window, and divides
// their energy by the output tokens that arrived in it.
func (c *Collector) gpus(r *Report) {
	total, known := 0.0, len(c.run.GPUs) > 0
	for _, series := range c.run.GPUs {
		g := gpuSection(series, c.run.Window)
		r.GPUs = append(r.GPUs, g)
		if g.EnergyJ == nil {
			known = false
			continue
		}
		total += *g.EnergyJ
	}
	if known {
		r.Rates.JoulesPerOutputToken = ratio(total, c.outputInside)
	}
}

func gpuSection(series record.GPUSeries, window record.Window) GPU {
	over := func(of func(record.GPUSample) float64) *Gauge { return overTime(gpuPoints(series.Samples, of), window) }
	g := GPU{
		Name:            record.Printable(series.Name),
		PowerW:          over(func(s record.GPUSample) float64 { return s.PowerW }),
		Utilization:     over(func(s record.GPUSample) float64 { return s.Utilization }),
		MemoryUsedBytes: over(func(s record.GPUSample) float64 { return s.MemoryUsedBytes }),
		SMClockHz:       over(func(s record.GPUSample) float64 { return s.SMClockHz }),
		MemoryClockHz:   over(func(s record.GPUSample) float64 { return s.MemoryClockHz }),
		TemperatureC:    over(func(s record.GPUSample) float64 { return s.TemperatureC }),
	}
	switch joules, ok := counted(series.Samples, window); {
	case ok:
		joules = rounded(joules)
		g.EnergyJ, g.EnergySource = &joules, "counter"
	case g.PowerW != nil:
		joules = rounded(g.PowerW.Mean * windowLength(window))
		g.EnergyJ, g.EnergySource = &joules, "power"
	}
	return g
}

func gpuPoints(samples []record.GPUSample, of func(record.GPUSample) float64) []point {
	points := make([]point, len(samples))
	for i, s := range samples {
		points[i] = point{s.At, of(s)}
	}
	return points
}

// counted is the energy over the window by the GPU's own counter, which is read
// a little beside its edges: what it gained between them, scaled to the
// window's length. ok is false without a counter, or when it fell.
func counted(samples []record.GPUSample, window record.Window) (joules float64, ok bool) {
	var before, after *record.GPUSample
	for i := range samples {
		s := &samples[i]
		if math.IsNaN(s.EnergyJ) {
			continue
		}
		if before == nil || (s.At-window.Start).Abs() < (before.At-window.Start).Abs() {
			before = s
		}
		if after == nil || (s.At-window.End).Abs() <= (after.At-window.End).Abs() {
			after = s
		}
	}
	if before == nil || after.At <= before.At || after.EnergyJ < before.EnergyJ {
		return 0, false
	}
	return (after.EnergyJ - before.EnergyJ) / inSeconds(after.At-before.At) * windowLength(window), true
}
