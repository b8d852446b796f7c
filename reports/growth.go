package reports

import (
	"math"

	"github.com/llmctl/llmctl/reports/record"
)

// growth is what counters of the target gained over the window. What one of
// several pages does not tell is absent; after a restart, everything is.
type growth struct {
	numbers   map[string]*float64          // by the key of record.Numbers
	timings   map[string]*record.Histogram // by the key of record.Timings
	finished  map[string]float64
	restarted bool
}

func growthOf(pages [][]record.ServerSample, window record.Window) growth {
	out := growth{numbers: map[string]*float64{}, timings: map[string]*record.Histogram{}}
	var spans [][]record.ServerSample // of each page, from edge to edge
	for _, page := range pages {
		from, to := record.Edges(page, window)
		span := page[from : to+1]
		for i := 1; i < len(span); i++ {
			out.restarted = out.restarted || span[i].Fell(&span[i-1])
		}
		spans = append(spans, span)
	}
	if out.restarted {
		return out
	}
	for _, n := range record.Numbers {
		if n.Counter {
			out.numbers[n.Key] = sumOver(spans, func(span []record.ServerSample) (float64, bool) { return numberGrowth(span, n) })
		}
	}
	for _, t := range record.Timings {
		out.timings[t.Key] = timingGrowth(spans, t)
	}
	out.finished = finishedGrowth(spans)
	return out
}

// sumOver adds up what every page tells; nil when one does not.
func sumOver(spans [][]record.ServerSample, of func([]record.ServerSample) (float64, bool)) *float64 {
	sum := 0.0
	for _, span := range spans {
		v, ok := of(span)
		if !ok {
			return nil
		}
		sum += v
	}
	sum = rounded(sum)
	return &sum
}

// numberGrowth is from the first sample that has the counter: one that appears
// late may have counted for long before.
func numberGrowth(span []record.ServerSample, n record.Number) (float64, bool) {
	first, last, known := 0.0, 0.0, 0
	for i := range span {
		v := *n.Of(&span[i])
		if math.IsNaN(v) {
			continue
		}
		if known == 0 {
			first = v
		}
		last = v
		known++
	}
	return last - first, known > 1
}

// timingGrowth adds up the histograms of all pages; nil when one has none, or
// when their buckets differ.
func timingGrowth(spans [][]record.ServerSample, t record.Timing) (total *record.Histogram) {
	for _, span := range spans {
		var first, last *record.Histogram
		for i := range span {
			if h := *t.Of(&span[i]); h != nil {
				if first == nil {
					first = h
				}
				last = h
			}
		}
		if first == nil || first == last {
			return nil
		}
		grown, ok := last.Sub(first)
		if ok && total != nil {
			grown, ok = total.Add(grown)
		}
		if !ok {
			return nil
		}
		total = grown
	}
	return total
}

// finishedGrowth adds up the requests that ended, by reason. A reason that
// appears beside others that were there counts from 0. Reasons without an end
// in the window are left out; nil when a page tells none.
func finishedGrowth(spans [][]record.ServerSample) map[string]float64 {
	total := map[string]float64{}
	for _, span := range spans {
		var first, last map[string]float64
		samples := 0
		for i := range span {
			if f := span[i].Finished; f != nil {
				if first == nil {
					first = f
				}
				last = f
				samples++
			}
		}
		if samples < 2 {
			return nil
		}
		for reason, n := range last {
			if n > first[reason] {
				total[reason] += n - first[reason]
			}
		}
	}
	return total
}
