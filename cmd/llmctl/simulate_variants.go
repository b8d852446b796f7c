package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/loadgen/search"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/simulator/study"
)

// variantFlags ask for the same requests under several values of a setting.
type variantFlags struct {
	texts []string
	axes  []variantAxis
}

// variantAxis is one setting and its values, as texts.
type variantAxis struct {
	setting setting
	values  []string
}

func (f *variantFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.texts, "compare", nil, "simulate the same requests under each of these values of a setting, side by side: replicas=2,3,4 or router=round_robin,least_loaded or any other flag that the scenario knows; values with commas are separated by |; repeatable, for all combinations; off simulates one scenario, whatever the file compares")
}

func (f *variantFlags) wanted() bool { return len(f.axes) > 0 }

// mostVariants bounds the combinations.
const mostVariants = 256

// parse reads --compare, and takes over a --sweep that is not of a load. What the
// file compares holds where there is neither flag.
func (f *variantFlags) parse(curve *curveFlags, file []profiles.Comparison) error {
	if slices.Equal(f.texts, []string{"off"}) {
		f.texts, file = nil, nil
	}
	if len(f.texts) == 0 && curve.sweepText == "" {
		for _, c := range file {
			if err := f.addAxis(c.Setting, c.Values); err != nil {
				return fmt.Errorf("compare: %w", err)
			}
		}
	}
	for _, text := range f.texts {
		if err := f.axis("--compare", text, splitValues); err != nil {
			return err
		}
	}
	if axis, _, _ := strings.Cut(curve.sweepText, "="); curve.sweepText != "" && !isLoad(axis) {
		if err := f.axis("--sweep", curve.sweepText, sweepValues); err != nil {
			return err
		}
		curve.sweepText = ""
	}
	n := 1
	for _, a := range f.axes {
		if n *= len(a.values); n > mostVariants {
			return fmt.Errorf("--compare: more than %d combinations of values", mostVariants)
		}
	}
	return nil
}

func isLoad(axis string) bool {
	a := search.Axis(strings.TrimSpace(axis))
	return a == search.Rate || a == search.Concurrency
}

// axis reads one setting and its values.
func (f *variantFlags) axis(flag, text string, split func(string) ([]string, error)) error {
	name, rest, ok := strings.Cut(text, "=")
	if !ok || strings.TrimSpace(rest) == "" {
		return fmt.Errorf("%s %q: expected a setting and its values, like replicas=2,3,4", flag, text)
	}
	values, err := split(rest)
	if err == nil {
		err = f.addAxis(strings.TrimSpace(name), values)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", flag, text, err)
	}
	return nil
}

func (f *variantFlags) addAxis(name string, values []string) error {
	st, err := variedSetting(name)
	if err != nil {
		return err
	}
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Errorf("the value %s is there twice", v)
		}
	}
	if len(values) < 2 {
		return errors.New("expected at least two values to compare")
	}
	f.axes = append(f.axes, variantAxis{st, values})
	return nil
}

// variedSetting is the setting of a name, which is that of its flag or the same
// with underscores.
func variedSetting(name string) (setting, error) {
	flag := strings.ReplaceAll(name, "_", "-")
	var names []string
	for _, st := range variedSettings() {
		if st.flag == flag || st.alias == flag {
			return st, nil
		}
		names = append(names, st.flag)
	}
	return setting{}, fmt.Errorf("%s is no setting of a scenario%s", name, profiles.DidYouMean(flag, names))
}

// variedSettings are those that a variant may change.
func variedSettings() []setting {
	return slices.DeleteFunc(slices.Clone(settings), func(st setting) bool { return st.flag == "experiment" || strings.HasPrefix(st.flag, "trace") })
}

func splitValues(text string) (values []string, err error) {
	separator := ","
	if strings.Contains(text, "|") {
		separator = "|"
	}
	for v := range strings.SplitSeq(text, separator) {
		if v = strings.TrimSpace(v); v == "" {
			return nil, errors.New("a value is empty")
		}
		values = append(values, v)
	}
	return values, nil
}

// sweepValues reads numbers as a sweep of loads does: a list, or a range whose
// values double.
func sweepValues(text string) ([]string, error) {
	sweep, err := search.ParseSweep(string(search.Concurrency) + "=" + text)
	if err != nil {
		if sweep, err = search.ParseSweep(string(search.Rate) + "=" + text); err != nil {
			return nil, errors.New("expected numbers, like 1,2,4 or 1..8 (each twice the one before) or 1..100:5")
		}
	}
	var values []string
	for _, load := range sweep.Loads {
		values = append(values, strconv.FormatFloat(load, 'f', -1, 64))
	}
	return values, nil
}

// setting names what differs between the variants.
func (f *variantFlags) setting() string {
	var names []string
	for _, a := range f.axes {
		names = append(names, a.setting.flag)
	}
	return strings.Join(names, ", ")
}

// each applies every combination of values to a scenario, the last setting
// changing fastest. The scenario of the first variant is handed to the others as
// first, so that they differ from it in nothing else.
func (f *variantFlags) each(sc profiles.Scenario, do func(name string, sc profiles.Scenario) error) error {
	at := make([]int, len(f.axes))
	for {
		varied := sc
		varied.SLO, varied.Cluster.Failures = slices.Clone(sc.SLO), slices.Clone(sc.Cluster.Failures)
		var names []string
		for i, a := range f.axes {
			v := a.values[at[i]]
			switch a.setting.flag { // those that add to what was said
			case "slo":
				varied.SLO = nil
			case "failure":
				varied.Cluster.Failures = nil
			}
			if err := a.setting.apply(&varied, v); err != nil {
				return usagef("--compare: %s=%s: %w", a.setting.flag, v, err)
			}
			names = append(names, v)
		}
		if err := varied.Validate(); err != nil {
			return usagef("--compare: %s: %w", strings.Join(names, " "), err)
		}
		if err := do(strings.Join(names, " "), varied); err != nil {
			return err
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(f.axes[i].values) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// variantRepeats is how often each variant is simulated when nobody says: the
// fewest seeds of which a 95 % interval of the median can be told.
const variantRepeats = 6

// runVariants simulates the same requests under each value, and prints them side
// by side.
func (sim *simulation) runVariants(ctx context.Context, c *course) error {
	f := sim.flags
	var out []reports.VariantRuns
	var batch []study.Variant
	var keepers []*simulationKeeper
	defer func() {
		for _, k := range keepers {
			k.abandon()
		}
	}()
	studies, names, err := sim.variantStudies()
	if err != nil {
		return err
	}
	view := sim.newBatchView(c, len(studies)*f.repeat)
	for v, st := range studies {
		for i := range f.repeat {
			path := ""
			if f.save != "" {
				path = filepath.Join(f.save, fileName(names[v]), strconv.Itoa(i+1))
			}
			k, err := sim.newKeeper(path)
			if err != nil {
				return err
			}
			keepers = append(keepers, k)
			batch = append(batch, study.Variant{Study: st, Seed: f.seed + uint64(i), Taps: view.taps(st, k)})
		}
	}
	all, err := study.All(ctx, batch, view.done)
	view.close()
	if err != nil {
		return err
	}
	for v, name := range names {
		runs := slices.DeleteFunc(all[v*f.repeat:(v+1)*f.repeat:(v+1)*f.repeat], func(r *reports.Report) bool { return r == nil })
		out = append(out, reports.VariantRuns{Name: name, Runs: runs})
	}
	compared := reports.NewVariants(f.variants.setting(), out)
	if err := sim.writeVariants(compared); err != nil {
		return err
	}
	for _, k := range keepers {
		if k.failed != nil {
			return fmt.Errorf("saving a run: %w", k.failed)
		}
	}
	if c.stop.used() {
		return silent(exitInterrupted)
	}
	if why := compared.Doubt(); why != "" {
		return &failure{code: exitUntrusted, err: errors.New(why)}
	}
	if broken := compared.Broken(); len(broken) > 0 {
		return &failure{code: exitNotHeld, err: errors.New(strings.Join(broken, "; "))}
	}
	return nil
}

func (sim *simulation) writeVariants(all *reports.Variants) error {
	return sim.flags.output.writeForms(sim.io, all, forms{
		table: func() error {
			options := reports.TextOptions{Color: sim.io.Color, Width: min(sim.io.Width, 100)}
			if err := reports.WriteAsked(sim.io.Out, all.Variants[0].Runs[0], options); err != nil {
				return err
			}
			return reports.WriteVariants(sim.io.Out, all, options)
		},
		csv:      func() error { return reports.VariantsTable(all).WriteCSV(sim.io.Out) },
		markdown: func() error { return reports.WriteVariantsMarkdown(sim.io.Out, all) },
	})
}

// variantStudies resolves every variant. The cluster and the load that nobody said
// are those of the first, so that the others differ in nothing but the setting.
func (sim *simulation) variantStudies() (studies []*study.Study, names []string, err error) {
	f := sim.flags
	sc := sim.request.Sizing.Scenario
	length := f.length
	err = f.variants.each(sc, func(name string, varied profiles.Scenario) error {
		r := sim.request
		r.Sizing.Scenario, r.Length = varied, length
		if len(studies) > 0 {
			first := studies[0].Scenario()
			w := &r.Sizing.Scenario
			if w.Workload.Arrival == sc.Workload.Arrival && loadUnsaid(sc.Workload.Arrival) {
				w.Workload.Arrival = first.Workload.Arrival
			}
			if w.Cluster.Replicas == 0 && len(w.Cluster.Pools) == 0 && r.Sizing.Count == 0 {
				w.Cluster.Replicas = studies[0].Replicas()
			}
		}
		st, err := sim.study(r)
		if err != nil {
			return fmt.Errorf("%s %s: %w", f.variants.setting(), name, err)
		}
		studies, names = append(studies, st), append(names, name)
		return nil
	})
	return studies, names, err
}

// loadUnsaid reports whether nobody said how much an open loop sends.
func loadUnsaid(a profiles.Arrival) bool {
	return a == profiles.Arrival{} || a.Process.Takes("rate") && a.RatePerS == 0
}

// fileName is a name that every file system takes.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-=", r) {
			return r
		}
		return '_'
	}, name)
}
