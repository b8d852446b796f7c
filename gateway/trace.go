package gateway

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/llmctl/llmctl/gateway/usage"
)

// Spans follow OpenTelemetry's GenAI conventions (status: development, semantic
// conventions 1.41): one of kind server for each request, one of kind client for
// each attempt at an upstream, named by operation and model. The W3C context of
// the client is their parent, and the attempt's goes on to the engine. Prompts
// and answers are never in them.

// w3c carries trace context between processes.
var w3c propagation.TraceContext

// startSpan begins the request's span, when there is somebody to tell.
func (x *exchange) startSpan() {
	if x.g.tracer == nil {
		return
	}
	ctx := w3c.Extract(x.r.Context(), propagation.HeaderCarrier(x.r.Header))
	ctx, x.span = x.g.tracer.Start(ctx, x.r.Method+" request", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(x.began))
	x.r = x.r.WithContext(ctx)
}

// endSpan says in the request's span how it went.
func (x *exchange) endSpan(end time.Time) {
	if x.span == nil {
		return
	}
	tenant, alias := x.labels()
	attrs := []attribute.KeyValue{
		attribute.String("http.request.method", x.r.Method),
		attribute.Int("http.response.status_code", x.status()),
		attribute.String("llmctl.request_id", x.id),
		attribute.String("llmctl.outcome", string(x.outcome())),
	}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attribute.String(key, value))
		}
	}
	add("llmctl.tenant", tenant)
	if x.dialect != nil {
		add("gen_ai.operation.name", x.dialect.operation)
		add("http.route", x.dialect.path)
		if alias != "" {
			x.span.SetName(x.dialect.operation + " " + alias)
			add("gen_ai.request.model", alias)
		}
	}
	if x.try != nil {
		add("llmctl.deployment", x.try.target.name)
		attrs = append(attrs, attribute.Bool("llmctl.fallback", x.try.target.fallback), attribute.Int("llmctl.retries", x.retries()))
		d, ok := x.ttft()
		attrs = append(attrs, x.answerAttributes(d, ok)...)
		if x.chargeable() {
			attrs = append(attrs, usageAttributes(x.used())...)
		}
	}
	x.span.SetAttributes(attrs...)
	fail(x.span, x.failure)
	x.span.End(trace.WithTimestamp(end))
}

// answerAttributes are how an answer began, where it was a stream, and ended.
func (x *exchange) answerAttributes(first time.Duration, streamed bool) (attrs []attribute.KeyValue) {
	if streamed {
		attrs = append(attrs, attribute.Float64("gen_ai.response.time_to_first_chunk", first.Seconds()))
	}
	if x.finishReason != "" {
		attrs = append(attrs, attribute.StringSlice("gen_ai.response.finish_reasons", []string{brief(x.finishReason, 32)}))
	}
	return attrs
}

// usageAttributes are tokens; counts that nobody told are left out.
func usageAttributes(used usage.Tokens) []attribute.KeyValue {
	attrs := []attribute.KeyValue{attribute.Int64("gen_ai.usage.input_tokens", used.Input), attribute.Int64("gen_ai.usage.output_tokens", used.Output)}
	if cached, ok := used.Cached.Value(); ok {
		attrs = append(attrs, attribute.Int("gen_ai.usage.cache_read.input_tokens", cached))
	}
	if reasoning, ok := used.Reasoning.Value(); ok {
		attrs = append(attrs, attribute.Int("gen_ai.usage.reasoning.output_tokens", reasoning))
	}
	return attrs
}

// startAttempt begins the span of an attempt. end tells it how the attempt went.
func (x *exchange) startAttempt(ctx context.Context, q *request, t *target) (_ context.Context, end func(*failure)) {
	if x.g.tracer == nil {
		return ctx, func(*failure) {}
	}
	ctx, span := x.g.tracer.Start(ctx, x.dialect.operation+" "+t.model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", x.dialect.operation),
		attribute.String("gen_ai.provider.name", t.provider.kindName),
		attribute.String("gen_ai.request.model", t.model),
		attribute.Bool("gen_ai.request.stream", q.stream),
		attribute.String("llmctl.provider", t.provider.name),
	))
	span.SetAttributes(q.attributes()...)
	return ctx, func(f *failure) {
		if e := x.try.endpoint(); e != nil {
			span.SetAttributes(serverAddress(e.Host)...)
		}
		d, ok := x.ttfc()
		span.SetAttributes(x.answerAttributes(d, ok)...)
		if x.spent.trusted() {
			span.SetAttributes(usageAttributes(x.spent.used())...)
		}
		fail(span, f)
		span.End()
	}
}

// settings are the fields of a request, all of them numbers, that spans tell of.
var settings = []string{"temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty"}

// attributes are what was asked for, as far as it was said and is no text.
func (r *request) attributes() (attrs []attribute.KeyValue) {
	if r.maxTokens > 0 {
		attrs = append(attrs, attribute.Int64("gen_ai.request.max_tokens", r.maxTokens))
	}
	for _, name := range settings {
		if v := r.top[name]; v.Type == gjson.Number {
			attrs = append(attrs, attribute.Float64("gen_ai.request."+name, v.Num))
		}
	}
	if v := r.top["seed"]; v.Type == gjson.Number {
		attrs = append(attrs, attribute.Int64("gen_ai.request.seed", v.Int()))
	}
	if v := r.top["n"]; v.Type == gjson.Number && v.Int() != 1 {
		attrs = append(attrs, attribute.Int64("gen_ai.request.choice.count", v.Int()))
	}
	return attrs
}

func serverAddress(host string) []attribute.KeyValue {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	attrs := []attribute.KeyValue{attribute.String("server.address", name)}
	if n, err := strconv.Atoi(port); err == nil {
		attrs = append(attrs, attribute.Int("server.port", n))
	}
	return attrs
}

// fail notes a failure in a span. What the client itself did wrong, or stopped,
// is no error of a server (OpenTelemetry's HTTP conventions).
func fail(span trace.Span, f *failure) {
	if f == nil {
		return
	}
	span.SetAttributes(attribute.String("error.type", string(f.outcome)))
	if f.status >= 500 || f.outcome.upstreamFault() {
		span.SetStatus(codes.Error, string(f.outcome))
	}
}
