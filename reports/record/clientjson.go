package record

import "time"

// clientJSON is a Client in run.json.
type clientJSON struct {
	CPUFraction *float64 `json:"cpu_fraction,omitempty"`
	GCPauseP99  seconds  `json:"gc_pause_p99_s"`
	MaxLag      seconds  `json:"max_lag_s,omitempty"`

	SchedLatencyP99 *seconds `json:"sched_latency_p99_s,omitempty"`
	PeakRSSBytes    *int     `json:"peak_rss_bytes,omitempty"`
	PeakHeapBytes   *int     `json:"peak_heap_bytes,omitempty"`
	PeakGoroutines  *int     `json:"peak_goroutines,omitempty"`
	CPUSteal        *float64 `json:"cpu_steal,omitempty"`
}

func clientToJSON(c Client) clientJSON {
	out := clientJSON{
		GCPauseP99: seconds(c.GCPauseP99), MaxLag: seconds(c.MaxLag),
		PeakRSSBytes: orNil(c.PeakRSSBytes), PeakHeapBytes: orNil(c.PeakHeapBytes), PeakGoroutines: orNil(c.PeakGoroutines),
		CPUSteal: c.CPUSteal,
	}
	if c.CPUFraction >= 0 {
		out.CPUFraction = known(c.CPUFraction)
	}
	if d, ok := c.SchedLatencyP99.Since(); ok {
		out.SchedLatencyP99 = (*seconds)(&d)
	}
	return out
}

func clientFromJSON(in clientJSON) Client {
	c := Client{
		CPUFraction: -1, GCPauseP99: time.Duration(in.GCPauseP99), MaxLag: time.Duration(in.MaxLag),
		PeakRSSBytes: orAbsent(in.PeakRSSBytes), PeakHeapBytes: orAbsent(in.PeakHeapBytes), PeakGoroutines: orAbsent(in.PeakGoroutines),
		CPUSteal: in.CPUSteal,
	}
	if in.CPUFraction != nil {
		c.CPUFraction = *in.CPUFraction
	}
	if in.SchedLatencyP99 != nil {
		c.SchedLatencyP99 = At(time.Duration(*in.SchedLatencyP99))
	}
	return c
}

func orNil(c Count) *int {
	if n, ok := c.Value(); ok {
		return &n
	}
	return nil
}

// orAbsent reads a count; one that can not be is absent.
func orAbsent(n *int) Count {
	if n == nil || *n < 0 {
		return 0
	}
	return Counted(*n)
}
