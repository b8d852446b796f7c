package main

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/telemetry"
	"github.com/llmctl/llmctl/internal/buildinfo"
)

// traces are a server's spans on their way to a collector; without one there
// are none.
type traces struct {
	to  *sdktrace.TracerProvider
	log *slog.Logger
}

// startTraces sets up what the configuration and OTEL_* variables ask for.
func startTraces(c *config.Config, log *slog.Logger, lookup func(string) (string, bool)) (*traces, error) {
	return newTraces(telemetry.Options{
		Service: "llmctl-gateway", Endpoint: c.Traces.Endpoint, Sample: c.Traces.Sample, Lookup: lookup,
	}, log)
}

// newTraces sets up the spans of one of this program's servers.
func newTraces(o telemetry.Options, log *slog.Logger) (*traces, error) {
	o.Version, o.Logger = buildinfo.Version(), log
	to, err := telemetry.Traces(context.Background(), o)
	if err != nil {
		return nil, err
	}
	if to != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", "error", err.Error()) }))
	}
	return &traces{to, log}, nil
}

// provider is nil, and not a nil pointer in an interface, without a collector.
func (t *traces) provider() trace.TracerProvider {
	if t.to == nil {
		return nil
	}
	return t.to
}

// lastSpans is the time that a collector has to take what is left at the end.
const lastSpans = 5 * time.Second

func (t *traces) stop() {
	if t.to == nil {
		return
	}
	ctx, expire := context.WithTimeout(context.Background(), lastSpans)
	defer expire()
	if err := t.to.Shutdown(ctx); err != nil {
		t.log.Warn("traces: what was left is lost", "error", err.Error())
	}
}
