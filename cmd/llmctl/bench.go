package main

import (
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
)

// benchFlags is everything that the command line of bench says.
type benchFlags struct {
	scenario scenarioFlags
	output   outputFlag
	engine   engineFlags // of the bundled engine

	client    clientFlags
	phases    phasesFlags
	curve     curveFlags
	telemetry telemetryFlags
	prompts   promptsFlags
	trace     traceFlags

	endpoint, served, api           string
	headers                         []string
	duration, warmup, drain         time.Duration
	firstToken, idle, total, maxLag time.Duration
	requests, maxInFlight, count    int
	seed                            uint64
	ignoreEOS                       bool

	save, maxFailures, ui string
	asserts               []string
	quiet                 bool
}

func newBench(s *iostreams.IO) *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Load an endpoint, or the bundled stack, and report what it does",
		Long: `Load an OpenAI-compatible endpoint with streaming requests and report goodput,
latencies, throughput and cost. Without --endpoint (or OPENAI_BASE_URL) it starts
the bundled gateway and engine as a child process, loads that, and stops it.

The API key is read from OPENAI_API_KEY and never shown. Ctrl-C once ends
sending and reports what was measured; twice ends at once. With --save, records
go to disk as they complete.`,
		Example: `  llmctl bench
  llmctl bench --experiment shared-prefix
  llmctl bench --endpoint http://localhost:8000 --rps 4 --duration 60s --slo ttft=500ms,tpot=50ms
  llmctl bench --concurrency 16 --requests 200 --save runs/1 --assert 'p99(ttft) < 800ms'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := f.resolve(cmd, s)
			if err != nil {
				return usage(err)
			}
			stdlog.SetOutput(io.Discard) // net/http writes what it can not return, into the live view
			return b.run(cmd.Context())
		},
	}
	f.scenario.add(cmd, "model", "accelerator", "workload", "isl", "osl", "prefix", "turns", "think", "trace", "trace-format", "trace-speed",
		"rps", "concurrency", "users", "concurrency-ramp", "arrival", "cancel", "slo", "price", "experiment")
	f.output.add(cmd, "csv", "markdown")
	f.addTarget(cmd)
	f.addRun(cmd)
	f.addResult(cmd)
	f.client.add(cmd)
	f.phases.add(cmd)
	f.curve.add(cmd)
	f.curve.addResume(cmd)
	f.telemetry.add(cmd)
	f.prompts.add(cmd)
	f.trace.add(cmd)
	return cmd
}

func (f *benchFlags) addTarget(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.served, "served-model", "", "name of the model on the wire")
	flags.StringVar(&f.api, "api", string(client.Chat), "dialect: chat, completions, responses or embeddings")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "extra header, e.g. 'X-Team: search'; repeatable")
	flags.IntVar(&f.count, "count", 1, "accelerators behind the endpoint, for the cost")
	f.engine.addDevice(cmd, "bundled engine: ")
	f.engine.addLimits(cmd, "bundled engine: ")
}

func (f *benchFlags) addRun(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "length of the measurement")
	countVar(flags, &f.requests, "requests", "measure this many requests in place of a duration")
	flags.DurationVar(&f.warmup, "warmup", 2*time.Second, "time before the measurement in which requests do not count")
	flags.DurationVar(&f.drain, "drain", 30*time.Second, "time that requests in flight have to end after sending has")
	flags.DurationVar(&f.firstToken, "timeout-first-token", time.Minute, "longest wait for the first token")
	flags.DurationVar(&f.maxLag, "max-lag", 0, "lateness of the client (p99) above which the run is not trusted (default: the larger of 5ms and 5% of TTFT p50)")
	flags.DurationVar(&f.idle, "timeout-idle", time.Minute, "longest gap between tokens")
	flags.DurationVar(&f.total, "timeout", 10*time.Minute, "longest request")
	flags.IntVar(&f.maxInFlight, "max-in-flight", loadgen.DefaultMaxInFlight, "requests in flight beyond which an open loop drops")
	seedVar(flags, &f.seed, 1, "seed of arrivals and lengths")
	flags.BoolVar(&f.ignoreEOS, "ignore-eos", true, "ask for exactly the output length of the workload (vLLM, SGLang)")
}

func (f *benchFlags) addResult(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.save, "save", "", "folder to keep the run in; must not hold one yet")
	flags.StringArrayVar(&f.asserts, "assert", nil, "condition that must hold, e.g. 'p99(ttft) < 800ms'; repeatable")
	flags.StringVar(&f.maxFailures, "max-failures", "1%", "share of failed requests above which the run is not trusted")
	flags.StringVar(&f.ui, "ui", "auto", "progress: auto, tui, plain or none")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
}

// resolve turns flags, scenario and environment into a bench that can run; its
// errors are mistakes of the caller.
func (f *benchFlags) resolve(cmd *cobra.Command, s *iostreams.IO) (*bench, error) {
	sc, err := f.scenario.resolve(cmd, s)
	if err != nil {
		return nil, err
	}
	if err := f.applyRun(cmd, &sc.Run); err != nil {
		return nil, err
	}
	if len(sc.Also) > 0 {
		return nil, errors.New("the scenario has further workloads under also, and bench sends one: bench each on its own, or all together with llmctl simulate")
	}
	for _, name := range []string{"save", "model", "endpoint"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return nil, fmt.Errorf("--%s is empty; leave it out, or is a variable not set?", name)
		}
	}
	if cmd.Flags().Changed("duration") && cmd.Flags().Changed("requests") {
		return nil, errors.New("--duration and --requests both bound the run; give one of them")
	}
	f.endpoint = f.client.first(s.Env("OPENAI_BASE_URL"))
	if err := f.checkTarget(cmd); err != nil {
		return nil, err
	}
	b := &bench{io: s, id: newID(), flags: f, asserts: f.asserts}
	for _, check := range []func() error{
		func() error { return f.checkChoices(sc) },
		func() error { return f.client.check(cmd) },
		func() error { return f.phases.check(cmd) },
		func() error { return f.curve.check(cmd, &f.duration, "requests", "shard", "start-at", "experiment") },
		func() error { return f.curve.firstLoad(&sc) },
		func() error { return f.telemetry.check(cmd) },
		func() error { return f.prompts.check(cmd) },
		func() error { return f.trace.check(cmd, sc.Workload) },
		func() error { return checkKey(s.Env("OPENAI_API_KEY")) },
		func() (err error) { b.headers, err = parseHeaders(f.headers); return err },
		func() (err error) { b.maxFailures, err = parseShare("--max-failures", f.maxFailures); return err },
		func() error { return checkAsserts(f.asserts) },
		func() error { return f.curve.checkAsserts(f.asserts) },
		func() error { return b.complete(sc, cmd) },
		func() error { return f.checkLoop(cmd, b.scenario.Workload.Arrival) },
		func() error { return checkLengths(b.scenario.Workload) },
		func() error { return f.curve.checkLimits(b.scenario.Workload.Arrival, f.duration, f.seed) },
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	b.warnOfServing()
	return b, nil
}

// applyRun takes what the scenario says of its run. Several runs at different loads
// are bounded by time, and a search decides what to repeat.
func (f *benchFlags) applyRun(cmd *cobra.Command, run *profiles.Run) error {
	var unused []string
	if f.curve.wanted() {
		unused = append(unused, "requests")
	}
	if f.curve.find {
		unused = append(unused, "repeat")
	}
	return applyRun(cmd.Flags(), run, unused...)
}

// checkTarget refuses flags that would have no effect on the target.
func (f *benchFlags) checkTarget(cmd *cobra.Command) error {
	idle, because := []string{"metrics-url", "served-model", "header"}, "a server named by --endpoint"
	if f.endpoint != "" {
		idle, because = engineLimitFlags, "the bundled engine, and --endpoint or OPENAI_BASE_URL names another server"
	}
	for _, name := range idle {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no effect here: it is for %s", name, because)
		}
	}
	if client.API(f.api) != client.Embeddings {
		return nil
	}
	for _, name := range []string{"osl", "turns", "think", "ignore-eos"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no effect with --api embeddings: nothing is generated, and nothing follows an answer", name)
		}
	}
	return nil
}

// checkLoop refuses flags that are without effect in a closed loop.
func (f *benchFlags) checkLoop(cmd *cobra.Command, a profiles.Arrival) error {
	switch given := cmd.Flags().Changed; {
	case !a.ClosedLoop():
	case given("max-in-flight"):
		return errors.New("--max-in-flight is for open loops; a closed loop never has more in flight than its --concurrency or --users")
	case given("abort-saturated"):
		return errors.New("--abort-saturated is for open loops; a closed loop can not be overrun")
	}
	return nil
}

// maxPrompt is the longest prompt that bench makes, in tokens: ten times the
// longest window of any model, and some tens of megabytes.
const maxPrompt = 10_000_000

// checkLengths refuses prompts that would fill the memory, and a shared prefix that
// no prompt has room for.
func checkLengths(w profiles.Workload) error {
	switch longest := w.Input.Largest(); {
	case w.Input == profiles.Distribution{}:
	case longest > maxPrompt:
		return fmt.Errorf("prompts of up to %s tokens are longer than any server takes, expected at most %s (--isl)", units.Number(longest), units.Count(maxPrompt))
	case w.Prefix.Groups > 0 && float64(w.Prefix.Tokens) >= longest:
		return fmt.Errorf("a shared prefix of %s tokens does not fit into prompts of at most %s (--prefix, --isl)", units.Count(int64(w.Prefix.Tokens)), units.Number(longest))
	}
	return nil
}

// checkKey refuses a key that can not be sent, without showing it.
func checkKey(key string) error {
	if strings.ContainsFunc(key, unicode.IsControl) {
		return errors.New("OPENAI_API_KEY holds a line break or another control character")
	}
	return nil
}

func (f *benchFlags) checkChoices(sc profiles.Scenario) error {
	for _, c := range []struct {
		flag, value string
		choices     []string
	}{
		{"--api", f.api, apiNames()},
		{"--experiment", sc.Experiment, []string{"", "none", experimentSharedPrefix}},
	} {
		if !slices.Contains(c.choices, c.value) {
			return fmt.Errorf("%s: unknown choice %q, expected one of %s", c.flag, c.value, strings.TrimLeft(strings.Join(c.choices, ", "), ", "))
		}
	}
	if err := (screen{ui: f.ui, quiet: f.quiet}).check(); err != nil {
		return err
	}
	if f.requests == 0 && f.duration <= 0 {
		return fmt.Errorf("a run of %s measures nothing, expected more than 0 (--duration)", f.duration)
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"--warmup", f.warmup}, {"--drain", f.drain}, {"--timeout-first-token", f.firstToken}, {"--timeout-idle", f.idle}, {"--timeout", f.total}, {"--max-lag", f.maxLag}} {
		if d.value < 0 {
			return fmt.Errorf("%s %s is negative", d.flag, d.value)
		}
	}
	if f.total == 0 {
		return errors.New("--timeout 0s leaves no time for a request")
	}
	if f.count < 1 {
		return fmt.Errorf("--count %d: expected at least 1", f.count)
	}
	if f.maxInFlight < 1 {
		return fmt.Errorf("--max-in-flight %d: expected at least 1", f.maxInFlight)
	}
	return nil
}

func parseHeaders(lines []string) (http.Header, error) {
	h := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || !isToken(name) || strings.ContainsFunc(value, unicode.IsControl) {
			return nil, fmt.Errorf("--header: expected one like 'Name: value'") // the value may be secret
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return h, nil
}

// isToken reports whether a name can be that of a header (RFC 9110, 5.6.2).
func isToken(name string) bool {
	const others = "!#$%&'*+-.^_`|~"
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(others, r)
	})
}

// parseShare reads the value of a flag like 1% or 0.01. None at all is negative,
// since 0 means the default further on.
func parseShare(flag, s string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%s: %q is not a share between 0%% and 100%%", flag, s)
	}
	if v == 0 {
		v = -1
	}
	return v, nil
}

func checkAsserts(asserts []string) error {
	for _, text := range asserts {
		if _, err := reports.ParseAssert(text); err != nil {
			return fmt.Errorf("--assert: %w", err)
		}
	}
	return nil
}
