package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.26.0"
)

// Options say where spans go, and which.
type Options struct {
	Service  string                      // its name, unless OTEL_SERVICE_NAME has another; empty is llmctl-gateway
	Endpoint string                      // of a collector that speaks OTLP over HTTP; empty: as OTEL_* variables say
	Sample   *float64                    // share of requests without a sampled parent, 0..1; nil: as OTEL_* variables say, else all
	Version  string                      // of the service
	Lookup   func(string) (string, bool) // of environment variables
	Logger   *slog.Logger                // told of a collector that is away; nil discards
}

// Traces returns a provider of tracers, or nil when neither the options nor the
// environment names a collector, or OTEL_SDK_DISABLED is true. Whoever gets one
// shuts it down at the end, which sends what is left. A collector that cannot be
// reached loses spans and nothing else.
func Traces(ctx context.Context, o Options) (*sdktrace.TracerProvider, error) {
	if off, _ := o.Lookup("OTEL_SDK_DISABLED"); strings.EqualFold(strings.TrimSpace(off), "true") {
		return nil, nil
	}
	var options []otlptracehttp.Option
	switch {
	case o.Endpoint != "":
		options = append(options, otlptracehttp.WithEndpointURL(strings.TrimRight(o.Endpoint, "/")+"/v1/traces"))
	case !o.named("OTEL_EXPORTER_OTLP_ENDPOINT") && !o.named("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx, options...) // which reads the variables itself
	if err != nil {
		return nil, fmt.Errorf("setting up traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(cmp.Or(o.Service, "llmctl-gateway")), semconv.ServiceVersion(o.Version)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before
	)
	if err != nil {
		return nil, fmt.Errorf("setting up traces: %w", err)
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	settings := []sdktrace.TracerProviderOption{sdktrace.WithBatcher(&told{SpanExporter: exporter, log: log}), sdktrace.WithResource(about)}
	if o.Sample != nil {
		settings = append(settings, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(*o.Sample))))
	}
	return sdktrace.NewTracerProvider(settings...), nil
}

func (o Options) named(variable string) bool {
	v, _ := o.Lookup(variable)
	return strings.TrimSpace(v) != ""
}
