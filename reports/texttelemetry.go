package reports

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llmctl/llmctl/internal/units"
)

// server is what the target says of itself: load on one line, its own times and
// what it guessed on others.
func (p *page) server(s *Server) {
	if s == nil {
		return
	}
	label := "server"
	line := func(parts []string) {
		if len(parts) > 0 {
			p.field(label, list(parts, ", "))
			label = ""
		}
	}
	var parts []string
	for _, g := range []struct {
		name  string
		gauge *Gauge
		text  func(float64) string
	}{{"queue", s.Queue, units.Number}, {"running", s.Running, units.Number}, {"KV usage", s.KVUsage, percent}} {
		if g.gauge != nil {
			parts = append(parts, fmt.Sprintf("%s mean %s max %s", g.name, g.text(g.gauge.Mean), g.text(g.gauge.Max)))
		}
	}
	if s.Preemptions != nil {
		parts = append(parts, count(int(*s.Preemptions), "preemption"))
	}
	line(parts)
	line(s.timesText())
	line(s.workText())
}

// timesText are the server's own times, which leave out the network and the
// client. The percentiles are interpolated in its buckets, hence ≈.
func (s *Server) timesText() (parts []string) {
	for _, t := range []struct {
		name  string
		times *ServerTimes
	}{{"its own ttft", s.TTFT}, {"tpot", s.TPOT}, {"itl", s.ITL}, {"queued", s.Queued}} {
		if t.times == nil || t.times.P50 == nil {
			continue
		}
		text := fmt.Sprintf("%s p50 ≈ %s", t.name, units.Seconds(*t.times.P50))
		if t.times.P99 != nil {
			text += " p99 ≈ " + units.Seconds(*t.times.P99)
		}
		parts = append(parts, text)
	}
	return parts
}

// ownEnds are the reasons of requests that ended as they should.
var ownEnds = []string{"stop", "length", "all", "ok"}

// workText is speculation, and what ended for other reasons than its own end.
func (s *Server) workText() (parts []string) {
	if sp := s.Speculation; sp != nil && sp.AcceptanceRate != nil {
		text := percent(*sp.AcceptanceRate) + " of draft tokens accepted"
		if sp.TokensPerStep != nil {
			text += fmt.Sprintf(" (%s tokens per step)", units.Number(*sp.TokensPerStep))
		}
		parts = append(parts, text)
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Finished)) {
		if !slices.Contains(ownEnds, reason) {
			parts = append(parts, units.Number(s.Finished[reason])+" ended by "+reason)
		}
	}
	return parts
}

// gpus is a line for the GPUs of each kind, and the energy of all for a token.
func (p *page) gpus(r *Report) {
	label := "gpu"
	for i, g := range r.GPUs {
		if slices.ContainsFunc(r.GPUs[:i], func(o GPU) bool { return o.Name == g.Name }) {
			continue // shown already
		}
		var alike []GPU
		for _, o := range r.GPUs {
			if o.Name == g.Name {
				alike = append(alike, o)
			}
		}
		p.field(label, list(gpuText(alike), ", "))
		label = ""
	}
	if j := r.Rates.JoulesPerOutputToken; j != nil {
		p.field(label, units.Number(*j)+" J per output token")
	}
}

// gpuText is what GPUs of one kind did: power and memory of all of them, the
// mean of the rest.
func gpuText(alike []GPU) []string {
	n := len(alike)
	name := alike[0].Name
	if n > 1 {
		name = fmt.Sprintf("%d × %s", n, name)
	}
	parts := []string{name}
	for _, m := range []struct {
		of   func(GPU) *Gauge
		text func(sum float64) string
	}{
		{func(g GPU) *Gauge { return g.PowerW }, func(sum float64) string { return units.Number(sum) + " W" }},
		{func(g GPU) *Gauge { return g.Utilization }, func(sum float64) string { return percent(sum/float64(n)) + " busy" }},
		{func(g GPU) *Gauge { return g.MemoryUsedBytes }, func(sum float64) string { return units.Bytes(int64(sum)) + " used" }},
		{func(g GPU) *Gauge { return g.SMClockHz }, func(sum float64) string { return units.Number(sum/float64(n)/1e6) + " MHz" }},
		{func(g GPU) *Gauge { return g.TemperatureC }, func(sum float64) string { return units.Number(sum/float64(n)) + " °C" }},
	} {
		sum, known := 0.0, true
		for _, g := range alike {
			if gauge := m.of(g); gauge != nil {
				sum += gauge.Mean
			} else {
				known = false
			}
		}
		if known {
			parts = append(parts, m.text(sum))
		}
	}
	return parts
}
