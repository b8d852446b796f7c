package study

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/stats"
	"github.com/llmctl/llmctl/sizing"
)

// experiment is what a file of examples/experiments must show.
type experiment struct {
	file    string                // without directory and .yaml
	seeds   int                   // 0 is one
	compare []profiles.Comparison // in the place of the file's own
	holds   func(t *testing.T, of results)
}

// results are the reports of an experiment by the names of its variants, a report
// for each seed.
type results map[string][]*reports.Report

// median is that of a metric over the seeds. A variant or a metric that is not
// there fails the test.
func (of results) median(t *testing.T, variant string, value metric) float64 {
	t.Helper()
	runs := of[variant]
	if len(runs) == 0 {
		t.Fatalf("there is no variant %q", variant)
	}
	var values []float64
	for _, r := range runs {
		v := value(r)
		if v == nil {
			t.Fatalf("%s: a metric is absent", variant)
		}
		values = append(values, *v)
	}
	return stats.Percentile(values, 50)
}

// between demands that a is within low to high times b. Bounds are wide: they hold
// the direction and the size of an effect, not a digit.
func between(t *testing.T, what string, a, b, low, high float64) {
	t.Helper()
	if ratio := a / b; !(ratio >= low && ratio <= high) {
		t.Errorf("%s: %.4g is %.3g × %.4g, want %g to %g ×", what, a, ratio, b, low, high)
	}
}

// experiments are those of all files.
var experiments = slices.Concat(engineExperiments, frontExperiments, limitExperiments)

// TestExperiments: every file of examples/experiments shows what it says.
func TestExperiments(t *testing.T) {
	for _, e := range experiments {
		t.Run(e.file+e.suffix(), func(t *testing.T) {
			t.Parallel()
			e.holds(t, e.run(t))
		})
	}
}

// TestExperimentFiles: no file is without an expectation, each compares something,
// and the documentation tells of each.
func TestExperimentFiles(t *testing.T) {
	files, err := filepath.Glob("../../examples/experiments/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	told, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if !slices.ContainsFunc(experiments, func(e experiment) bool { return e.file == name && e.compare == nil }) {
			t.Errorf("%s: no test says what it must show", path)
		}
		if !strings.Contains(string(told), "llmctl simulate -f examples/experiments/"+name+".yaml\n") {
			t.Errorf("docs/experiments.md says nothing of %s", name)
		}
		sc, err := profiles.LoadScenario(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(sc.Compare) == 0 && sc.Experiment == "" {
			t.Errorf("%s compares nothing", path)
		}
	}
}

func (e experiment) suffix() (s string) {
	for _, c := range e.compare {
		s += " " + c.Setting
	}
	return s
}

// run simulates every variant of the file.
func (e experiment) run(t *testing.T) results {
	t.Helper()
	sc, err := profiles.LoadScenario("../../examples/experiments/" + e.file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	if e.compare != nil {
		sc.Compare = e.compare
	}
	of := results{}
	if sc.Experiment != "" {
		of["shared"], of["unique"] = e.seedsOf(t, *sc, false), e.seedsOf(t, *sc, true)
		return of
	}
	variants := map[string]profiles.Scenario{"": *sc}
	for _, c := range sc.Compare {
		next := map[string]profiles.Scenario{}
		for name, sc := range variants {
			for _, v := range c.Values {
				varied := sc
				if err := set(&varied, c.Setting, v); err != nil {
					t.Fatalf("%s=%s: %v", c.Setting, v, err)
				}
				next[strings.TrimSpace(name+" "+v)] = varied
			}
		}
		variants = next
	}
	for name, sc := range variants {
		of[name] = e.seedsOf(t, sc, false)
	}
	return of
}

func (e experiment) seedsOf(t *testing.T, sc profiles.Scenario, unique bool) (out []*reports.Report) {
	t.Helper()
	if err := sc.Validate(); err != nil {
		t.Fatal(err)
	}
	l := Length{Duration: sc.Run.Duration, Requests: sc.Run.Requests, Warmup: -1, Drain: 10 * time.Minute}
	if sc.Run.Warmup != nil {
		l.Warmup = *sc.Run.Warmup
	}
	if sc.Run.Drain != nil {
		l.Drain = *sc.Run.Drain
	}
	r := Request{Sizing: sizing.Request{Scenario: sc}, Length: l, UniquePrefixes: unique}
	r.Run.SLO = SLOs(sc.SLO)
	st, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range max(1, e.seeds) {
		report, err := st.Run(t.Context(), uint64(seed)+1)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, report)
	}
	return out
}

// set is what the flag of a setting does. The grammar of values is that of the
// package profiles; the flags themselves are the command's.
func set(sc *profiles.Scenario, setting, v string) (err error) {
	c, w := &sc.Cluster, &sc.Workload
	switch setting {
	case "router":
		return c.Router.Set(v)
	case "autoscale":
		return c.Autoscale.Set(v)
	case "gateway":
		return c.Gateway.Set(v)
	case "limits":
		c.Gateway.Limits, err = profiles.ParseLimits(v)
	case "retry":
		c.Gateway.Retry, err = profiles.ParseRetry(v)
	case "fallback":
		c.Gateway.Fallback, err = profiles.ParseFallback(v)
	case "link":
		c.Link, err = profiles.ParseLink(v)
	case "pools":
		c.Pools, err = profiles.ParsePools(v)
		c.Replicas = 0
	case "replicas":
		c.Replicas, err = strconv.Atoi(v)
	case "tp":
		sc.Parallel.Tensor, err = strconv.Atoi(v)
	case "pp":
		sc.Parallel.Pipeline, err = strconv.Atoi(v)
	case "accelerator":
		sc.Accelerator = v
	case "speculative":
		sc.Serving.Speculative, err = profiles.ParseSpeculative(v)
	case "prefix":
		w.Prefix, err = profiles.ParsePrefix(v)
	case "cancel":
		w.Cancel, err = profiles.ParseCancel(v)
	case "rps":
		w.Arrival.RatePerS, err = units.ParseRate(v)
	case "concurrency":
		w.Arrival = profiles.Arrival{Process: profiles.Closed}
		w.Arrival.Concurrency, err = strconv.Atoi(v)
	default:
		err = sc.Serving.Set(setting, v)
	}
	if err != nil {
		return fmt.Errorf("setting %s: %w", setting, err)
	}
	return nil
}

// metric is one number of a report; nil where it is absent.
type metric func(*reports.Report) *float64

// Metrics by the names of the tables that the command prints.
var (
	ttftP50 = of(func(r *reports.Report) *stats.Dist { return r.TTFT }, func(d *stats.Dist) float64 { return d.P50 })
	ttftP99 = of(func(r *reports.Report) *stats.Dist { return r.TTFT }, func(d *stats.Dist) float64 { return d.P99 })
	tpotP50 = of(func(r *reports.Report) *stats.Dist { return r.TPOT }, func(d *stats.Dist) float64 { return d.P50 })
	tpotP99 = of(func(r *reports.Report) *stats.Dist { return r.TPOT }, func(d *stats.Dist) float64 { return d.P99 })

	iclP99 = of(func(r *reports.Report) *stats.Dist { return r.ICL }, func(d *stats.Dist) float64 { return d.P99 })
	iclMax = of(func(r *reports.Report) *stats.Dist { return r.ICL }, func(d *stats.Dist) float64 { return d.Max })
)

func of(of func(*reports.Report) *stats.Dist, value func(*stats.Dist) float64) metric {
	return func(r *reports.Report) *float64 {
		d := of(r)
		if d == nil {
			return nil
		}
		v := value(d)
		return &v
	}
}

func outputRate(r *reports.Report) *float64 { return r.Rates.OutputTokensPerS }

func hitRate(r *reports.Report) *float64 {
	if r.PrefixCache == nil {
		return nil
	}
	return &r.PrefixCache.HitRate
}

// attained is the share of a class's requests that met its objective.
func attained(class string) metric {
	return func(r *reports.Report) *float64 {
		if r.SLO == nil {
			return nil
		}
		for _, o := range r.SLO.Objectives {
			if o.Class == class {
				return o.Attainment
			}
		}
		return nil
	}
}
