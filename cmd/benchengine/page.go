package main

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/internal/trial"
)

func (r *results) page() string {
	o, l := r.options, r.options.load
	var b strings.Builder
	fmt.Fprintf(&b, `# The engine beside llama.cpp

Made by `+"`make bench-engine`"+` on %s, on %s.
Both servers serve `+"`%s`"+` with %d threads each, in turns, %d times, started anew each
time; each cell is the median. The client shares the machine. Prompts are tokens, the
same for both; every answer has exactly %d tokens (`+"`ignore_eos`"+`, temperature 0).

- *One stream*: a prompt of %d tokens; output tokens after the first, by the time from the
  first to the last.
- *Many streams*: %d at once, %d tokens that all share and %d of each one's own. All output
  tokens, by the time from the first request's start to the last answer's end. *New*: the
  server has not seen the shared prefix; *known*: %d such requests have just ended, so that
  each of llama.cpp's slots holds it, too.

llama.cpp runs as `+"`%s`"+`;
flash attention and the RAM cache of prompts are at their defaults, and `+"`--cache-reuse`"+`,
which is for parts of prompts that have moved, would change nothing here.
llmctl runs as `+"`%s`"+`.
`, r.date.Format("2006-01-02"), r.machine, filepath.Base(o.model), o.threads, o.repeats, l.output,
		l.single, l.streams, l.prefix, l.own, l.streams, shown(llamaCommand(&o, "HOST", "PORT")), shown(llmctlCommand(&o, "HOST", "PORT")))
	if r.busy > trial.Idle {
		fmt.Fprintf(&b, "\n**Not to be relied on:** the machine was busy with other work (load average %.1f before the\nstart), which both suffered from alike, but not equally.\n", r.busy)
	}
	r.engines(&b)
	r.verdicts(&b)
	r.speeds(&b)
	r.memory(&b)
	r.single(&b)
	b.WriteString("\n## Repeating this\n\n```\nscripts/install-engines bin/peers   # once: llama.cpp's server, from its source\nmake bench-engine                   # some minutes, on a machine that does nothing else\n```\n")
	return b.String()
}

// shown is a command with the names of its files alone.
func shown(command []string) string {
	words := slices.Clone(command)
	for i, word := range words {
		if filepath.IsAbs(word) {
			words[i] = filepath.Base(word)
		}
	}
	return strings.Join(words, " ")
}

func (r *results) engines(b *strings.Builder) {
	b.WriteString("\n| engine | version |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.versions)) {
		fmt.Fprintf(b, "| %s | %s |\n", name, r.versions[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.missing)) {
		fmt.Fprintf(b, "| %s | left out: %s |\n", name, r.missing[name])
	}
	for _, m := range r.rows {
		if m.err != nil {
			fmt.Fprintf(b, "\nTurn %d of %s failed: %v.\n", m.repeat+1, m.engine, m.err)
		}
	}
}

func (r *results) verdicts(b *strings.Builder) {
	b.WriteString("\n## Bars\n\n| | bar | median | of each repeat | |\n|---|---:|---:|---|---|\n")
	for _, bar := range bars {
		var values []float64
		var each []string
		for repeat := range r.options.repeats {
			v := bar.value(r, repeat)
			values = append(values, v)
			each = append(each, number("%.2f", v))
		}
		r.verdict(b, bar, median(values), strings.Join(each, ", "))
	}
	for _, p := range r.parts {
		if p.name == schedulerStep {
			r.verdict(b, bar{name: "a step of the scheduler, 256 running and 1,000 waiting", unit: "µs", bound: 20}, p.values["ns/op"]/1e3, "")
		}
	}
}

func (r *results) verdict(b *strings.Builder, bar bar, v float64, each string) {
	sign, held := "≤", "NOT held"
	if bar.least {
		sign = "≥"
	}
	if bar.held(v) {
		held = "held"
	}
	if math.IsNaN(v) {
		held = "not measured"
	}
	fmt.Fprintf(b, "| %s | %s %.1f %s | %s | %s | %s |\n", bar.name, sign, bar.bound, bar.unit, number("%.2f", v), each, held)
}

// number formats what was measured; what was not is a dash.
func number(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

func (r *results) speeds(b *strings.Builder) {
	b.WriteString("\n## Speed\n\nTokens a second; for many streams output tokens, and in brackets prompt and output\ntogether. *Alike*: turns in which an answer among many is, to the letter, what the same\nprompt gets alone.\n\n" +
		"| engine | one stream | many, prefix new | TTFT p50 s | many, prefix known | TTFT p50 s | cached | alike |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, e := range engines {
		if !r.measured(e.name) {
			continue
		}
		over := func(of func(*measurement) float64) float64 { return r.over(e.name, of) }
		alike, n := 0, 0
		for repeat := range r.options.repeats {
			if m := r.find(e.name, repeat); m != nil {
				n++
				if m.alike {
					alike++
				}
			}
		}
		prompt := float64(r.options.load.streams * (r.options.load.prefix + r.options.load.own))
		fmt.Fprintf(b, "| %s | %.1f | %.1f (%.0f) | %.2f | %.1f (%.0f) | %.2f | %.0f %% | %d of %d |\n", e.name,
			over(func(m *measurement) float64 { return m.single }),
			over(func(m *measurement) float64 { return m.cold.output }), over(func(m *measurement) float64 { return m.cold.total }),
			over(func(m *measurement) float64 { return m.cold.first.Seconds() }),
			over(func(m *measurement) float64 { return m.warm.output }), over(func(m *measurement) float64 { return m.warm.total }),
			over(func(m *measurement) float64 { return m.warm.first.Seconds() }),
			over(func(m *measurement) float64 { return 100 * float64(m.warm.cached) / prompt }), alike, n)
	}
}

func (r *results) memory(b *strings.Builder) {
	b.WriteString("\n## Start and memory\n\nSeconds from the start of the process to the first 200 of `/health`, and MiB resident, the\npages of the mapped model file among them.\n\n| engine | start s | MiB at first | MiB at last |\n|---|---:|---:|---:|\n")
	for _, e := range engines {
		if !r.measured(e.name) {
			continue
		}
		fmt.Fprintf(b, "| %s | %.2f | %.0f | %.0f |\n", e.name, r.over(e.name, func(m *measurement) float64 { return m.start.Seconds() }),
			r.over(e.name, func(m *measurement) float64 { return float64(m.idle >> 20) }),
			r.over(e.name, func(m *measurement) float64 { return float64(m.loaded >> 20) }))
	}
}

// single is how near to the machine's limits parts of the engine come.
func (r *results) single(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Memory bandwidth\n\n%d threads read this machine's memory at %.1f GB/s (256 MiB each, best of 20). A token of the\none stream reads %.1f MB: all matrices as the file stores them, and the keys and values\nbefore it. That is a roof of %.0f tokens/s.\n\n| engine | GB/s | of the roof |\n|---|---:|---:|\n",
		r.options.threads, r.bandwidth/1e9, r.perToken()/1e6, r.bandwidth/r.perToken())
	for _, e := range engines {
		if v := r.over(e.name, func(m *measurement) float64 { return m.single }); !math.IsNaN(v) {
			fmt.Fprintf(b, "| %s | %.1f | %.0f %% |\n", e.name, v*r.perToken()/1e9, 100*v*r.perToken()/r.bandwidth)
		}
	}
	b.WriteString("\n## Parts\n\nGo benchmarks of single parts: the scheduler's step, and products with a Q4_1 matrix on\none core, GB/s of weights as they lie in memory.\n")
	if r.partsErr != nil {
		fmt.Fprintf(b, "\nNot all could be run: %v\n", r.partsErr)
	}
	if len(r.parts) == 0 {
		b.WriteString("\nThey were left out.\n")
		return
	}
	b.WriteString("\n| benchmark | |\n|---|---|\n")
	for _, p := range r.parts {
		var values []string
		for _, unit := range slices.Sorted(maps.Keys(p.values)) {
			values = append(values, fmt.Sprintf("%.4g %s", p.values[unit], unit))
		}
		fmt.Fprintf(b, "| %s | %s |\n", strings.TrimPrefix(p.name, "Benchmark"), strings.Join(values, ", "))
	}
}
