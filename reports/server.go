package reports

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// serverSection sums up the scrapes of the target's pages: gauges over the time
// of the window, counters as their growth between the scrapes nearest to its
// edges. Several pages are parts of one server: what they count is added up, and
// is absent when one of them does not tell. Nil when there are no scrapes.
func serverSection(samples []record.ServerSample, window record.Window) *Server {
	if len(samples) == 0 {
		return nil
	}
	pages := byPage(samples)
	out := &Server{Pages: len(pages)}
	for _, s := range samples {
		if s.At >= window.Start && s.At <= window.End {
			out.Samples++
		}
	}
	growth := growthOf(pages, window)
	out.Restarted = growth.restarted
	gauges := map[string]**Gauge{"running": &out.Running, "waiting": &out.Queue, "kv_usage": &out.KVUsage}
	counters := map[string]**float64{
		"preemptions": &out.Preemptions, "prompt_tokens": &out.PromptTokens, "generation_tokens": &out.GenerationTokens,
		"prefix_queries": &out.PrefixQueries, "prefix_hits": &out.PrefixHits,
	}
	for _, n := range record.Numbers {
		if to := gauges[n.Key]; to != nil {
			*to = gauge(pages, window, n)
		}
		if to := counters[n.Key]; to != nil {
			*to = growth.numbers[n.Key]
		}
	}
	out.Finished = growth.finished
	out.Speculation = speculation(pages, window, growth.numbers)
	times := map[string]**ServerTimes{"ttft_s": &out.TTFT, "tpot_s": &out.TPOT, "itl_s": &out.ITL, "queue_s": &out.Queued, "e2e_s": &out.E2E}
	for key, to := range times {
		*to = serverTimes(growth.timings[key])
	}
	return out
}

// byPage takes the samples apart by the page that they are of, each in order of
// time.
func byPage(samples []record.ServerSample) (pages [][]record.ServerSample) {
	index := map[string]int{}
	for _, s := range samples {
		at, seen := index[s.Page]
		if !seen {
			at = len(pages)
			index[s.Page] = at
			pages = append(pages, nil)
		}
		pages[at] = append(pages[at], s)
	}
	for _, page := range pages {
		slices.SortStableFunc(page, func(a, b record.ServerSample) int { return cmp.Compare(a.At, b.At) })
	}
	return pages
}

// point is a value that holds from a time on; NaN is unknown.
type point struct {
	at    time.Duration
	value float64
}

// gauge is the mean over the time of the window, for which each sample holds
// until the next one, and the highest value seen in it.
func gauge(pages [][]record.ServerSample, window record.Window, n record.Number) *Gauge {
	return overTime(together(pages, n), window)
}

// together is what all pages say at each time at which one of them says
// something new.
func together(pages [][]record.ServerSample, n record.Number) (points []point) {
	type event struct {
		page   int
		sample *record.ServerSample
	}
	var events []event
	for p, page := range pages {
		for i := range page {
			events = append(events, event{p, &page[i]})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.sample.At, b.sample.At) })
	last := make([]float64, len(pages))
	for p := range last {
		last[p] = math.NaN()
	}
	for _, e := range events {
		last[e.page] = *n.Of(e.sample)
		points = append(points, point{e.sample.At, n.Combine(last)})
	}
	return points
}

// overTime is the time-weighted mean and the maximum of points over the window;
// nil when nothing is known in it. Where the window has no length, or begins
// and ends between two points, the value that holds is both.
func overTime(points []point, window record.Window) *Gauge {
	sum, known, highest := 0.0, time.Duration(0), math.Inf(-1)
	for i, p := range points {
		if math.IsNaN(p.value) || p.at > window.End {
			continue
		}
		until := window.End
		if i+1 < len(points) {
			until = min(until, points[i+1].at)
		}
		if p.at < window.Start && until <= window.Start && until < window.End {
			continue // it held before the window only
		}
		held := max(until-max(p.at, window.Start), 0)
		sum += float64(p.value * float64(held))
		known += held
		highest = max(highest, p.value)
	}
	switch {
	case math.IsInf(highest, -1):
		return nil
	case known == 0:
		return &Gauge{Mean: rounded(highest), Max: rounded(highest)}
	default:
		return &Gauge{Mean: rounded(sum / float64(known)), Max: rounded(highest)}
	}
}

// serverTimes sums up what grew of a histogram.
func serverTimes(h *record.Histogram) *ServerTimes {
	if h == nil || h.Count() == 0 {
		return nil
	}
	out := &ServerTimes{N: h.Count(), Mean: ratio(h.Sum, h.Count())}
	for q, to := range map[float64]**float64{0.5: &out.P50, 0.99: &out.P99} {
		if v, ok := h.Quantile(q); ok {
			v = rounded(v)
			*to = &v
		}
	}
	return out
}

// speculation takes the share of accepted tokens from counters over the window,
// else from what the server itself says of its last steps.
func speculation(pages [][]record.ServerSample, window record.Window, grown map[string]*float64) *Speculation {
	out := Speculation{DraftTokens: grown["draft_tokens"], AcceptedTokens: grown["accepted_tokens"]}
	if out.DraftTokens != nil && *out.DraftTokens == 0 {
		return nil // it can, and did not
	}
	if out.DraftTokens != nil && out.AcceptedTokens != nil {
		out.AcceptanceRate = ratio(*out.AcceptedTokens, *out.DraftTokens)
		if drafts := grown["drafts"]; drafts != nil && *drafts > 0 {
			perStep := rounded(1 + *out.AcceptedTokens / *drafts)
			out.TokensPerStep = &perStep
		}
	}
	for _, n := range record.Numbers {
		to := map[string]**float64{"acceptance_rate": &out.AcceptanceRate, "acceptance_length": &out.TokensPerStep}[n.Key]
		if to == nil || *to != nil {
			continue
		}
		if g := gauge(pages, window, n); g != nil {
			*to = &g.Mean
		}
	}
	if out == (Speculation{}) {
		return nil
	}
	return &out
}

// windowLength is the length of the window in seconds.
func windowLength(w record.Window) float64 { return inSeconds(max(w.End-w.Start, time.Duration(0))) }
