package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/search"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
)

// curveFlags are the flags of bench that measure the target under several loads.
type curveFlags struct {
	sweepText     string
	find          bool
	maxLoad       string
	toleranceText string
	repeats       int
	maxRuns       int
	resume        bool

	sweep     search.Sweep
	tolerance float64
	limits    search.Options // of a search
}

func (f *curveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.sweepText, "sweep", "", "measure at several loads and find the knee: rate=1,2,4 or rate=1..64 or concurrency=1..256:5")
	flags.BoolVar(&f.find, "find-goodput", false, "search the largest load that meets the objective, from --rps on, or --concurrency")
	flags.StringVar(&f.maxLoad, "search-max", "", "load beyond which --find-goodput tries nothing (default: 10000/s, or 4096 in flight)")
	flags.StringVar(&f.toleranceText, "search-tolerance", "5%", "width of the interval at which --find-goodput ends")
	flags.IntVar(&f.repeats, "search-repeats", 3, "runs of --find-goodput at the two loads next to the limit, at least")
	flags.IntVar(&f.maxRuns, "search-runs", 40, "runs after which --find-goodput ends in any case")
}

func (f *curveFlags) addResume(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.resume, "resume", false, "go on with the sweep or the search that --save holds")
}

// wanted reports whether the bench is of several loads.
func (f *curveFlags) wanted() bool { return f.find || f.sweepText != "" }

// axis is what changes from run to run.
func (f *curveFlags) axis(a profiles.Arrival) search.Axis {
	if f.find && a.Process == profiles.Closed {
		return search.Concurrency
	}
	if f.find {
		return search.Rate
	}
	return f.sweep.Axis
}

// searchDuration is the length of a search's runs when nobody says: long enough
// for a queue to grow.
const searchDuration = 30 * time.Second

// check refuses what contradicts itself, the flags of single runs among it, and
// gives the runs of a search a duration of their own.
func (f *curveFlags) check(cmd *cobra.Command, duration *time.Duration, single ...string) (err error) {
	given := cmd.Flags().Changed
	if !f.wanted() {
		for _, name := range []string{"search-max", "search-tolerance", "search-repeats", "search-runs", "resume"} {
			if given(name) {
				return fmt.Errorf("--%s has no effect here: it is for --find-goodput", name)
			}
		}
		return nil
	}
	if f.find && f.sweepText != "" {
		return errors.New("--sweep tries the loads that it names and --find-goodput chooses its own; give one of them")
	}
	for _, name := range single {
		if given(name) {
			return fmt.Errorf("--%s is for a single run, and %s makes several; give one of them", name, f.name())
		}
	}
	if f.resume && !given("save") {
		return errors.New("--resume goes on with what --save DIR holds; give its folder")
	}
	if !f.find {
		return f.checkSweep(given)
	}
	if !given("duration") {
		*duration = searchDuration
	}
	if given("repeat") {
		return errors.New("--repeat and --find-goodput: the search decides what to repeat; --search-repeats says how often at least")
	}
	share, err := parseShare("--search-tolerance", f.toleranceText)
	if err != nil {
		return err
	}
	if f.tolerance = share; share <= 0 || share >= 1 {
		return fmt.Errorf("--search-tolerance %s: expected more than 0%% and less than 100%%", f.toleranceText)
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"--search-repeats", f.repeats}, {"--search-runs", f.maxRuns}} {
		if n.value < 1 || n.value > maxRepeats {
			return fmt.Errorf("%s %d: expected 1 to %d", n.flag, n.value, maxRepeats)
		}
	}
	return nil
}

func (f *curveFlags) checkSweep(given func(string) bool) (err error) {
	for _, name := range []string{"search-max", "search-tolerance", "search-repeats", "search-runs"} {
		if given(name) {
			return fmt.Errorf("--%s is for --find-goodput, a sweep names its loads", name)
		}
	}
	if f.sweep, err = search.ParseSweep(f.sweepText); err != nil {
		return fmt.Errorf("--sweep: %w", err)
	}
	for _, name := range []string{"rps", "concurrency"} {
		if given(name) {
			return fmt.Errorf("--%s is one load and --sweep names several; give one of them", name)
		}
	}
	if f.sweep.Axis == search.Concurrency && given("arrival") {
		return errors.New("--arrival is for open loops, and --sweep of a concurrency makes closed ones; give one of them")
	}
	return nil
}

func (f *curveFlags) name() string {
	if f.find {
		return "--find-goodput"
	}
	return "--sweep"
}

// firstLoad puts the load of the first run into the scenario, so that it is
// complete and can be checked as that of a single run.
func (f *curveFlags) firstLoad(sc *profiles.Scenario) error {
	a := &sc.Workload.Arrival
	switch {
	case !f.wanted():
		return nil
	case f.find && *a == profiles.Arrival{}:
		*a = profiles.Arrival{Process: profiles.Poisson, RatePerS: startRate}
	case !f.find && f.sweep.Axis == search.Concurrency && a.Process != profiles.Closed:
		*a = profiles.Arrival{Process: profiles.Closed}
	case !f.find && f.sweep.Axis == search.Rate && (a.Process == "" || a.Process == profiles.Closed):
		*a = profiles.Arrival{Process: profiles.Poisson}
	}
	switch a.Process {
	case profiles.Constant, profiles.Poisson, profiles.Gamma, profiles.Closed:
	default:
		return fmt.Errorf("%s changes the load from run to run, and arrivals of the process %s have no single rate; use constant, poisson, gamma or closed", f.name(), a.Process)
	}
	if !f.find {
		setLoad(a, f.sweep.Loads[0])
	}
	return nil
}

// startRate is where a search begins when nobody says, in requests per second.
const startRate = 1

// setLoad gives arrivals another load.
func setLoad(a *profiles.Arrival, load float64) {
	if a.Process == profiles.Closed {
		a.Concurrency = int(math.Round(load))
		return
	}
	a.RatePerS = load
}

// checkLimits finds out where the search may go.
func (f *curveFlags) checkLimits(a profiles.Arrival, duration time.Duration, seed uint64) (err error) {
	if f.find {
		f.limits, err = f.options(a, duration, seed)
	}
	return err
}

// options are those of the search, from the load of the scenario on.
func (f *curveFlags) options(a profiles.Arrival, duration time.Duration, seed uint64) (search.Options, error) {
	o := search.Options{Start: a.RatePerS, Min: minRequests / duration.Seconds(), Max: 10_000, Tolerance: f.tolerance, Repeats: f.repeats, MaxRuns: f.maxRuns, Seed: seed}
	parse := units.ParseRate
	if f.axis(a) == search.Concurrency {
		o.Start, o.Min, o.Max, o.Whole = float64(a.Concurrency), 1, 4096, true
		parse = units.ParseCount
	}
	if f.maxLoad != "" {
		limit, err := parse(f.maxLoad)
		if err != nil || !(limit > 0) || math.IsInf(limit, 0) || o.Whole && limit != math.Trunc(limit) {
			return o, fmt.Errorf("--search-max %q: expected a load above 0, like 200/s or 256", f.maxLoad)
		}
		o.Max = limit
	}
	if o.Start < o.Min {
		return o, fmt.Errorf("a run of %s at %s/s has fewer than %d requests, too few to judge; give a longer --duration or a higher --rps", duration, units.Number(o.Start), minRequests)
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("--search-max: %w", err)
	}
	return o, nil
}

// minRequests is the fewest requests of a run that the search makes at a rate:
// of fewer, a share says little.
const minRequests = 10

// checkAsserts refuses conditions that no curve can answer: only a search knows
// the largest goodput.
func (f *curveFlags) checkAsserts(asserts []string) error {
	for _, text := range asserts {
		a, err := reports.ParseAssert(text)
		if err != nil {
			return err // told by the check of the flag itself
		}
		if f.wanted() && (!f.find || strings.TrimSpace(a.Metric) != "goodput") {
			return fmt.Errorf("--assert %q: of several runs only the limit that --find-goodput finds can be asserted, as in 'goodput >= 10/s'", text)
		}
	}
	return nil
}
