package main

import (
	"bytes"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/gateway"
	"github.com/llmctl/llmctl/gateway/reload"
	"github.com/llmctl/llmctl/internal/iostreams"
)

// gatewayFlags is everything that the command line of gateway says.
type gatewayFlags struct {
	path, logFormat          string
	check                    bool
	grace, drainDelay, watch time.Duration
}

func newGateway(s *iostreams.IO) *cobra.Command {
	f := &gatewayFlags{}
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Run the gateway: keys, tenants, limits and routing",
		Long: `Run the gateway. Its log, one line per request, goes to standard error, as JSON
or as text (--log-format). docs/gateway.md explains the configuration and the log.

The configuration is read again when its content changes (--watch), on SIGHUP and
on POST /admin/reload. Streams go on with what they began with; a file that is
refused changes nothing.

On SIGTERM the gateway says on /readyz that it is not ready and serves on for
--drain-delay, so that load balancers can send their clients elsewhere. Then, and on
Ctrl-C at once, it takes no more, and lets what runs end within --grace. A second
signal cuts it off. The two together are to stay below the time after which whoever
stops the gateway kills it, such as Kubernetes' terminationGracePeriodSeconds (30).`,
		Example: `  llmctl gateway --config gateway.yaml
  llmctl gateway --config gateway.yaml --check
  llmctl gateway key`,
		Args: unknownCommand,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.path, "config", "", "configuration file (YAML or JSON)")
	flags.BoolVar(&f.check, "check", false, "check the configuration, say what it means, and end")
	flags.DurationVar(&f.watch, "watch", 2*time.Second, "how often the configuration is looked at for changes; 0: never")
	flags.DurationVar(&f.drainDelay, "drain-delay", 5*time.Second, "time that requests are still taken after SIGTERM, while /readyz says no")
	flags.DurationVar(&f.grace, "grace", 20*time.Second, "time that running requests then have to end")
	flags.StringVar(&f.logFormat, "log-format", "json", "lines of the log: json or text (name=value)")
	cmd.AddCommand(newGatewayKey(s), newGatewayHash(s), newGatewayUsage(s))
	return cmd
}

func (f *gatewayFlags) run(s *iostreams.IO) (err error) {
	if err := f.checkTimes(); err != nil {
		return err
	}
	if f.path == "" {
		return usagef("--config is missing, expected a file such as examples/gateway.yaml")
	}
	missing, err := missingLines(f.logFormat)
	if err != nil {
		return err
	}
	lines := newBatchedLog(s.Err, missing)
	defer func() { // last of all
		if lines.Close() != nil && err != nil {
			err = silent(exitFailed) // whoever wrote an error there would wait for ever
		}
	}()
	log, err := newLog(lines, f.logFormat)
	if err != nil {
		return err
	}
	quietLibraries(log)
	told := log
	if f.check {
		told = nil // which says it in words of its own
	}
	file, c, err := reload.Open(f.path, reload.Options{Logger: told})
	if err != nil {
		return usage(err)
	}
	lookup := lookup(s)
	if f.check {
		return f.runCheck(s, c, lookup)
	}
	ledger, err := openLedger(s, c, log)
	if err != nil {
		return err
	}
	defer closeLedger(ledger, log) // after the gateway
	traces, err := startTraces(c, log, lookup)
	if err != nil {
		return usagef("%s: %w", f.path, err)
	}
	defer traces.stop()
	if s.Env("GOGC") == "" {
		defer tuneCollector(smallHeap)()
	}
	g, err := gateway.New(c, gateway.Options{Logger: log, LookupEnv: lookup, Traces: traces.provider(), Ledger: ledger, LinesDropped: lines.Dropped})
	if err != nil {
		return usagef("%s: %w", f.path, err)
	}
	defer g.Close()
	g.Follow(file)
	servers, err := openGateway(c, g, log)
	if err != nil {
		return err
	}
	return servers.serve(s, f, g, file)
}

// Bounds of the command line's times: none is waited for longer than a day, and who
// looks at the file more often than every leastWatch does nothing else.
const (
	mostWait   = 24 * time.Hour
	leastWatch = 10 * time.Millisecond
)

func (f *gatewayFlags) checkTimes() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
		least time.Duration // of those above zero
	}{{"--grace", f.grace, 0}, {"--drain-delay", f.drainDelay, 0}, {"--watch", f.watch, leastWatch}} {
		switch {
		case d.value < 0:
			return usagef("%s %s is negative", d.flag, d.value)
		case d.value > mostWait:
			return usagef("%s %s, expected at most %s", d.flag, d.value, mostWait)
		case d.value > 0 && d.value < d.least:
			return usagef("%s %s, expected 0 or at least %s", d.flag, d.value, d.least)
		}
	}
	return nil
}

// newLog is a log with lines of a format.
func newLog(to io.Writer, format string) (*slog.Logger, error) {
	switch format {
	case "json":
		return slog.New(newJSONLog(to)), nil
	case "text":
		return slog.New(slog.NewTextHandler(to, nil)), nil
	}
	return nil, usagef("--log-format %q, expected json or text", format)
}

// missingLines makes the line of a log that says how many others are missing.
func missingLines(format string) (func(lines int64) []byte, error) {
	var line bytes.Buffer
	log, err := newLog(&line, format)
	return func(lines int64) []byte {
		line.Reset()
		log.Warn("lines of this log were dropped: they could not be written, or not as fast as they came", "lines", lines)
		return bytes.Clone(line.Bytes())
	}, err
}
