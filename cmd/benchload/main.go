// Command benchload measures load tools against llmctl's exact mock server, for
// developers (`make bench-loadgen`): each tool on the same answers, in turns, at
// several concurrencies, from its own raw output. It writes
// docs/loadgen-benchmark.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/trial"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// options are the command line.
type options struct {
	llmctl, peers, work, page string
	tools                     []string
	concurrency, many         []int
	repeats                   int
	pause                     time.Duration
}

// The load that every tool gets: that of the published comparison of vLLM's
// clients (vllm-project/vllm-bench, bench-overhead/README.md).
const (
	ttft   = 50 * time.Millisecond
	itl    = 10 * time.Millisecond
	tokens = 100
	input  = 16
)

// run returns the exit code: 1 when nothing could be measured, 2 for a bad
// command line.
func run(s *iostreams.IO, args []string) int {
	o, err := parse(s, args)
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 2
	}
	return trial.Until(s, o.bench)
}

func parse(s *iostreams.IO, args []string) (o options, err error) {
	flags := flag.NewFlagSet("benchload", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	flags.StringVar(&o.llmctl, "llmctl", "bin/llmctl", "the binary, for the mock server and as one of the tools")
	flags.StringVar(&o.peers, "peers", "bin/peers", "folder of the virtual environments that install-peers made")
	flags.StringVar(&o.work, "work", "", "folder for the tools' outputs (default: a temporary one)")
	flags.StringVar(&o.page, "write", "", "write the page here")
	names := flags.String("tools", "llmctl,vllm,guidellm,aiperf", "tools to measure")
	levels := flags.String("concurrency", "1,10,50,100,200,300,500,700,1000", "streams at once")
	many := flags.String("many", "5000,10000", "streams at 2 tokens a second, llmctl alone; empty is none")
	flags.IntVar(&o.repeats, "repeats", 3, "times that everything is measured")
	flags.DurationVar(&o.pause, "pause", time.Second, "rest between two measurements")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.tools = strings.Split(*names, ",")
	for _, name := range o.tools {
		if findTool(name) == nil {
			return o, fmt.Errorf("unknown tool %q, expected some of llmctl, vllm, guidellm, aiperf", name)
		}
	}
	if o.concurrency, err = numbers(*levels); err != nil {
		return o, fmt.Errorf("-concurrency: %w", err)
	}
	if o.many, err = numbers(*many); err != nil {
		return o, fmt.Errorf("-many: %w", err)
	}
	if o.repeats < 1 {
		return o, fmt.Errorf("-repeats %d: expected at least 1", o.repeats)
	}
	for _, path := range []*string{&o.llmctl, &o.peers} {
		if *path, err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	return o, nil
}

func numbers(list string) (out []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: expected numbers above 0 with commas between", list)
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

// bench measures everything, and writes the page.
func (o *options) bench(ctx context.Context, s *iostreams.IO) error {
	if o.work == "" {
		dir, err := os.MkdirTemp("", "benchload")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		o.work = dir
	}
	if err := writeTokenizer(filepath.Join(o.work, "tokenizer")); err != nil {
		return err
	}
	r := results{options: *o, machine: trial.Machine(), busy: trial.Load(), date: time.Now(), missing: map[string]string{}, versions: map[string]string{}}
	var tools []*tool
	for _, name := range o.tools {
		t := findTool(name)
		version, err := t.version(ctx, o)
		if err != nil {
			r.missing[name] = err.Error()
			_, _ = fmt.Fprintf(s.Err, "%s is left out: %v\n", name, err)
			continue
		}
		r.versions[name] = version
		tools = append(tools, t)
	}
	var err error
	if r.mock, err = trial.CheckMock(ctx, o.llmctl); err != nil {
		return err
	}
	_, _ = fmt.Fprint(s.Err, r.mock)
	// Repeats are outermost and tools innermost, so that a change of the machine's
	// mood meets all tools alike.
	for repeat := range o.repeats {
		for _, n := range o.concurrency {
			for _, t := range tools {
				if err := ctx.Err(); err != nil {
					return err
				}
				m := o.measure(ctx, t, load{streams: n, ttft: ttft, itl: itl, tokens: tokens, requests: max(20, 3*n)}, repeat)
				r.rows = append(r.rows, m)
				_, _ = fmt.Fprintln(s.Err, m.line())
				time.Sleep(o.pause)
			}
		}
	}
	r.pacing = o.pace(ctx)
	_, _ = fmt.Fprintln(s.Err, r.pacing)
	for _, n := range o.many {
		m := o.measure(ctx, findTool("llmctl"), load{streams: n, ttft: ttft, itl: 500 * time.Millisecond, tokens: 20, requests: 2 * n}, 0)
		r.many = append(r.many, m)
		_, _ = fmt.Fprintln(s.Err, m.line())
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
