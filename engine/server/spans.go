package server

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

const tracerName = "github.com/llmctl/llmctl/engine/server"

// span is the trace of one request: a server span, and for each of its prompts spans
// of its time in the queue, in prefill and in decode. Names of attributes are those of
// OpenTelemetry's conventions for generative AI and, where these have none, vLLM's
// (vllm/tracing.py). nil is none.
type span struct {
	trace.Span
	answer *answer
	tracer trace.Tracer
	r      *http.Request
	begun  time.Time
	origin time.Time // where the engine's clock is 0
}

// begin opens the span of a request, a child of the caller's where the request has
// W3C's traceparent.
func (s *server) begin(r *http.Request, a *answer) *span {
	if s.tracer == nil {
		return nil
	}
	operation := "text_completion"
	if a.chat {
		operation = "chat"
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	now := time.Now()
	ctx, opened := s.tracer.Start(ctx, operation+" "+s.name(), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(now), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", operation),
		attribute.String("gen_ai.request.model", s.name()),
		attribute.String("gen_ai.response.id", a.id),
		attribute.String("gen_ai.request.id", a.id),
		attribute.Bool("llmctl.stream", a.body.Stream),
	))
	return &span{Span: opened, answer: a, tracer: s.tracer, r: r.WithContext(ctx), begun: now, origin: now.Add(-s.engine.Now())}
}

// refused says that the engine did not take the request.
func (s *span) refused(err error) {
	if s != nil {
		s.SetStatus(codes.Error, err.Error())
	}
}

// note adds the phases of an answer that has ended.
func (s *span) note(e *arrival) {
	if s == nil || e.Finish == sched.Running {
		return
	}
	if unanswered(e.Finish) {
		s.SetStatus(codes.Error, string(e.Finish))
		return
	}
	which := trace.WithAttributes(attribute.Int("llmctl.prompt", e.prompt), attribute.Int("llmctl.choice", e.Index))
	t := e.Times
	for _, phase := range []struct {
		name     string
		from, to time.Duration
	}{{"queue", t.Arrival, t.Admitted}, {"prefill", t.Admitted, t.First}, {"decode", t.First, t.Last}} {
		if phase.to < phase.from {
			continue // it was never reached
		}
		_, child := s.tracer.Start(s.r.Context(), phase.name, which, trace.WithTimestamp(s.origin.Add(phase.from)))
		child.End(trace.WithTimestamp(s.origin.Add(phase.to)))
	}
	if e.prompt == 0 && e.Index == 0 {
		s.latencies(t.Admitted-t.Arrival, t.First-t.Admitted, t.Last-t.First, t.First-t.Arrival)
		s.SetAttributes(attribute.Int("llmctl.preemptions", t.Preemptions))
	}
}

// latencies are those of the first answer.
func (s *span) latencies(queue, prefill, decode, first time.Duration) {
	s.SetAttributes(
		attribute.Float64("gen_ai.latency.time_in_queue", queue.Seconds()),
		attribute.Float64("gen_ai.latency.time_in_model_prefill", prefill.Seconds()),
		attribute.Float64("gen_ai.latency.time_in_model_decode", decode.Seconds()),
		attribute.Float64("gen_ai.latency.time_in_model_inference", (prefill+decode).Seconds()),
		attribute.Float64("gen_ai.latency.time_to_first_token", first.Seconds()),
	)
}

// asked adds what the request wanted.
func (s *span) asked(p model.Sampling, n, maxTokens int) {
	if s != nil {
		s.SetAttributes(
			attribute.Float64("gen_ai.request.temperature", float64(p.Temperature)),
			attribute.Float64("gen_ai.request.top_p", float64(p.TopP)),
			attribute.Int("gen_ai.request.max_tokens", maxTokens),
			attribute.Int("gen_ai.request.n", n),
		)
	}
}

// end closes the span with the request's usage.
func (s *span) end() {
	if s == nil {
		return
	}
	u := s.answer.usage()
	var reasons []string
	for _, c := range s.answer.choices {
		reasons = append(reasons, c.reason())
	}
	s.SetAttributes(
		attribute.Int("gen_ai.usage.input_tokens", u.PromptTokens),
		attribute.Int("gen_ai.usage.output_tokens", u.CompletionTokens),
		attribute.Int("gen_ai.usage.prompt_tokens", u.PromptTokens),
		attribute.Int("gen_ai.usage.completion_tokens", u.CompletionTokens),
		attribute.Int("llmctl.usage.cached_tokens", u.PromptTokensDetails.CachedTokens),
		attribute.StringSlice("gen_ai.response.finish_reasons", reasons),
		attribute.Float64("gen_ai.latency.e2e", time.Since(s.begun).Seconds()),
	)
	s.Span.End()
}
