package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/gateway/telemetry"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
)

// serveFlags are those of serve alone.
type serveFlags struct {
	engine     engineFlags
	addr, host string
	port       int
	apiKey     string
	grace      time.Duration
	keepAlive  time.Duration
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
	cmd.MarkFlagsMutuallyExclusive("addr", "host")
	cmd.MarkFlagsMutuallyExclusive("addr", "port")
}

// address is where to listen.
func (f *serveFlags) address() (string, error) {
	if f.port < 0 || f.port > 65535 {
		return "", fmt.Errorf("--port %d, expected 0 to 65535", f.port)
	}
	if f.host == "" && f.port == 0 {
		return f.addr, nil
	}
	return net.JoinHostPort(cmp.Or(f.host, "127.0.0.1"), strconv.Itoa(cmp.Or(f.port, 8000))), nil
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
	v, err := f.engine.open(s)
	if err != nil {
		return err
	}
	defer v.close()
	spans, err := engineTraces(s)
	if err != nil {
		return usage(err)
	}
	defer spans.stop()
	v.options.APIKey, v.options.KeepAlive = f.apiKey, f.keepAlive
	v.options.Tracer = spans.provider()
	l, err := listen(addr, v.handler())
	if err != nil {
		return err
	}
	v.announce(s.Err, time.Since(begun))
	fmt.Fprintf(s.Err, "serving %s on %s/v1, metrics on %s/metrics; Ctrl-C ends it\n", v.name(), l.url(), l.url())
	return serveUntil(nil, s, f.grace, func() {}, l)
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

// announce tells what vLLM tells at the start, in its words where scripts look for
// them.
func (v *servedModel) announce(w io.Writer, took time.Duration) {
	st := v.engine.Stats()
	tokens, window := int64(st.Blocks*st.BlockSize), int64(v.engine.Window())
	weights := ""
	if v.weights > 0 {
		weights = fmt.Sprintf(", %s of weights", units.Bytes(v.weights))
	}
	weights += v.reduced
	fmt.Fprintf(w, "model %s%s, ready in %.2f s\n", v.engine.ModelName(), weights, took.Seconds())
	fmt.Fprintf(w, "KV cache size: %s tokens, %s blocks of %d\n", units.Count(tokens), units.Count(int64(st.Blocks)), st.BlockSize)
	fmt.Fprintf(w, "Maximum concurrency for %s tokens per request: %.2fx\n", units.Count(window), float64(tokens)/float64(window))
}
