package gateway

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/llmctl/llmctl/gateway/limit"
)

// metrics are the gateway's Prometheus metrics, in a registry of their own.
// Labels hold configured names only, or none: what clients type never makes a
// series.
type metrics struct {
	registry *prometheus.Registry
	money

	requests   *prometheus.CounterVec   // tenant, alias, status, outcome
	limits     *prometheus.CounterVec   // tenant, event
	rejections *prometheus.CounterVec   // tenant, resource
	upstream   *prometheus.CounterVec   // provider, endpoint, outcome
	shed       *prometheus.CounterVec   // provider, class, reason
	filtered   *prometheus.CounterVec   // alias, filter, on
	caches     *prometheus.CounterVec   // alias, cache, result, reason
	inFlight   *prometheus.GaugeVec     // alias
	queueWait  *prometheus.HistogramVec // provider, class
	replays    *prometheus.CounterVec   // tenant
	ttft       *prometheus.HistogramVec
	tpot       *prometheus.HistogramVec
	e2e        *prometheus.HistogramVec // all three: alias, deployment, arm
	attempts   *prometheus.CounterVec   // alias, deployment, arm, outcome
	genAI      *genAI
}

// prefix begins the names of all metrics.
const prefix = "llmctl_gateway_"

// Buckets follow OpenTelemetry's GenAI conventions, with the top widened: ten
// seconds are too low a ceiling for queued or long prompts.
var (
	ttftBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 60}
	tpotBuckets = []float64{.001, .0025, .005, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	e2eBuckets  = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36}
)

func newMetrics(g *Gateway) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, []string{"alias", "deployment", "arm"})
	}
	m := &metrics{
		registry:   prometheus.NewRegistry(),
		money:      newMoney(),
		requests:   counter("requests_total", "Requests by how they ended.", "tenant", "alias", "status", "outcome"),
		limits:     counter("limit_tokens_total", "Tokens reserved at admission, settled to what was used, refunded, or used beyond the reservation (debt).", "tenant", "event"),
		rejections: counter("limit_rejections_total", "Requests that a limit turned away.", "tenant", "resource"),
		upstream:   counter("upstream_errors_total", "Requests that failed for a reason of the upstream.", "provider", "endpoint", "outcome"),
		filtered:   counter("filtered_total", "Requests and answers that a content filter stopped.", "alias", "filter", "on"),
		caches:     counter("cache_requests_total", "Looks into a cache for an answer, by what came of it.", "alias", "cache", "result", "reason"),
		replays:    counter("idempotent_replays_total", "Answers that were given again for an idempotency key.", "tenant"),
		shed:       counter("shed_total", "Requests for which a provider had no endpoint; another one may have taken them.", "provider", "class", "reason"),
		inFlight:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "in_flight", Help: "Requests being served."}, []string{"alias"}),
		queueWait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "queue_wait_seconds", Help: "Waiting for an endpoint, of requests that got one.", Buckets: ttftBuckets,
		}, []string{"provider", "class"}),
		attempts: counter("attempts_total", "Attempts at a deployment by how they ended; those that another attempt made good are among them.", "alias", "deployment", "arm", "outcome"),
		ttft:     histogram("ttft_seconds", "From the request's arrival to the first output, streams only.", ttftBuckets),
		tpot:     histogram("tpot_seconds", "Time per output token after the first, streams with two tokens or more.", tpotBuckets),
		e2e:      histogram("e2e_seconds", "From the request's arrival to its end, successful ones only.", e2eBuckets),
	}
	m.registry.MustRegister(m.requests, m.limits, m.rejections, m.upstream, m.filtered, m.caches, m.replays, m.inFlight, m.shed, m.queueWait, m.ttft, m.tpot, m.e2e, m.attempts, endpoints{g}, kept{g}, heldBodies{g}, ledgerStats{g}, limitsStore{g},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.money.collectors()...)
	m.genAI = newGenAI(m.registry)
	return m
}

// linesDropped publishes how many lines the log could not keep.
func (m *metrics) linesDropped(count func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: prefix + "log_lines_dropped_total", Help: "Lines of the log that could not be written, or not as fast as they came.",
	}, func() float64 { return float64(count()) }))
}

// prepare makes the series that a table is known to have.
func (m *metrics) prepare(t *table) {
	for _, alias := range t.aliases {
		m.inFlight.WithLabelValues(alias)
	}
	m.arms(t)
}

func (m *metrics) reserved(tenant string, t limit.Tokens) {
	m.limits.WithLabelValues(tenant, "reserved").Add(float64(t.Input + t.Output))
}

func (m *metrics) settled(tenant string, s limit.Settlement) {
	m.limits.WithLabelValues(tenant, "settled").Add(float64(s.Used))
	m.limits.WithLabelValues(tenant, "refunded").Add(float64(s.Refunded))
	m.limits.WithLabelValues(tenant, "debt").Add(float64(s.Debt))
}

// kept publishes how much the caches hold.
type kept struct{ g *Gateway }

var (
	cacheBytes   = prometheus.NewDesc(prefix+"cache_bytes", "Memory of the answers that are kept.", nil, nil)
	cacheAnswers = prometheus.NewDesc(prefix+"cache_answers", "Answers that are kept.", nil, nil)
)

// Describe implements prometheus.Collector.
func (kept) Describe(to chan<- *prometheus.Desc) {
	to <- cacheBytes
	to <- cacheAnswers
}

// Collect implements prometheus.Collector.
func (c kept) Collect(to chan<- prometheus.Metric) {
	memory := c.g.answers.memory
	to <- prometheus.MustNewConstMetric(cacheBytes, prometheus.GaugeValue, float64(memory.Bytes()))
	to <- prometheus.MustNewConstMetric(cacheAnswers, prometheus.GaugeValue, float64(memory.Len()))
}
