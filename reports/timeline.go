package reports

import (
	"slices"
	"time"
)

// timelineBins bounds the memory of a timeline (four floats a bin) and its
// resolution: between 1/4096 and 1/8192 of the time that it spans.
const timelineBins = 8192

// timeline is what happened when, in bins of equal width. It starts with bins
// of about a millisecond and doubles them whenever the run outgrows it, so one
// pass over the records is enough and memory does not depend on their number.
type timeline struct {
	shift uint          // a bin is 1<<shift nanoseconds wide: finding one is no division
	bins  []timelineBin // one more than timelineBins, for the step after the last
}

// width of one bin.
func (t *timeline) width() time.Duration { return 1 << t.shift }

// timelineBin keeps concurrency as differences: the mean number of requests in
// flight in bin i is part[i] + step[0] + … + step[i].
type timelineBin struct{ part, step, output, completed float64 }

func newTimeline() *timeline {
	return &timeline{shift: 20, bins: make([]timelineBin, timelineBins+1)}
}

// at is the bin of a moment; what is before the run counts as its start.
func (t *timeline) at(moment time.Duration) int {
	moment = max(moment, 0)
	for moment>>t.shift >= timelineBins {
		t.double()
	}
	return int(moment >> t.shift)
}

// double merges the bins two by two. With A(i) the mean of bin i and S(i) the
// sum of steps up to it, the merged mean is (A(2i) + A(2i+1)) / 2 =
// (part(2i) + part(2i+1) + step(2i+1)) / 2 + S(2i), so that the new S(i) must be
// the old S(2i).
func (t *timeline) double() {
	carry, after := 0.0, t.bins[timelineBins].step
	for i := range timelineBins / 2 {
		a, b := t.bins[2*i], t.bins[2*i+1]
		t.bins[i] = timelineBin{
			part:      (a.part + b.part + b.step) / 2,
			step:      carry + a.step,
			output:    a.output + b.output,
			completed: a.completed + b.completed,
		}
		carry = b.step
	}
	clear(t.bins[timelineBins/2:])
	t.bins[timelineBins/2].step = carry + after
	t.shift++
}

// inFlight adds one request that was in flight between two moments.
func (t *timeline) inFlight(from, to time.Duration) {
	if to <= from {
		return
	}
	t.at(to) // grow first: an index is good until the next growth
	t.edge(from, 1)
	t.edge(to, -1)
}

func (t *timeline) edge(moment time.Duration, sign float64) {
	i := t.at(moment)
	rest := 1 - float64(max(moment, 0)-time.Duration(i)*t.width())/float64(t.width())
	t.bins[i].part += sign * rest
	t.bins[i+1].step += sign
}

func (t *timeline) output(moment time.Duration, tokens float64) {
	i := t.at(moment)
	t.bins[i].output += tokens
}

func (t *timeline) complete(moment time.Duration) {
	i := t.at(moment)
	t.bins[i].completed++
}

// levels are the mean numbers in flight of the bins from start to end, the first of
// which has the number first; end must be after start.
func (t *timeline) levels(start, end time.Duration) (first int, levels []float64) {
	last := t.at(end - 1) // the later one first: it may double the bins
	first = t.at(start)
	levels = make([]float64, 0, last-first+1)
	sum := 0.0
	for i := range last + 1 {
		sum += t.bins[i].step
		if i >= first {
			levels = append(levels, t.bins[i].part+sum)
		}
	}
	return first, levels
}

// blocks are the mean numbers in flight of equal parts of the time from start to
// end; nil where the bins are too coarse to tell them apart.
func (t *timeline) blocks(start, end time.Duration, parts int) []float64 {
	_, levels := t.levels(start, end)
	if len(levels) < parts {
		return nil
	}
	out := make([]float64, parts)
	for i := range out {
		part := levels[i*len(levels)/parts : (i+1)*len(levels)/parts]
		for _, v := range part {
			out[i] += v
		}
		out[i] /= float64(len(part))
	}
	return out
}

// plateauShare is the part of the plateau from which on a run counts as steady.
const plateauShare = 0.95

// steady returns the part of the window between the first and the last bin in
// which concurrency is at least 95 % of its plateau, and the output tokens and
// completed requests in it. The plateau is the median over the time of the
// window: a ramp and a drain that take less than half of it do not move it.
func (t *timeline) steady(start, end time.Duration) (s steadyPart, ok bool) {
	if end <= start {
		return s, false
	}
	first, levels := t.levels(start, end)
	plateau := slices.Sorted(slices.Values(levels))[len(levels)/2]
	// Differences of many additions leave dust of 1e-12 where nothing is in flight.
	if plateau < 1e-6 {
		return s, false
	}
	high := func(level float64) bool { return level >= plateauShare*plateau }
	low := slices.IndexFunc(levels, high)
	top := len(levels) - 1
	for !high(levels[top]) {
		top--
	}
	s.start = max(start, time.Duration(first+low)*t.width())
	s.end = min(end, time.Duration(first+top+1)*t.width())
	for i, bin := range t.bins[first+low : first+top+1] {
		s.output += bin.output
		s.ended += bin.completed
		if bin.completed > 0 && s.firstEnd == 0 {
			s.firstEnd = max(s.start, time.Duration(first+low+i+1)*t.width())
			continue
		}
		s.completed += bin.completed
	}
	return s, s.end > s.start
}

// steadyPart is the steady part of a window and what happened in it: output tokens,
// requests that ended, and those of them that ended after the first end of one.
type steadyPart struct {
	start, end, firstEnd     time.Duration
	output, ended, completed float64
}

// completedRPS is the rate of completed requests. Where no request could have ended
// before some time after the start of the part, which is so in a run that is hardly
// longer than its requests, it is counted from the first end on, which is not
// counted itself: a rate over the whole would be too small. Elsewhere a time without
// ends is a stall, and belongs to the rate.
func (s steadyPart) completedRPS(possible time.Duration) *float64 {
	if possible <= s.start {
		return ratio(s.ended, inSeconds(s.end-s.start))
	}
	if s.completed == 0 || s.end <= s.firstEnd {
		return nil
	}
	return ratio(s.completed, inSeconds(s.end-s.firstEnd))
}
