package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

const (
	// trendBlocks is the number of parts of the window that are looked at for a
	// trend. It is significant when of their 45 pairs at most mostFalling do not rise
	// (p = 0.0005), and counts when it is far: at least leastRise requests.
	trendBlocks = 10
	mostFalling = 5
	leastRise   = 5
	// farRise is the rise, over the median, from which on requests that wait are a
	// backlog that grows.
	farRise = 0.5
	// coldStart is the part of the later level below which the first tenth of the
	// window was not warm.
	coldStart = 0.8
	// muchCut is the share of cut requests that makes the rest a selection.
	muchCut = 0.02
)

// warnSimulated adds what makes a simulation say less than it seems to.
func (c *Collector) warnSimulated(r *Report) {
	if c.run.Kind != Simulate {
		return
	}
	c.warnTrend(r)
	q := r.Requests
	if r.aborted() == "" && q.Cut > 0 && float64(q.Cut) > muchCut*float64(q.Scheduled) {
		c.note(r, "much_cut", "%s of the requests had not ended when the drain did, and their times are not in tpot and e2e: a longer --drain waits for them", percent(shortShare(float64(q.Cut)/float64(q.Scheduled))))
	}
	if n := q.Failures[record.HTTPFailure(400)]; n > 0 {
		c.note(r, "refused", "%s refused, being longer than max_model_len or than the whole KV cache: a larger --max-model-len, or more room for the cache", were(n, "request"))
	}
	if length := windowLength(c.run.Window); r.E2E != nil && r.E2E.P50 > length {
		c.note(r, "window_short", "half of the requests take longer than the whole window of %s: what is counted inside of it (tokens/s, completed/s) is mostly of requests that began before it, or end after; a longer --duration", units.Seconds(length))
	}
	if thin := thinTails(r); len(thin) > 0 {
		c.note(r, "thin_tail", "p99 of %s rests on fewer than five requests: more of them (--duration, --requests) or more seeds (--repeat)", strings.Join(thin, ", "))
	}
	var rough []string
	for _, m := range r.rows() {
		if m.key != "icl_s" && m.dist != nil && m.dist.Approximate {
			rough = append(rough, m.name)
		}
	}
	if len(rough) > 0 {
		c.note(r, "approximate", "the values of %s are too many to keep; their percentiles come from buckets of at most 0.1 %%", strings.Join(rough, ", "))
	}
}

// were writes what happened to a number of things: "1 request was".
func were(n int, thing string) string {
	if n == 1 {
		return count(n, thing) + " was"
	}
	return count(n, thing) + " were"
}

// thinTails are the metrics whose p99 is of too few requests.
func thinTails(r *Report) (names []string) {
	for _, m := range r.rows() {
		if m.dist != nil && m.dist.IsThin("p99") {
			names = append(names, m.name)
		}
	}
	return names
}

// warnTrend looks at who waits and who runs from the beginning to the end of the
// window, under a load that is to be even.
func (c *Collector) warnTrend(r *Report) {
	window := c.run.Window
	if c.run.AskedRPS == 0 && !c.run.ClosedLoop || len(c.run.Server) == 0 || window.End <= window.Start {
		return
	}
	running := blockMeans(c.run.Server, "running", window)
	inFlight := c.timeline.blocks(window.Start, window.End, trendBlocks)
	if running == nil || inFlight == nil {
		return
	}
	waiting := make([]float64, trendBlocks)
	for i := range waiting {
		waiting[i] = max(0, inFlight[i]-running[i])
	}
	length := windowLength(window)
	rise, falling := stats.Trend(waiting)
	if !c.run.ClosedLoop && falling <= mostFalling && rise > max(leastRise, farRise*middle(waiting)) {
		hour := waiting[trendBlocks-1] + float64(rise/length*3600)
		c.note(r, "saturated", "%s the load is more than the cluster serves: over the window those who wait grew from %s to %s, and would be %s after an hour; all times depend on how long the run is",
			offeredText(r), units.Count(int64(waiting[0]+0.5)), units.Count(int64(waiting[trendBlocks-1]+0.5)), units.Count(int64(hour+0.5)))
		return
	}
	level := middle(running[trendBlocks/2:])
	if running[0] < coldStart*level && level-running[0] > leastRise {
		c.note(r, "warmup_short", "at the start of the window %s requests ran, later %s: it began before the load had built up; a longer --warmup", units.Number(short(running[0])), units.Number(short(level)))
	}
}

func offeredText(r *Report) string {
	if r.Rates.OfferedRPS == nil || r.Rates.CompletedRPS == nil {
		return ""
	}
	return fmt.Sprintf("%s/s come and %s/s end:", units.Number(short(*r.Rates.OfferedRPS)), units.Number(short(*r.Rates.CompletedRPS)))
}

// middle is the upper median.
func middle(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// blockMeans are the means of a gauge over equal parts of the window; nil when one
// of them is unknown.
func blockMeans(samples []record.ServerSample, key string, window record.Window) (out []float64) {
	i := slices.IndexFunc(record.Numbers, func(n record.Number) bool { return n.Key == key })
	points := together(byPage(samples), record.Numbers[i])
	step := (window.End - window.Start) / trendBlocks
	for b := range time.Duration(trendBlocks) {
		g := overTime(points, record.Window{Start: window.Start + b*step, End: window.Start + (b+1)*step})
		if g == nil {
			return nil
		}
		out = append(out, g.Mean)
	}
	return out
}
