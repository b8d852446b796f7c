package reports

import (
	"math"
	"slices"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// Series is what the target said of itself over time, in intervals of equal length
// from the start of the run on. An interval of which nothing is known is null.
type Series struct {
	IntervalS float64   `json:"interval_s"`
	TS        []float64 `json:"t_s,omitempty"` // where each interval begins
	Levels
	Replicas   []*float64      `json:"replicas,omitempty"` // that told something, where there are several
	PerReplica []ReplicaSeries `json:"per_replica,omitempty"`
}

// ReplicaSeries is that of one of several pages, from the start of the run on.
type ReplicaSeries struct {
	Page      string  `json:"page"`
	IntervalS float64 `json:"interval_s"`
	Levels
}

// Levels are the quantities of a Series: gauges as their mean over the interval,
// what is counted as its growth in it.
type Levels struct {
	Queue       []*float64 `json:"queue,omitempty"`
	Running     []*float64 `json:"running,omitempty"`
	BatchTokens []*float64 `json:"batch_tokens,omitempty"` // tokens of a step, those of prompts included
	KVUsage     []*float64 `json:"kv_usage,omitempty"`     // 0..1
	Preemptions []*float64 `json:"preemptions,omitempty"`
	HitRate     []*float64 `json:"prefix_hit_rate,omitempty"`
}

const (
	// seriesPoints bounds a series; all per-replica series together have at most
	// pagePoints points each way, and none is there when that leaves too few.
	seriesPoints    = 512
	pagePoints      = 2048
	leastPagePoints = 32
)

// seriesSection is what the samples of the target say over time; nil when they are
// too few to.
func seriesSection(samples []record.ServerSample) *Series {
	pages := byPage(samples)
	interval, end := grid(pages)
	if interval == 0 {
		return nil
	}
	for end/interval > seriesPoints {
		interval *= 2
	}
	n := int(end / interval)
	out := &Series{IntervalS: inSeconds(interval), Levels: levels(pages, interval, n)}
	for i := range n {
		out.TS = append(out.TS, inSeconds(time.Duration(i)*interval))
	}
	if len(pages) < 2 {
		return out
	}
	out.Replicas = means(alive(pages), interval, n)
	for ; n*len(pages) > pagePoints; n /= 2 {
		interval *= 2
	}
	if n < leastPagePoints {
		return out
	}
	for _, page := range pages {
		out.PerReplica = append(out.PerReplica, ReplicaSeries{page[0].Page, inSeconds(interval), levels([][]record.ServerSample{page}, interval, n)})
	}
	return out
}

// grid is the time between two samples of a page, as most of them have it and
// rounded up to a tenth of a second, and the time of the last one.
func grid(pages [][]record.ServerSample) (interval, end time.Duration) {
	var gaps []time.Duration
	for _, page := range pages {
		for i := 1; i < len(page); i++ {
			if gap := page[i].At - page[i-1].At; gap > 0 {
				gaps = append(gaps, gap)
			}
		}
		if len(page) > 0 {
			end = max(end, page[len(page)-1].At)
		}
	}
	if len(gaps) < 2 {
		return 0, 0
	}
	slices.Sort(gaps)
	const tenth = 100 * time.Millisecond
	interval = (gaps[len(gaps)/2] + tenth/2) / tenth * tenth
	interval = max(interval, tenth)
	if end < 2*interval {
		return 0, 0
	}
	return interval, end
}

// levels are the quantities over n intervals of what the pages say together.
func levels(pages [][]record.ServerSample, interval time.Duration, n int) (l Levels) {
	counters := map[string][]*float64{}
	for _, number := range record.Numbers {
		switch number.Key {
		case "waiting":
			l.Queue = means(together(pages, number), interval, n)
		case "running":
			l.Running = means(together(pages, number), interval, n)
		case "kv_usage":
			l.KVUsage = means(together(pages, number), interval, n)
		case "preemptions", "steps", "step_tokens", "prefix_queries", "prefix_hits":
			counters[number.Key] = growths(pages, number, interval, n)
		}
	}
	l.Preemptions = counters["preemptions"]
	l.BatchTokens = quotients(counters["step_tokens"], counters["steps"])
	l.HitRate = quotients(counters["prefix_hits"], counters["prefix_queries"])
	return l
}

// alive is the number of pages that say something, at each time at which one does
// or does not any more.
func alive(pages [][]record.ServerSample) []point {
	told := record.Number{Of: func(s *record.ServerSample) *float64 {
		v := math.NaN()
		if !s.Empty() {
			v = 1
		}
		return &v
	}}
	return together(pages, told)
}

// means are the time-weighted means of points over n intervals; nil when nothing
// is known at all.
func means(points []point, interval time.Duration, n int) []*float64 {
	sums, known := make([]float64, n), make([]time.Duration, n)
	for i, p := range points {
		until := time.Duration(n) * interval
		if i+1 < len(points) {
			until = min(until, points[i+1].at)
		}
		if math.IsNaN(p.value) {
			continue
		}
		for at := p.at; at < until; {
			bin := int(at / interval)
			next := min(until, time.Duration(bin+1)*interval)
			sums[bin] += float64(p.value * float64(next-at))
			known[bin] += next - at
			at = next
		}
	}
	out := make([]*float64, n)
	some := false
	for i := range out {
		if known[i] > 0 {
			v := short(sums[i] / float64(known[i]))
			out[i], some = &v, true
		}
	}
	if !some {
		return nil
	}
	return out
}

// growths are what a counter of each page gains in n intervals, added up; nil when
// no page counts. One that falls has begun anew, and counts from 0.
func growths(pages [][]record.ServerSample, n record.Number, interval time.Duration, bins int) []*float64 {
	sums, some := make([]float64, bins), false
	for _, page := range pages {
		last := math.NaN()
		for i := range page {
			v := *n.Of(&page[i])
			if math.IsNaN(v) {
				continue
			}
			grown := v - last
			if grown < 0 {
				grown = v
			}
			// What grew until a sample grew in the interval before it.
			if bin := int((page[i].At - 1) / interval); !math.IsNaN(last) && bin >= 0 && bin < bins {
				sums[bin] += grown
			}
			last, some = v, true
		}
	}
	if !some {
		return nil
	}
	out := make([]*float64, bins)
	for i := range out {
		v := short(sums[i])
		out[i] = &v
	}
	return out
}

// quotients are a ÷ b where b is not 0; nil when that is nowhere.
func quotients(a, b []*float64) []*float64 {
	if a == nil || b == nil {
		return nil
	}
	out := make([]*float64, len(a))
	some := false
	for i := range out {
		if *b[i] > 0 {
			v := short(*a[i] / *b[i])
			out[i], some = &v, true
		}
	}
	if !some {
		return nil
	}
	return out
}

// changes reports whether the number of replicas does.
func (s *Series) changes() bool {
	if s == nil {
		return false
	}
	var first *float64
	for _, n := range s.Replicas {
		if first == nil {
			first = n
		}
		if n != nil && *n != *first {
			return true
		}
	}
	return false
}
