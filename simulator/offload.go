package simulator

import (
	"math"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// hostBlocks is how many blocks of all accelerators together the host keeps. Each
// tensor rank keeps its part of a block; data-parallel ranks have blocks of their own.
func (k *Kind) hostBlocks() int {
	bytes := float64(k.KVBytesPerToken * float64(k.BlockSize) * float64(max(1, k.Facts.Tensor)))
	if k.Serving.Offload.MemoryBytes <= 0 || !(bytes > 0) || k.scheduling().DisablePrefixCache {
		return 0
	}
	return int(min(float64(k.Serving.Offload.MemoryBytes)/bytes, math.MaxInt32-1))
}

// loadTime is how long tokens take from the host to the accelerators: all have
// links of their own, and each moves its part of them.
func (k *Kind) loadTime(tokens int) time.Duration {
	o := &k.Serving.Offload
	bandwidth := o.BandwidthPerS
	if bandwidth == 0 {
		bandwidth = k.Device.HostBytesPerS()
	}
	bytes := float64(k.KVBytesPerToken * float64(tokens) / float64(max(1, k.Facts.Pipeline)))
	return later(seconds(bytes/bandwidth), times(tokens/k.BlockSize, o.LatencyPerBlock))
}

// beginLoads starts the transfers that the last step has asked for. They go over
// the link one after another, beside the steps. What goes the other way, from the
// pool to the host, is copied when it is computed, and delays nobody.
func (p *replica) beginLoads() {
	for _, l := range p.sched.Loads() {
		p.link = later(max(p.link, p.s.now), p.kind.loadTime(l.Tokens))
		p.s.agenda.plan(p.link, loaded{p, l})
	}
}

// loaded is a transfer that is over.
type loaded struct {
	p    *replica
	load sched.Load
}

func (l loaded) happen(*sim) {
	if l.p.state == down {
		return
	}
	l.p.sched.Loaded(l.load)
	if l.p.idle() {
		l.p.step()
	}
}
