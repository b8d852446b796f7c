package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// genAI are the metrics of OpenTelemetry's GenAI conventions (status: development,
// semantic conventions 1.41), under the names that they get in Prometheus: the gateway
// as client of its providers, one operation for each try that was sent, and as the
// server that its own clients see. Labels are the conventions' attributes; those left
// out, gen_ai.response.model and server.address, are recommended only, and the former
// is what an upstream chooses to write.
type genAI struct {
	tokens    *prometheus.HistogramVec // gen_ai.client.token.usage
	duration  *prometheus.HistogramVec // gen_ai.client.operation.duration
	chunk     *prometheus.HistogramVec // gen_ai.client.operation.time_to_first_chunk
	nextChunk *prometheus.HistogramVec // gen_ai.client.operation.time_per_output_chunk
	served    *prometheus.HistogramVec // gen_ai.server.request.duration
	first     *prometheus.HistogramVec // gen_ai.server.time_to_first_token
	each      *prometheus.HistogramVec // gen_ai.server.time_per_output_token
}

// The conventions' buckets; that of the first token goes up to a minute, since ten
// seconds are too low a ceiling for queued or long prompts.
var (
	genAITokens   = prometheus.ExponentialBuckets(1, 4, 14)
	genAIDuration = prometheus.ExponentialBuckets(.01, 2, 14)
	genAIFirst    = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 60}
	genAIEach     = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
)

// The attributes that all of them carry.
var genAILabels = []string{"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"}

func newGenAI(r *prometheus.Registry) *genAI {
	histogram := func(name, help string, buckets []float64, more ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, append(more, genAILabels...))
		r.MustRegister(v)
		return v
	}
	return &genAI{
		tokens:    histogram("gen_ai_client_token_usage", "Tokens of a request that its upstream reported, input and output apart.", genAITokens, "gen_ai_token_type"),
		duration:  histogram("gen_ai_client_operation_duration_seconds", "From sending a try upstream to its end.", genAIDuration, "error_type"),
		chunk:     histogram("gen_ai_client_operation_time_to_first_chunk_seconds", "From sending a try upstream to its first event with output, streams only.", genAIDuration),
		nextChunk: histogram("gen_ai_client_operation_time_per_output_chunk_seconds", "From one event with output to the next, streams only.", genAIDuration),
		served:    histogram("gen_ai_server_request_duration_seconds", "From the request's arrival to its end, as clients see it; the model is the alias.", genAIDuration, "error_type"),
		first:     histogram("gen_ai_server_time_to_first_token_seconds", "From the request's arrival to the first output, complete streams only; the model is the alias.", genAIFirst),
		each:      histogram("gen_ai_server_time_per_output_token_seconds", "Time per output token after the first, complete streams only; the model is the alias.", genAIEach),
	}
}

// countOperation observes a try that was sent, and how it ended.
func (x *exchange) countOperation(f *failure, end time.Time) {
	m, t := x.g.metrics.genAI, x.try.target
	operation, provider := x.dialect.operation, t.provider.kindName
	m.duration.WithLabelValues(errorType(f), operation, provider, t.model).Observe(x.ended(end).Sub(x.try.placed).Seconds())
	if d, ok := x.ttfc(); ok {
		m.chunk.WithLabelValues(operation, provider, t.model).Observe(d.Seconds())
	}
}

// chunks observes the time from one event with output to the next, in a stream of
// the try.
func (x *exchange) chunks() prometheus.Observer {
	t := x.try.target
	return x.g.metrics.genAI.nextChunk.WithLabelValues(x.dialect.operation, t.provider.kindName, t.model)
}

// errorType is the conventions' error.type; in Prometheus an empty label is none.
func errorType(f *failure) string {
	if f == nil {
		return ""
	}
	return string(f.outcome)
}

// countServed observes an exchange that reached a deployment. Tokens are counted here,
// once for the request, since only its last try is charged.
func (x *exchange) countServed(end time.Time) {
	m, t := x.g.metrics.genAI, x.try.target
	operation, provider, alias := x.dialect.operation, t.provider.kindName, x.model.alias
	m.served.WithLabelValues(errorType(x.failure), operation, provider, alias).Observe(end.Sub(x.began).Seconds())
	if d, ok := x.ttft(); ok && x.failure == nil {
		m.first.WithLabelValues(operation, provider, alias).Observe(d.Seconds())
	}
	if d, ok := x.tpot(); ok && x.failure == nil {
		m.each.WithLabelValues(operation, provider, alias).Observe(d.Seconds())
	}
	if used := x.used(); x.chargeable() && x.spent.trusted() {
		m.tokens.WithLabelValues("input", operation, provider, t.model).Observe(float64(used.Input))
		if x.dialect.generates {
			m.tokens.WithLabelValues("output", operation, provider, t.model).Observe(float64(used.Output))
		}
	}
}
