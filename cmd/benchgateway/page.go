package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/trial"
)

// results are everything that was measured.
type results struct {
	options options
	machine string
	busy    float64 // load average of the last minute before the start; NaN when unknown
	date    time.Time
	missing map[string]string // fronts that could not run, and why
	rows    []*measurement
}

// bars are what our own gateway is held to, beside the bare proxy in the same run.
var bars = []struct {
	name  string
	bound float64
	least bool // it is a lower bound
	ratio func(r *results, repeat int) float64
}{
	{"added TTFT p50", 1.5, false, added(ttftAt(50))},
	{"added TTFT p99", 2, false, added(ttftAt(99))},
	{"added gap p99", 2, false, added(func(m *measurement) float64 { return m.gap.Percentile(99) })},
	{"rate of whole answers", 0.8, true, versus(wholes, func(m *measurement) float64 { return m.perS })},
	{"memory with many open streams", 1.3, false, versus(memory, func(m *measurement) float64 { return float64(m.rss) })},
}

func ttftAt(p float64) func(*measurement) float64 {
	return func(m *measurement) float64 { return m.ttft.Percentile(p) }
}

// find is what one front did in one repeat; nil when it did not.
func (r *results) find(front string, k kind, repeat int) *measurement {
	for _, m := range r.rows {
		if m.front == front && m.kind == k && m.repeat == repeat && m.err == nil {
			return m
		}
	}
	return nil
}

// added compares what llmctl and the proxy add to direct calls.
func added(of func(*measurement) float64) func(*results, int) float64 {
	return func(r *results, repeat int) float64 {
		direct, proxy, own := r.find("direct", openLoop, repeat), r.find("proxy", openLoop, repeat), r.find("llmctl", openLoop, repeat)
		if direct == nil || proxy == nil || own == nil {
			return math.NaN()
		}
		return (of(own) - of(direct)) / (of(proxy) - of(direct))
	}
}

func versus(k kind, of func(*measurement) float64) func(*results, int) float64 {
	return func(r *results, repeat int) float64 {
		proxy, own := r.find("proxy", k, repeat), r.find("llmctl", k, repeat)
		if proxy == nil || own == nil {
			return math.NaN()
		}
		return of(own) / of(proxy)
	}
}

// median leaves out what is not a number.
func median(values []float64) float64 {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// over is the median over the repeats of one front's figure.
func (r *results) over(front string, k kind, of func(*measurement) float64) float64 {
	var values []float64
	for repeat := range r.options.repeats {
		if m := r.find(front, k, repeat); m != nil {
			values = append(values, of(m))
		}
	}
	return median(values)
}

func (r *results) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What the gateway adds

Made by `+"`make bench-gateway`"+` on %s, on %s, which mock server, client and gateway
share. The mock answers each stream with %d tokens, the first after %s and one each
%s; the client is `+"`llmctl bench`"+`, an open loop of %d streams a second for %s; llmctl's
gateway has %d tenants configured, and keys, limits, budgets, metering into SQLite and
a log line for each request on. The bare proxy is net/http's, which does nothing but
pass on. All is measured in turns, %d times, and each cell is the median.
`, r.date.Format("2006-01-02"), r.machine, tokens, ttft, itl, r.options.rate, r.options.duration, tenants, r.options.repeats)
	if r.busy > trial.Idle {
		fmt.Fprintf(&b, "\n**Not to be relied on:** the machine was busy with other work (load average %.1f before the\nstart), which all suffered from alike, but not equally.\n", r.busy)
	}
	r.verdicts(&b)
	r.tables(&b)
	b.WriteString("\n## Repeating this\n\n```\nscripts/install-gateways bin/peers   # once: the other gateways\nmake bench-gateway                   # some minutes, on a machine that does nothing else\n```\n")
	return b.String()
}

func (r *results) verdicts(b *strings.Builder) {
	b.WriteString("\n## Beside the bare proxy\n\n| llmctl ÷ proxy | bar | median | of each repeat | |\n|---|---:|---:|---|---|\n")
	for _, bar := range bars {
		var ratios []float64
		var each []string
		for repeat := range r.options.repeats {
			v := bar.ratio(r, repeat)
			ratios = append(ratios, v)
			each = append(each, fmt.Sprintf("%.2f", v))
		}
		m, sign, held := median(ratios), "≤", "held"
		if bar.least {
			sign = "≥"
		}
		if math.IsNaN(m) || bar.least && m < bar.bound || !bar.least && m > bar.bound {
			held = "NOT held"
		}
		fmt.Fprintf(b, "| %s | %s %.1f | %.2f | %s | %s |\n", bar.name, sign, bar.bound, m, strings.Join(each, ", "), held)
	}
}

func (r *results) tables(b *strings.Builder) {
	b.WriteString("\n## Streams\n\nMilliseconds, as the client saw them; in brackets what is above direct calls.\n\n| through | TTFT p50 | TTFT p99 | gap p50 | gap p99 | CPU a request | MiB | failed |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, front := range r.options.fronts {
		if why, ok := r.missing[front]; ok {
			fmt.Fprintf(b, "| %s | %s |\n", front, why)
			continue
		}
		cell := func(of func(*measurement) float64) string {
			v, direct := r.over(front, openLoop, of), r.over("direct", openLoop, of)
			if front == "direct" || math.IsNaN(v) {
				return fmt.Sprintf("%.2f", v*1e3)
			}
			return fmt.Sprintf("%.2f (%+.2f)", v*1e3, (v-direct)*1e3)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %.2f | %.0f | %.0f |\n", front, cell(ttftAt(50)), cell(ttftAt(99)),
			cell(func(m *measurement) float64 { return m.gap.Percentile(50) }), cell(func(m *measurement) float64 { return m.gap.Percentile(99) }),
			r.over(front, openLoop, func(m *measurement) float64 { return m.cpu.Seconds() / float64(m.n) * 1e3 }),
			r.over(front, openLoop, func(m *measurement) float64 { return float64(m.rss >> 20) }),
			r.over(front, openLoop, func(m *measurement) float64 { return float64(m.failed) }))
	}
	r.slow(b)
	fmt.Fprintf(b, "\n## Whole answers and open streams\n\nWhole answers: %d clients, each with its next request as soon as it has an answer. Open\nstreams: %d at once.\n\n| through | whole answers/s | p50 ms | p99 ms | CPU ms a request | MiB with open streams | failed |\n|---|---:|---:|---:|---:|---:|---:|\n", clients, r.options.open)
	for _, front := range r.options.fronts {
		if _, ok := r.missing[front]; ok {
			continue
		}
		fmt.Fprintf(b, "| %s | %.0f | %.2f | %.2f | %.2f | %.0f | %.0f |\n", front,
			r.over(front, wholes, func(m *measurement) float64 { return m.perS }),
			r.over(front, wholes, func(m *measurement) float64 { return m.e2e.Percentile(50) * 1e3 }),
			r.over(front, wholes, func(m *measurement) float64 { return m.e2e.Percentile(99) * 1e3 }),
			r.over(front, wholes, func(m *measurement) float64 { return m.cpu.Seconds() / float64(m.n) * 1e3 }),
			r.over(front, memory, func(m *measurement) float64 { return float64(m.rss >> 20) }),
			r.over(front, memory, func(m *measurement) float64 { return float64(m.failed) }))
	}
}

// slow tells of those that were measured at the lower rate, too.
func (r *results) slow(b *strings.Builder) {
	for _, name := range r.options.fronts {
		if !findFront(name).slow || math.IsNaN(r.over(name, slowLoop, ttftAt(50))) {
			continue
		}
		at := func(front string, of func(*measurement) float64) float64 { return 1e3 * r.over(front, slowLoop, of) }
		fmt.Fprintf(b, "\nAt %d streams a second, %s adds %.1f ms to the\nTTFT's p50 and %.1f ms to its p99, takes %.1f ms of CPU a request, and fails %.0f of them.\n",
			r.options.slow, name, at(name, ttftAt(50))-at("direct", ttftAt(50)), at(name, ttftAt(99))-at("direct", ttftAt(99)),
			at(name, func(m *measurement) float64 { return m.cpu.Seconds() / float64(m.n) }), r.over(name, slowLoop, func(m *measurement) float64 { return float64(m.failed) }))
	}
}
