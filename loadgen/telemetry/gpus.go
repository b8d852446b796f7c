package telemetry

import (
	"context"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// GPUs are the GPUs of this machine, as internal/gpu opens them.
type GPUs interface {
	// Names of the devices, in the order by which they are read.
	Names() []string
	// Read asks one device. Its time is left to the caller.
	Read(device int) record.GPUSample
	// Close ends their use.
	Close()
}

// gpuInterval is the time between readings. The power that NVML tells is a mean
// over up to a second, so more of them would show nothing new.
const gpuInterval = 500 * time.Millisecond

// gpuSampler reads all GPUs through the run.
type gpuSampler struct {
	gpus    GPUs
	now     func() time.Duration
	mark    chan struct{}
	devices []series[record.GPUSample]
}

func newGPUSampler(gpus GPUs, now func() time.Duration) *gpuSampler {
	return &gpuSampler{gpus: gpus, now: now, mark: make(chan struct{}, 1), devices: make([]series[record.GPUSample], len(gpus.Names()))}
}

func (g *gpuSampler) loop(ctx context.Context, at edges) {
	due := func(n int) bool { return len(g.devices) > 0 && g.devices[0].due(n) }
	at.run(ctx, gpuInterval, due, func() bool {
		for i := range g.devices {
			at := g.now()
			sample := g.gpus.Read(i)
			sample.At = at
			g.devices[i].add(sample)
		}
		return len(g.devices) > 0
	})
}

// close returns what was read; the loop must have ended.
func (g *gpuSampler) close() []record.GPUSeries {
	names := g.gpus.Names()
	g.gpus.Close()
	out := make([]record.GPUSeries, len(g.devices))
	for i := range out {
		out[i] = record.GPUSeries{Name: names[i], Samples: g.devices[i].all}
	}
	return out
}
