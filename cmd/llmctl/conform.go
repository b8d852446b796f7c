package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/conform"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
)

// conformFlags is everything that the command line of conform says.
type conformFlags struct {
	output        outputFlag
	options       conform.Options
	suite, failOn string
	secondKeyEnv  string
	limitedKeyEnv string
	junit         string
	maxBody       string
	list, quiet   bool
}

func newConform(s *iostreams.IO) *cobra.Command {
	f := &conformFlags{}
	cmd := &cobra.Command{
		Use:   "conform",
		Short: "Check an OpenAI-compatible endpoint or gateway, case by case",
		Long: `Check any OpenAI-compatible endpoint from outside: how streams are framed and
whether something on the way buffers them, what becomes of clients that leave,
whether counts add up, errors, parameters, headers. --suite gateway adds limits,
idempotency and the isolation of tenants. docs/conformance.md explains every case.

Some 120 small requests are sent, nearly all one after another: eight streams at
once in one case, four clients that leave in each of six, and in the gateway
suite a hundred more that leave. --slow adds two generations of over a minute.

The key comes from OPENAI_API_KEY; further keys are named by the variables that
hold them. What can not be told is skipped with the reason.`,
		Example: `  llmctl conform --endpoint http://localhost:8000
  llmctl conform --endpoint http://localhost:8000 --metrics http://localhost:8000/metrics --slow
  llmctl conform --endpoint http://localhost:8080 --suite gateway --second-key-env KEY_B --limited-key-env KEY_C --max-body 32MiB
  llmctl conform --endpoint http://localhost:8000 --case stream --case 'errors/*' --junit conform.xml
  llmctl conform --list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.list {
				return f.writeList(s)
			}
			if err := f.resolve(s); err != nil {
				return usage(err)
			}
			return f.run(cmd.Context(), s)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *conformFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.options.Endpoint, "endpoint", "", "base URL, with or without /v1 (default $OPENAI_BASE_URL)")
	flags.StringVar(&f.suite, "suite", string(conform.Engine), "cases to try: engine, or gateway for those and more")
	flags.StringArrayVar(&f.options.Pick, "case", nil, "cases by name, group or pattern, e.g. stream or 'errors/*'; repeatable (default: all)")
	flags.StringVar(&f.options.Model, "model", "", "model on the wire (default: the only one listed)")
	flags.StringVar(&f.options.EmbeddingModel, "embedding-model", "", "model of the embeddings case (default: that of --model)")
	flags.IntVar(&f.options.Context, "context", 0, "tokens of the model's window (default: what the endpoint lists)")
	flags.StringVar(&f.maxBody, "max-body", "", "largest request that the endpoint documents to take, such as 32MiB (default: unknown)")
	flags.StringVar(&f.options.Metrics, "metrics", "", "URL of the engine's metrics page, to see that it forgets clients that leave")
	flags.StringVar(&f.secondKeyEnv, "second-key-env", "", "environment variable with another tenant's key")
	flags.StringVar(&f.limitedKeyEnv, "limited-key-env", "", "environment variable with a key of at most 39 requests a minute")
	flags.BoolVar(&f.options.Slow, "slow", false, "try the cases that take over a minute, too")
	flags.DurationVar(&f.options.CaseTimeout, "case-timeout", 30*time.Second, "longest time of one case")
	flags.DurationVar(&f.options.Timeout, "timeout", 10*time.Minute, "longest time of all cases")
	flags.StringVar(&f.failOn, "fail-on", string(conform.Should), "weakest level of a failed case that ends with exit code 99: must, should or info")
	flags.StringVar(&f.junit, "junit", "", "file to write the results to, too, as JUnit's XML")
	flags.BoolVar(&f.list, "list", false, "list the cases, and end")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress on standard error")
	f.output.add(cmd, "markdown")
}

// resolve checks the flags and completes the options.
func (f *conformFlags) resolve(s *iostreams.IO) error {
	o := &f.options
	if o.Endpoint == "" {
		o.Endpoint = s.Env("OPENAI_BASE_URL")
	}
	if o.Endpoint == "" {
		return errors.New("no endpoint, expected --endpoint or OPENAI_BASE_URL, such as http://localhost:8000")
	}
	if err := oneOf("--suite", f.suite, conform.Suites); err != nil {
		return err
	}
	if err := oneOf("--fail-on", f.failOn, conform.Levels); err != nil {
		return err
	}
	o.Suite = conform.Suite(f.suite)
	if o.CaseTimeout <= 0 || o.Timeout <= 0 {
		return errors.New("--case-timeout and --timeout must be above 0")
	}
	if o.Context < 0 {
		return fmt.Errorf("--context %d is negative", o.Context)
	}
	if f.maxBody != "" {
		n, err := units.ParseBytes(f.maxBody)
		if err != nil || n <= 0 {
			return fmt.Errorf("--max-body: %q is no size above 0, expected one like 32MiB", f.maxBody)
		}
		o.MaxBody = n
	}
	if page, err := url.Parse(o.Metrics); o.Metrics != "" && (err != nil || page.Host == "") {
		return errors.New("--metrics is no URL, expected one like http://localhost:8000/metrics")
	}
	o.Key = s.Env("OPENAI_API_KEY")
	for _, k := range []struct {
		flag, name string
		to         *string
	}{{"--second-key-env", f.secondKeyEnv, &o.SecondKey}, {"--limited-key-env", f.limitedKeyEnv, &o.LimitedKey}} {
		if k.name == "" {
			continue
		}
		if *k.to = s.Env(k.name); *k.to == "" {
			return fmt.Errorf("%s: the environment variable %s is not set", k.flag, k.name)
		}
	}
	if (o.SecondKey != "" || o.LimitedKey != "") && o.Suite != conform.Gateway {
		return errors.New("--second-key-env and --limited-key-env have no effect without --suite gateway")
	}
	return nil
}

// oneOf expects a flag's value to be one of a few.
func oneOf[T ~string](flag, value string, known []T) error {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	if slices.Contains(names, value) {
		return nil
	}
	return fmt.Errorf("%s: unknown choice %q, expected one of %s%s", flag, value, strings.Join(names, ", "), profiles.DidYouMean(value, names))
}

func (f *conformFlags) run(ctx context.Context, s *iostreams.IO) error {
	if f.junit != "" {
		if err := atomicfile.Check(f.junit); err != nil {
			return usagef("--junit: %w", err)
		}
	}
	var watch sync.WaitGroup
	defer watch.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	interrupts := s.Interrupts()
	watch.Go(func() {
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	})
	progress := newProgress(s, time.Now)
	if !f.quiet {
		f.options.OnCase = func(done, total int, id string) { progress.say("%d of %d: %s", done+1, total, id) }
	}
	report, err := conform.Run(ctx, f.options)
	progress.clear()
	switch {
	case err != nil && ctx.Err() != nil:
		return errInterrupted
	case errors.Is(err, conform.ErrUnreachable):
		return hinted(exitFailed, err, "is the server running, and is --endpoint its base URL?")
	case err != nil:
		return usage(err)
	}
	if err := f.write(s, report); err != nil {
		return err
	}
	switch {
	case report.Interrupted:
		return silent(exitInterrupted)
	case report.Failed(conform.Level(f.failOn)):
		return silent(exitNotHeld)
	}
	return nil
}

func (f *conformFlags) write(s *iostreams.IO, r *conform.Report) error {
	if f.junit != "" {
		var xml bytes.Buffer
		if err := conform.WriteJUnit(&xml, r, conform.Level(f.failOn)); err != nil {
			return err
		}
		if err := atomicfile.Write(f.junit, xml.Bytes()); err != nil {
			return fmt.Errorf("writing JUnit's XML: %w", err)
		}
	}
	if f.output.format == "markdown" {
		return conform.WriteMarkdown(s.Out, r)
	}
	return f.output.write(s, r, func() error { return conform.WriteText(s.Out, r, min(s.Width, 100), s.Color) })
}

func (f *conformFlags) writeList(s *iostreams.IO) error {
	cases := conform.Cases()
	return f.output.write(s, struct {
		Schema string         `json:"schema"`
		Cases  []conform.Case `json:"cases"`
	}{"llmctl/conform-cases/v1", cases}, func() error {
		table := reports.Table{Header: []string{"case", "level", "suite", "what holds"}}
		for i := range cases {
			c := &cases[i]
			table.Rows = append(table.Rows, []string{c.ID, string(c.Level), string(c.Suite), c.Title})
		}
		_, err := table.WriteTo(s.Out)
		return err
	})
}
