package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/trial"
)

// results are everything that was measured.
type results struct {
	options  options
	machine  string
	busy     float64 // load average of the last minute before the start; NaN when unknown
	date     time.Time
	versions map[string]string
	missing  map[string]string // tools that could not run, and why
	mock     string            // its check of itself
	rows     []measurement
	many     []measurement
	pacing   pacing
}

// cleanWithin is how far the 99th percentile of the error of gaps may be from that
// of a single stream.
const cleanWithin = 0.002 // seconds

// cell is one tool at one number of streams, the median over the repeats.
type cell struct {
	measurement
	spread float64 // of gapP99 between repeats: largest − smallest
	n      int
}

// cells are the medians, by tool and streams.
func (r *results) cells() map[string]map[int]cell {
	groups := map[string]map[int][]measurement{}
	for _, m := range r.rows {
		if groups[m.tool] == nil {
			groups[m.tool] = map[int][]measurement{}
		}
		groups[m.tool][m.load.streams] = append(groups[m.tool][m.load.streams], m)
	}
	cells := map[string]map[int]cell{}
	for name, levels := range groups {
		cells[name] = map[int]cell{}
		for n, all := range levels {
			cells[name][n] = summarize(all)
		}
	}
	return cells
}

func summarize(all []measurement) cell {
	good := slices.DeleteFunc(slices.Clone(all), func(m measurement) bool { return m.err != nil })
	if len(good) == 0 {
		return cell{measurement: all[0]}
	}
	c := cell{measurement: good[0], n: len(good)}
	median := func(of func(measurement) float64) float64 {
		values := make([]float64, len(good))
		for i, m := range good {
			values[i] = of(m)
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	c.ttftP50 = median(func(m measurement) float64 { return m.ttftP50 })
	c.ttftP99 = median(func(m measurement) float64 { return m.ttftP99 })
	c.gapP50 = median(func(m measurement) float64 { return m.gapP50 })
	c.gapP99 = median(func(m measurement) float64 { return m.gapP99 })
	c.sd = median(func(m measurement) float64 { return m.sd })
	c.cpu = time.Duration(median(func(m measurement) float64 { return float64(m.cpu) }))
	c.rss = int64(median(func(m measurement) float64 { return float64(m.rss) }))
	c.mockP99 = median(func(m measurement) float64 { return m.mockP99 })
	for _, m := range good {
		for _, other := range good {
			c.spread = max(c.spread, m.gapP99-other.gapP99)
		}
	}
	return c
}

// cleanest is the largest number of streams up to which a tool's gaps were within
// the bar at every level measured.
func (r *results) cleanest(levels map[int]cell, floor float64) (best cell, ok bool) {
	for _, n := range slices.Sorted(maps.Keys(levels)) {
		c := levels[n]
		if c.n == 0 || c.gapP99 > floor+cleanWithin {
			break
		}
		best, ok = c, true
	}
	return best, ok
}

// floor is the smallest single-stream error of all tools that keep gaps: what the
// machine and the mock allow.
func (r *results) floor(cells map[string]map[int]cell) float64 {
	floor := math.Inf(1)
	for _, levels := range cells {
		if c, ok := levels[1]; ok && c.n > 0 && !c.means {
			floor = min(floor, c.gapP99)
		}
	}
	return floor
}

func (r *results) page() string {
	var b strings.Builder
	cells := r.cells()
	fmt.Fprintf(&b, `# The load generator against its peers

Made by `+"`make bench-loadgen`"+` on %s, on %s. Client and mock server share the
machine. The mock answers every request with %d tokens, the first after %s and one
each %s, so what a tool should report is known, and all else is the tool's error. %s

All figures are computed from each tool's own raw output: records of llmctl
(`+"`--save`"+`), `+"`--save-detailed`"+` of vLLM, profile_export.jsonl of AIPerf, the JSON report
of GuideLLM. GuideLLM keeps no times of events, so its column of gaps holds the
*mean* gap of each request (marked *), which hides stalls. Each cell is the median
of %d runs; tools take turns within a run.
%s
`, r.date.Format("2006-01-02"), r.machine, tokens, ttft, itl, scheduling(), r.options.repeats, r.warning())
	b.WriteString("| tool | version |\n|---|---|\n")
	for _, name := range r.options.tools {
		if v, ok := r.versions[name]; ok {
			fmt.Fprintf(&b, "| %s | %s |\n", name, v)
		} else {
			fmt.Fprintf(&b, "| %s | left out: %s |\n", name, r.missing[name])
		}
	}
	fmt.Fprintf(&b, "\n## The mock itself\n\nBefore anything else the mock measures itself (`llmctl mock --check`):\n\n```\n%s```\n", r.mock)
	b.WriteString("\n## Errors by streams\n\nMilliseconds. CPU seconds and memory are those of the client and its workers, its start\nincluded.\n\n")
	b.WriteString("| streams | tool | TTFT off p50 | p99 | gaps off p50 | p99 | sd of gaps | runs differ by (p99) | CPU s | MiB | mock late p99 ≤ |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, n := range r.options.concurrency {
		for _, name := range r.options.tools {
			c, ok := cells[name][n]
			switch {
			case !ok:
			case c.n == 0:
				fmt.Fprintf(&b, "| %d | %s | %s |\n", n, name, oneCell(c.err))
			default:
				mark := ""
				if c.means {
					mark = "*"
				}
				fmt.Fprintf(&b, "| %d | %s | %.2f | %.2f | %.2f%s | %.2f%s | %.2f%s | %.2f | %.1f | %d | %s |\n", n, name,
					c.ttftP50*1e3, c.ttftP99*1e3, c.gapP50*1e3, mark, c.gapP99*1e3, mark, c.sd*1e3, mark, c.spread*1e3, c.cpu.Seconds(), c.rss>>20, bound(c.mockP99))
			}
		}
	}
	r.verdict(&b, cells)
	fmt.Fprintf(&b, "\n## Sending at a constant rate\n\nllmctl alone, %s: %s.\n", paceTime, r.pacing)
	r.manyStreams(&b)
	b.WriteString("\n## Repeating this\n\n```\nmake bench-peers      # once: virtual environments with the peers, some gigabytes\nmake bench-loadgen    # about half an hour on a machine that does nothing else\n```\n")
	return b.String()
}

// keepsMeans reports whether a tool keeps no times of events, so that its stalls
// can not be seen.
func keepsMeans(levels map[int]cell) bool {
	for _, c := range levels {
		if c.means {
			return true
		}
	}
	return false
}

// scheduling says how the mock ran.
func scheduling() string {
	if trial.RealTime() {
		return "The\nmock has real-time priority (`--realtime`), so that a tool which fills both cores\ntakes little of its time; the last column says how late it was all the same."
	}
	return "The\nmock competes with the tool for the cores; the last column says how late it was."
}

// warning says that the figures are of a machine that did something else too.
func (r *results) warning() string {
	if !(r.busy > trial.Idle) {
		return ""
	}
	return fmt.Sprintf("\n**Not to be relied on:** the machine was busy with other work (load average %.1f before the\nstart), which all tools suffered from alike, but not equally.\n", r.busy)
}

// verdict compares the largest clean rates.
func (r *results) verdict(b *strings.Builder, cells map[string]map[int]cell) {
	floor := r.floor(cells)
	if math.IsInf(floor, 1) {
		return
	}
	fmt.Fprintf(b, "\n## The largest clean rate\n\nA level is clean when the p99 of the error of gaps is within %.0f ms of the best single\nstream's, which is %.2f ms. The largest rate up to which every level was clean:\n\n| tool | streams | events/s |\n|---|---:|---:|\n", cleanWithin*1e3, floor*1e3)
	ours, best := 0.0, 0.0
	for _, name := range r.options.tools {
		if _, ok := cells[name]; !ok {
			continue
		}
		if keepsMeans(cells[name]) {
			fmt.Fprintf(b, "| %s | keeps no times of events | |\n", name)
			continue
		}
		c, ok := r.cleanest(cells[name], floor)
		if !ok {
			fmt.Fprintf(b, "| %s | none | |\n", name)
			continue
		}
		fmt.Fprintf(b, "| %s | %d | %.0f |\n", name, c.load.streams, c.eventsPerS)
		if name == "llmctl" {
			ours = c.eventsPerS
		} else {
			best = max(best, c.eventsPerS)
		}
	}
	if ours > 0 && best > 0 {
		fmt.Fprintf(b, "\nllmctl's is %.1f times that of the best peer that keeps times of events.\n", ours/best)
	}
}

// bound is an upper bound in milliseconds, of which the largest bucket has none.
func bound(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "unknown"
	case math.IsInf(seconds, 1):
		return "none: over 100"
	}
	return strconv.FormatFloat(seconds*1e3, 'f', -1, 64)
}

// manyStreams is the table that nobody else is in.
func (r *results) manyStreams(b *strings.Builder) {
	if len(r.many) == 0 {
		return
	}
	b.WriteString("\n## Many streams at 2 tokens a second\n\n| streams | TTFT off p50 | p99 | gaps off p50 | p99 | KiB of memory a stream | mock late p99 ≤ |\n|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, m := range r.many {
		if m.err != nil {
			fmt.Fprintf(b, "| %d | %s |\n", m.load.streams, oneCell(m.err))
			continue
		}
		fmt.Fprintf(b, "| %d | %.2f | %.2f | %.2f | %.2f | %.1f | %s |\n", m.load.streams, m.ttftP50*1e3, m.ttftP99*1e3, m.gapP50*1e3, m.gapP99*1e3,
			float64(m.rss)/1024/float64(m.load.streams), bound(m.mockP99))
	}
}

// oneCell is an error on one line without what would end a cell.
func oneCell(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return strings.ReplaceAll(text[max(0, len(text)-160):], "|", "/")
}
