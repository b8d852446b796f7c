package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/gateway/telemetry"
	"github.com/llmctl/llmctl/internal/iostreams"
)

// serveFlags are those of serve alone.
type serveFlags struct {
	engine     engineFlags
	addr, host string
	port       int
	apiKey     string
	grace      time.Duration
	keepAlive  time.Duration
	noStats    bool
	quiet      bool
	given      func(flag string) bool
}

func (f *serveFlags) add(cmd *cobra.Command) {
	f.engine.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:8000", "address to listen on")
	flags.StringVar(&f.host, "host", "", "the host of --addr, as vLLM names it")
	flags.IntVar(&f.port, "port", 0, "the port of --addr, as vLLM names it")
	flags.StringVar(&f.apiKey, "api-key", "", "bearer key that clients must send; better set as LLMCTL_API_KEY")
	flags.DurationVar(&f.grace, "grace", 30*time.Second, "time that running requests have to end after Ctrl-C")
	flags.DurationVar(&f.keepAlive, "keep-alive", 15*time.Second, "time after which a quiet stream gets a comment, so that no hop cuts it")
	flags.BoolVar(&f.noStats, "disable-log-stats", false, "no line on tokens and requests every 10 s while there are some")
	flags.BoolVar(&f.quiet, "quiet", false, "say where the server is, warnings and errors alone")
	f.given = flags.Changed
}

// address is where to listen.
func (f *serveFlags) address() (string, error) {
	host, port := f.given("host"), f.given("port")
	switch {
	case f.given("addr") && (host || port):
		return "", errors.New("--addr says both what --host and what --port do, expected it or them")
	case f.port < 0 || f.port > 65535:
		return "", fmt.Errorf("--port %d, expected 0 to 65535", f.port)
	case !host && !port:
		return f.addr, nil
	case !port:
		f.port = 8000
	}
	return net.JoinHostPort(cmp.Or(f.host, "127.0.0.1"), strconv.Itoa(f.port)), nil
}

func (f *serveFlags) run(s *iostreams.IO) error {
	begun := time.Now()
	switch {
	case f.grace < 0:
		return usagef("--grace %s is negative", f.grace)
	case f.keepAlive <= 0:
		return usagef("--keep-alive %s, expected more than 0", f.keepAlive)
	}
	addr, err := f.address()
	if err != nil {
		return usage(err)
	}
	var address net.Listener
	defer func() {
		if address != nil {
			_ = address.Close() // a second time, where it has served
		}
	}()
	f.engine.bind = func() (err error) { // a port in use is found before a large model is loaded
		if address == nil {
			address, err = openAddress(addr)
		}
		return failed(err)
	}
	if s.Env("GOGC") == "" {
		defer tuneCollector(smallHeap)()
	}
	v, err := f.engine.open(s)
	if err != nil {
		return err
	}
	defer v.close()
	if err := f.engine.bind(); err != nil {
		return err
	}
	spans, err := engineTraces(s)
	if err != nil {
		return usage(err)
	}
	defer spans.stop()
	v.options.APIKey, v.options.KeepAlive = f.apiKey, f.keepAlive
	v.options.Tracer = spans.provider()
	here := &visitors{}
	l := listenOn(address, here.wrap(v.handler()))
	if !f.quiet {
		v.announce(s.Err, time.Since(begun))
	}
	fmt.Fprintf(s.Err, "metrics on %s/metrics\nserving %s on %s/v1; Ctrl-C ends it\n", l.url(), v.name(), l.url())
	if !f.quiet && !f.noStats {
		defer logStats(s.Err, v.engine, statsInterval)()
	}
	d := drain{engine: v.engine, visitors: here, grace: f.grace, interrupts: s.Interrupts(), errs: s.Err}
	return d.serve(l)
}

// engineTraces are the engine's spans on their way to a collector that OTEL_* variables
// name.
func engineTraces(s *iostreams.IO) (*traces, error) {
	log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return newTraces(telemetry.Options{Service: "llmctl-engine", Lookup: lookup(s)}, log)
}

func lookup(s *iostreams.IO) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v := s.Env(name)
		return v, v != ""
	}
}

// name is the served model's on the wire.
func (v *servedModel) name() string {
	if len(v.options.ServedModelNames) > 0 {
		return v.options.ServedModelNames[0]
	}
	return v.engine.ModelName()
}
