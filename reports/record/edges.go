package record

import (
	"math"
	"slices"
)

// Edges are the indices of the samples of one page nearest to the start and to
// the end of a window, between which its counters are read. Where one sample is
// nearest to both, its neighbours stand in. −1 when there are none.
func Edges(samples []ServerSample, window Window) (from, to int) {
	if len(samples) == 0 {
		return -1, -1
	}
	for i, s := range samples {
		if (s.At - window.Start).Abs() < (samples[from].At - window.Start).Abs() {
			from = i
		}
		if (s.At - window.End).Abs() <= (samples[to].At - window.End).Abs() {
			to = i
		}
	}
	if from >= to {
		from, to = max(to-1, 0), min(from+1, len(samples)-1)
	}
	return from, to
}

// Fell reports whether a counter of a page is lower than it was in an earlier
// sample: the server was restarted, or another one answered.
func (s *ServerSample) Fell(earlier *ServerSample) bool {
	for _, n := range Numbers {
		before, after := *n.Of(earlier), *n.Of(s)
		if n.Counter && !math.IsNaN(before) && !math.IsNaN(after) && after < before {
			return true
		}
	}
	for reason, before := range earlier.Finished {
		if after, ok := s.Finished[reason]; ok && after < before {
			return true
		}
	}
	for _, t := range Timings {
		before, after := *t.Of(earlier), *t.Of(s)
		if before != nil && after != nil {
			if _, grown := after.Sub(before); !grown {
				return true
			}
		}
	}
	return false
}

// Thin leaves histograms and reasons out of those samples of a page that nobody
// needs them of: what is told of them is their growth over the window, for
// which its edges do, when one appears, and whether one fell between two
// samples. It keeps the files of long runs small.
func Thin(samples []ServerSample, window Window) []ServerSample {
	needed := make([]bool, len(samples))
	if from, to := Edges(samples, window); from >= 0 {
		needed[from], needed[to] = true, true
	}
	for i := 1; i < len(samples); i++ {
		switch {
		case samples[i].Fell(&samples[i-1]):
			needed[i-1], needed[i] = true, true
		case samples[i].says(&samples[i-1]):
			needed[i] = true
		}
	}
	samples = slices.Clone(samples)
	for i := range samples {
		if needed[i] {
			continue
		}
		samples[i].Finished = nil
		for _, t := range Timings {
			*t.Of(&samples[i]) = nil
		}
	}
	return samples
}

// says reports whether a sample has histograms or reasons that an earlier one
// lacks.
func (s *ServerSample) says(earlier *ServerSample) bool {
	if s.Finished != nil && earlier.Finished == nil {
		return true
	}
	return slices.ContainsFunc(Timings, func(t Timing) bool { return *t.Of(s) != nil && *t.Of(earlier) == nil })
}
