package telemetry

import (
	"context"
	"log/slog"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// told is an exporter that says once when its collector takes no spans, and once
// when it does again, and not at every batch. What it could not send is lost.
type told struct {
	sdktrace.SpanExporter
	log *slog.Logger

	mu   sync.Mutex
	away bool
}

// ExportSpans implements sdktrace.SpanExporter. It fails never: its log has been told.
func (e *told) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && !e.away:
		e.log.Warn("traces: the collector takes no spans, they are lost until it does", "error", err.Error())
	case err == nil && e.away:
		e.log.Info("traces: the collector takes spans again")
	}
	e.away = err != nil
	return nil
}
