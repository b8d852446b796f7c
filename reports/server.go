package reports

import (
	"math"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// serverSection sums up the scrapes of the window: gauges over the samples in
// it, counters as the increase from the last sample before it to the first one
// after it. Nil when there are none.
func serverSection(samples []record.ServerSample, window record.Window) *Server {
	inside, bracket := cutSamples(samples, window)
	if len(bracket) == 0 {
		return nil
	}
	return &Server{
		Samples:          len(inside),
		Queue:            gauge(inside, func(s record.ServerSample) float64 { return s.Waiting }),
		Running:          gauge(inside, func(s record.ServerSample) float64 { return s.Running }),
		KVUsage:          gauge(inside, func(s record.ServerSample) float64 { return s.KVUsage }),
		Preemptions:      increase(bracket, func(s record.ServerSample) float64 { return s.Preemptions }),
		PromptTokens:     increase(bracket, func(s record.ServerSample) float64 { return s.PromptTokens }),
		GenerationTokens: increase(bracket, func(s record.ServerSample) float64 { return s.GenerationTokens }),
		PrefixQueries:    increase(bracket, func(s record.ServerSample) float64 { return s.PrefixQueries }),
		PrefixHits:       increase(bracket, func(s record.ServerSample) float64 { return s.PrefixHits }),
	}
}

// cutSamples returns the samples inside the window, and those with their
// neighbours on either side.
func cutSamples(samples []record.ServerSample, window record.Window) (inside, bracket []record.ServerSample) {
	from, to := len(samples), 0
	for i, s := range samples {
		if s.At >= window.Start && s.At <= window.End {
			from, to = min(from, i), i+1
		}
	}
	if from >= to { // none inside: the neighbours are all there is
		from = 0
		for from < len(samples) && samples[from].At < window.Start {
			from++
		}
		to = from
	}
	return samples[from:to], samples[max(from-1, 0):min(to+1, len(samples))]
}

func gauge(samples []record.ServerSample, value func(record.ServerSample) float64) *Gauge {
	sum, n, highest := 0.0, 0, math.Inf(-1)
	for _, s := range samples {
		if v := value(s); !math.IsNaN(v) {
			sum += v
			n++
			highest = max(highest, v)
		}
	}
	if n == 0 {
		return nil
	}
	return &Gauge{Mean: rounded(sum / float64(n)), Max: rounded(highest)}
}

// increase is the growth of a counter; one that falls was reset by a restart,
// and what it shows from then on is new.
func increase(samples []record.ServerSample, value func(record.ServerSample) float64) *float64 {
	sum, known := 0.0, 0
	last := math.NaN()
	for _, s := range samples {
		v := value(s)
		if math.IsNaN(v) {
			continue
		}
		if known > 0 {
			if v >= last {
				sum += v - last
			} else {
				sum += v
			}
		}
		last = v
		known++
	}
	if known < 2 {
		return nil
	}
	sum = rounded(sum)
	return &sum
}

// windowLength is the length of the window in seconds.
func windowLength(w record.Window) float64 { return inSeconds(max(w.End-w.Start, time.Duration(0))) }
