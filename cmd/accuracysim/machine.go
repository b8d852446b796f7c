package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// An experiment is what bench measures and simulate simulates at several loads.
type experiment struct {
	name, about string
	bench       []string // flags of both, and
	simulate    []string // of simulate alone
	rates       []string // requests per second
	calibrate   string   // the rate of a run from which a calibration is made first; that is no load of the table
	figures     []figure
	bar         float64
}

// figure is a statistic of a report.
type figure struct{ metric, statistic string }

var experiments = []experiment{
	{
		name: "Modeled device",
		about: "llmctl bench --device modeled:l4-24gb --model llama-3.1-8b, 512 tokens in and 64 out, for 40 s, " +
			"against llmctl simulate of the same requests",
		bench:    []string{"--model=llama-3.1-8b", "--isl=512", "--osl=64", "--duration=40s", "--warmup=5s"},
		simulate: []string{"--accelerator=l4-24gb"},
		rates:    []string{"0.5", "1.5", "2.5"},
		figures:  []figure{{"ttft_s", "p50"}, {"ttft_s", "p99"}, {"tpot_s", "p50"}, {"tpot_s", "mean"}},
		bar:      0.10,
	},
	{
		name: "Engine on the CPU",
		about: "llmctl bench of the builtin model on the CPU at 4 requests/s, llmctl calibrate of that run alone, " +
			"and llmctl simulate --calibration at other loads",
		bench:     []string{"--duration=10s", "--warmup=2s"},
		simulate:  []string{"--model=builtin"},
		rates:     []string{"2", "6", "8"},
		calibrate: "4",
		figures:   []figure{{"ttft_s", "p50"}, {"tpot_s", "p50"}, {"e2e_s", "p50"}},
		bar:       0.20,
	},
}

// device are the flags of bench for the bundled engine's device.
func (e experiment) device() []string {
	for _, f := range e.simulate {
		if name, ok := strings.CutPrefix(f, "--accelerator="); ok {
			return []string{"--device=modeled:" + name}
		}
	}
	return nil
}

// cell is the runs of one load.
type cell struct {
	rate      string
	runs      []string // folders
	measured  []report
	simulated report
}

// least is the run that other work disturbed least, which can only make it slower: that
// with the shortest median request.
func (c cell) least() int {
	least := 0
	for i, r := range c.measured {
		if r.of(undisturbed) < c.measured[least].of(undisturbed) {
			least = i
		}
	}
	return least
}

var undisturbed = figure{"e2e_s", "p50"}

// compareMachine measures this machine and writes the last part of the page.
func compareMachine(s *iostreams.IO, program, only string, repeats int, page string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nMade by `make accuracy-machine` with %d processors (%s/%s): of %d runs at each load the one\nthat other work disturbed least, that with the shortest median request, and in brackets the least and the\nlargest of all, which tell how noisy the machine is. The client shares the processors with the server; its own\nlag stands beside the figures. Above a few milliseconds, or with a load average above the number of processors,\nthe figures are those of a busy machine and say little.\n",
		machineHeading, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, repeats)
	for _, e := range experiments {
		if !strings.Contains(e.name, only) {
			continue
		}
		cells, err := e.measure(program, repeats, s)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		e.table(&b, cells)
	}
	if _, err := fmt.Fprint(s.Out, b.String()); err != nil || page == "" {
		return err
	}
	published, _, err := parts(page)
	if err != nil {
		return err
	}
	return write(page, published, b.String())
}

// measure goes round all loads, as often as there are repeats, so that what else the
// machine does falls on all of them, and then simulates each.
func (e experiment) measure(program string, repeats int, s *iostreams.IO) ([]cell, error) {
	dir, err := os.MkdirTemp("", "accuracysim")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var cells []cell
	for _, rate := range e.rates {
		cells = append(cells, cell{rate: rate})
	}
	if e.calibrate != "" {
		cells = append(cells, cell{rate: e.calibrate})
	}
	for round := range repeats {
		for i := range cells {
			c := &cells[i]
			to := filepath.Join(dir, fmt.Sprintf("bench%s.%d", c.rate, round))
			r, err := e.bench1(program, c.rate, to)
			if err != nil {
				return nil, err
			}
			c.runs, c.measured = append(c.runs, to), append(c.measured, r)
			_, _ = fmt.Fprintf(s.Err, "%s: %s requests/s, run %d of %d\n", e.name, c.rate, round+1, repeats)
		}
	}
	simulate := slices.Concat([]string{"simulate", "--quiet"}, e.bench, e.simulate)
	if e.calibrate != "" {
		c, constants := cells[len(cells)-1], filepath.Join(dir, "constants.yaml")
		if err := call(program, "calibrate", c.runs[c.least()], "--out="+constants); err != nil {
			return nil, err
		}
		simulate = append(simulate, "--calibration="+constants)
	}
	for i := range cells {
		c := &cells[i]
		to := filepath.Join(dir, "simulate"+c.rate)
		if err := call(program, append(slices.Clone(simulate), "--rps="+c.rate, "--save="+to)...); err != nil {
			return nil, err
		}
		if c.simulated, err = read(to); err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// bench1 measures one load.
func (e experiment) bench1(program, rate, to string) (report, error) {
	args := slices.Concat([]string{"bench", "--quiet", "--max-lag=1m", "--rps=" + rate, "--save=" + to}, e.bench, e.device())
	if err := call(program, args...); err != nil {
		return nil, err
	}
	return read(to)
}

// untrusted is the exit code of a run that was measured all the same.
const untrusted = 97

func call(program string, args ...string) error {
	var said bytes.Buffer
	c := exec.Command(program, args...)
	c.Stderr = &said
	err := c.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == untrusted {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return nil
}

// report is the distributions of a run.json.
type report map[string]map[string]float64

func read(dir string) (report, error) {
	data, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	out := report{}
	for name, value := range fields {
		var numbers map[string]any
		if json.Unmarshal(value, &numbers) != nil {
			continue // no distribution
		}
		out[name] = map[string]float64{}
		for k, v := range numbers {
			if x, ok := v.(float64); ok {
				out[name][k] = x
			}
		}
	}
	return out, nil
}

// of is a figure in milliseconds.
func (r report) of(f figure) float64 { return 1e3 * r[f.metric][f.statistic] }

func (e experiment) table(b *strings.Builder, cells []cell) {
	fmt.Fprintf(b, "\n### %s\n\n%s. Load average: %s. The bar is %.0f %%.\n\n", e.name, e.about, loadAverage(), 100*e.bar)
	b.WriteString("| requests/s | figure | measured, ms | simulated, ms | error | | lag p99, ms |\n|---:|---|---:|---:|---:|---|---:|\n")
	for _, c := range cells {
		least, rate := c.measured[c.least()], c.rate
		if c.rate == e.calibrate {
			rate += " (calibrated with)"
		}
		for _, f := range e.figures {
			var all []float64
			for _, r := range c.measured {
				all = append(all, r.of(f))
			}
			off, verdict := c.simulated.of(f)/least.of(f)-1, "held"
			switch {
			case c.rate == e.calibrate:
				verdict = ""
			case off > e.bar || off < -e.bar:
				verdict = "not held"
			}
			fmt.Fprintf(b, "| %s | %s %s | %.4g (%.4g to %.4g) | %.4g | %+.1f %% | %s | %.3g |\n", rate, strings.TrimSuffix(f.metric, "_s"), f.statistic,
				least.of(f), slices.Min(all), slices.Max(all), c.simulated.of(f), 100*off, verdict, least.of(figure{"lag_s", "p99"}))
		}
	}
}

// loadAverage is the mean number of running processes of the last minutes, where the
// system tells.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:2], " and ") + " (one and five minutes)"
}
