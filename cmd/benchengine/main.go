// Command benchengine measures the engine beside llama.cpp's own server, for
// developers (`make bench-engine`): one model file, as many threads each, in turns;
// one stream, and many streams with a shared prefix. It also measures start, memory,
// how much of the machine's memory bandwidth decoding reaches, and the scheduler's
// step, and writes docs/engine-benchmark.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/trial"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// options are the command line.
type options struct {
	llmctl, llama, model string // paths
	golang               string // the go command; empty skips benchmarks of single parts
	work, page           string
	threads, repeats     int
	load                 traffic
}

// traffic is what the servers are asked for.
type traffic struct {
	streams, prefix, own, output int // prefix, own and output in tokens, for each stream
	single                       int // prompt tokens of the single stream
}

// tokens are all that one of many streams is about.
func (l traffic) tokens() int { return l.prefix + l.own + l.output }

// run returns the exit code: 1 when nothing could be measured, 2 for a bad
// command line.
func run(s *iostreams.IO, args []string) int {
	o, err := parse(s.Err, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 2
	}
	return trial.Until(s, o.bench)
}

func parse(errs io.Writer, args []string) (o options, err error) {
	flags := flag.NewFlagSet("benchengine", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.llmctl, "llmctl", "bin/llmctl", "the binary that serves")
	flags.StringVar(&o.llama, "llama-server", "bin/peers/llama/build/bin/llama-server", "llama.cpp's server; empty measures llmctl alone")
	flags.StringVar(&o.model, "model", "", "GGUF file that both serve (required)")
	flags.StringVar(&o.golang, "go", "go", "go command for the benchmarks of single parts; empty leaves them out")
	flags.StringVar(&o.page, "write", "", "write the page here")
	flags.IntVar(&o.threads, "threads", 2, "threads of each server")
	flags.IntVar(&o.repeats, "repeats", 5, "times that everything is measured")
	flags.IntVar(&o.load.streams, "streams", 16, "streams at once")
	flags.IntVar(&o.load.prefix, "prefix", 512, "prompt tokens that the streams share")
	flags.IntVar(&o.load.own, "own", 32, "prompt tokens of each stream's own")
	flags.IntVar(&o.load.output, "output", 128, "output tokens of each stream")
	flags.IntVar(&o.load.single, "single", 16, "prompt tokens of the single stream")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	l := o.load
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.model == "":
		return o, errors.New("-model is missing, expected a GGUF file (make model fetches one)")
	case min(o.threads, o.repeats, l.streams, l.prefix, l.own, l.single) < 1 || l.output < 2:
		return o, fmt.Errorf("-threads %d -repeats %d -streams %d -prefix %d -own %d -single %d -output %d: expected at least 1 each, and 2 output tokens",
			o.threads, o.repeats, l.streams, l.prefix, l.own, l.single, l.output)
	}
	for _, path := range []*string{&o.llmctl, &o.llama, &o.model} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	return o, nil
}

// bench measures everything, and writes the page.
func (o *options) bench(ctx context.Context, s *iostreams.IO) error {
	dir, err := os.MkdirTemp("", "benchengine")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	o.work = dir
	r := results{options: *o, machine: trial.Machine(), busy: trial.Load(), date: time.Now(), versions: map[string]string{}, missing: map[string]string{}}
	if r.weights, err = weigh(o.model); err != nil {
		return err
	}
	r.bandwidth = readBandwidth(o.threads)
	_, _ = fmt.Fprintf(s.Err, "memory is read at %.1f GB/s\n", r.bandwidth/1e9)
	if err := o.turns(ctx, s.Err, &r); err != nil {
		return err
	}
	if o.golang != "" {
		r.parts, r.partsErr = o.benchmarkParts(ctx)
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

// turns measures the engines in turns, there and back, so that a drift of the
// machine meets all alike.
func (o *options) turns(ctx context.Context, log io.Writer, r *results) error {
	var present []*engine
	for i := range engines {
		e := &engines[i]
		version, err := e.version(ctx, o)
		if err != nil {
			r.missing[e.name] = err.Error()
			_, _ = fmt.Fprintf(log, "%s is left out: %v\n", e.name, err)
			continue
		}
		r.versions[e.name] = version
		present = append(present, e)
	}
	for repeat := range o.repeats {
		for i := range present {
			if repeat%2 == 1 {
				i = len(present) - 1 - i
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			m := o.measure(ctx, present[i], repeat)
			r.rows = append(r.rows, m)
			_, _ = fmt.Fprintln(log, m.line())
		}
	}
	return nil
}
