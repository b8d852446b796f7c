// Command benchgateway measures what a gateway adds to direct calls, for
// developers (`make bench-gateway`): llmctl's own beside a bare reverse proxy of
// net/http and others, in turns, in front of llmctl's exact mock server, under an
// open loop of streams, a closed loop of whole answers, and many open streams. It
// writes docs/gateway-benchmark.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/trial"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// options are the command line.
type options struct {
	llmctl, work, page string
	binaries           map[string]string // of other gateways, by name
	fronts             []string
	loads              []kind
	rate, slow, open   int
	duration           time.Duration
	repeats            int
}

// run returns the exit code: 1 when nothing could be measured, 2 for a bad
// command line.
func run(s *iostreams.IO, args []string) int {
	if len(args) == 3 && args[0] == "proxy" {
		return proxy(s, args[1], args[2])
	}
	o, err := parse(s, args)
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 2
	}
	return trial.Until(s, o.bench)
}

func parse(s *iostreams.IO, args []string) (o options, err error) {
	o.binaries = map[string]string{}
	flags := flag.NewFlagSet("benchgateway", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	flags.StringVar(&o.llmctl, "llmctl", "bin/llmctl", "the binary, for the mock server, the load and the gateway")
	litellm := flags.String("litellm", "bin/peers/litellm/bin/litellm", "LiteLLM's program")
	ferro := flags.String("ferro", "bin/peers/ferro/ferrogw", "the program of Ferro's AI gateway")
	flags.StringVar(&o.page, "write", "", "write the page here")
	fronts := flags.String("fronts", "proxy,llmctl,litellm,ferro", "what to put in front of the mock")
	loads := flags.String("loads", "streams,slow,whole,memory", "what to measure")
	flags.IntVar(&o.rate, "rate", 500, "streams per second of the open loop")
	flags.IntVar(&o.slow, "slow", 20, "streams per second of the open loop for those that carry no more")
	flags.IntVar(&o.open, "open", 2000, "streams at once, for memory")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "length of each measurement")
	flags.IntVar(&o.repeats, "repeats", 5, "times that everything is measured")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.fronts = append([]string{"direct"}, strings.Split(*fronts, ",")...)
	for _, name := range o.fronts {
		if findFront(name) == nil {
			return o, fmt.Errorf("unknown front %q, expected some of proxy, llmctl, litellm, ferro", name)
		}
	}
	for name := range strings.SplitSeq(*loads, ",") {
		if !slices.Contains([]kind{openLoop, slowLoop, wholes, memory}, kind(name)) {
			return o, fmt.Errorf("unknown load %q, expected some of streams, slow, whole, memory", name)
		}
		o.loads = append(o.loads, kind(name))
	}
	if o.repeats < 1 || o.rate < 1 || o.slow < 1 || o.open < 1 || o.duration < time.Second {
		return o, fmt.Errorf("-repeats %d -rate %d -slow %d -open %d -duration %s: expected at least 1, 1, 1, 1 and 1s", o.repeats, o.rate, o.slow, o.open, o.duration)
	}
	for name, path := range map[string]*string{"llmctl": &o.llmctl, "litellm": litellm, "ferro": ferro} {
		if o.binaries[name], err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	return o, nil
}

// slowly tells whether a front is measured at the lower rate: those that need it, and
// what they are compared with.
func (o *options) slowly(f *front) bool {
	return f.slow || f.start == nil && slices.ContainsFunc(o.fronts, func(name string) bool { return findFront(name).slow })
}

// bench measures everything, and writes the page.
func (o *options) bench(ctx context.Context, s *iostreams.IO) error {
	dir, err := os.MkdirTemp("", "benchgateway")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	o.work = dir
	r := results{options: *o, machine: trial.Machine(), busy: trial.Load(), date: time.Now(), missing: map[string]string{}}
	var present []*front
	for _, name := range o.fronts {
		f := findFront(name)
		if path := f.program(o); path != "" {
			if _, err := os.Stat(path); err != nil {
				r.missing[name] = "not installed"
				_, _ = fmt.Fprintf(s.Err, "%s is left out: %v\n", name, err)
				continue
			}
		}
		present = append(present, f)
	}
	for repeat := range o.repeats {
		for _, l := range o.loads {
			load := map[kind]func(context.Context, *front, int) *measurement{openLoop: o.streams, slowLoop: o.slowStreams, wholes: o.whole, memory: o.memory}[l]
			for i := range present {
				if repeat%2 == 1 { // there and back, so that a drift of the machine meets all alike
					i = len(present) - 1 - i
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if l == slowLoop && !o.slowly(present[i]) {
					continue
				}
				m := load(ctx, present[i], repeat)
				r.rows = append(r.rows, m)
				_, _ = fmt.Fprintln(s.Err, m.line())
			}
		}
	}
	page := r.page()
	if _, err := fmt.Fprint(s.Out, page); err != nil || o.page == "" {
		return err
	}
	if err := atomicfile.Write(o.page, []byte(page)); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
