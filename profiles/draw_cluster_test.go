package profiles

import (
	"time"

	"pgregory.net/rapid"
)

// drawSlots sets each slot of a section to a value of its range, or to none.
func drawSlots(t *rapid.T, s section) {
	for _, slot := range s.slots() {
		if !rapid.Bool().Draw(t, slot.name) {
			continue
		}
		number := func() float64 { return rapid.Float64Range(max(slot.as.low, 0), slot.as.high).Draw(t, slot.name+" of") }
		switch p := slot.to.(type) {
		case inside:
			drawSlots(t, p.section)
		case *int:
			*p = int(number())
		case *int64:
			*p = int64(number())
		case *float64:
			*p = number()
		case *time.Duration:
			*p = time.Duration(number())
		case *bool:
			*p = true
		case **time.Duration:
			*p = new(rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(t, slot.name+" of"))
		case **uint64:
			*p = new(rapid.Uint64Max(largestSeed).Draw(t, slot.name+" of"))
		case *string:
			words := slot.words
			if words == nil {
				words = []string{"fp8", "no", "1.0", "a: b"}
			}
			*p = rapid.SampledFrom(words).Draw(t, slot.name+" of")
		}
	}
}

// drawServing draws settings, of those that contradict each other the first.
func drawServing(t *rapid.T) (s Serving) {
	drawSlots(t, &s)
	if s.Policy == "priority" {
		s.Priorities = rapid.MapOfN(rapid.SampledFrom([]string{"interactive", "no", "b-1"}), rapid.IntRange(-9, 9), 1, 3).Draw(t, "priorities")
	}
	if s.Speculative.Tokens == 0 || s.Batching == "static" {
		s.Speculative = Speculative{}
	}
	if s.Offload.MemoryBytes == 0 || s.PrefixCaching == "off" || s.KVLayout == "contiguous" {
		s.Offload = Offload{}
	}
	if s.KVLayout == "contiguous" {
		s.PrefixCaching = "off"
	}
	return s
}

func drawCluster(t *rapid.T) (c Cluster) {
	drawSlots(t, &c)
	c.Router.LoadCap = 0
	if c.Router.Policy != "" {
		c.Router.LoadCap = rapid.SampledFrom([]float64{0, -1, 1, 1.25}).Draw(t, "load cap")
	}
	if g := &c.Gateway; g.MaxQueue == 0 {
		g.Fallback.WhenSaturated = false
	}
	if g := &c.Gateway; g.Fallback.TTFT == 0 || g.Fallback.TPOT == 0 {
		g.Fallback = Fallback{}
	}
	if r := &c.Gateway.Retry; r.Attempts < 2 {
		*r = Retry{Attempts: r.Attempts}
	}
	c.Link, c.Autoscale = Link{}, Autoscale{}
	switch rapid.IntRange(0, 2).Draw(t, "fleet") {
	case 0:
		c.Replicas = 0
		c.Autoscale = Autoscale{Metric: rapid.SampledFrom(AutoscaleMetrics).Draw(t, "metric"), Target: 0.5, Min: 1, Max: 9, Interval: LeastScaleInterval + drawTime(t, "interval")}
	case 1:
		c.Replicas = 0
		for _, role := range Roles[1:] {
			p := Pool{Name: role, Role: role, Replicas: rapid.IntRange(0, 9).Draw(t, "replicas of a pool"), Parallel: Parallel{Tensor: rapid.IntRange(0, 2).Draw(t, "tensor of a pool")}}
			if rapid.Bool().Draw(t, "settings of a pool") {
				p.Serving = drawServing(t)
			}
			c.Pools = append(c.Pools, p)
		}
		c.Link = Link{BandwidthPerS: rapid.Float64Range(1, 1e12).Draw(t, "bandwidth"), Latency: drawTime(t, "latency") / 60}
	}
	for range rapid.IntRange(0, 3).Draw(t, "failures") {
		c.Failures = append(c.Failures, rapid.SampledFrom([]Failure{
			{Kind: "crash", At: time.Second}, {Kind: "slow", Factor: 2.5, For: time.Minute}, {Kind: "outage"}, {Kind: "outage", Target: "replicas", At: time.Hour},
		}).Draw(t, "failure"))
	}
	return c
}
