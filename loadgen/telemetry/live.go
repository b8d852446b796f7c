package telemetry

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/llmctl/llmctl/reports/record"
)

// Exporter shows runs while they last as a Prometheus page. Warm-up and drain
// count too: it shows what the client does, and reports say what it measured.
// Labels hold outcomes alone, never what a server or a user wrote. Several runs
// may follow each other; its counters go on.
type Exporter struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec // outcome, failure

	scheduled, sent, promptTokens, outputTokens prometheus.Counter

	inFlight, elapsed    prometheus.Gauge
	phase                *prometheus.GaugeVec
	ttft, tpot, e2e, lag prometheus.Histogram

	mu       sync.Mutex
	last     record.Live // for what has grown since
	failures map[record.Failure]bool
	scrapes  [2]time.Time // the last two, newest first
}

// Buckets are fine where clients are compared by: those of the gateway's page,
// and for lag from a tenth of a millisecond on.
var (
	ttftBuckets = []float64{.001, .0025, .005, .01, .02, .04, .06, .08, .1, .15, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 60}
	tpotBuckets = []float64{.001, .0025, .005, .01, .015, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	e2eBuckets  = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36}
	lagBuckets  = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
)

// maxFailures is the number of classes of failures told apart; the status code
// in their names is the server's choice.
const maxFailures = 32

// NewExporter returns a page for a program of this version.
func NewExporter(version string) *Exporter {
	const prefix = "llmctl_bench_"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets})
	}
	e := &Exporter{
		registry:     prometheus.NewRegistry(),
		requests:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "requests_total", Help: "Requests that ended, by outcome and class of failure."}, []string{"outcome", "failure"}),
		scheduled:    counter("scheduled_requests_total", "Requests that were due."),
		sent:         counter("sent_requests_total", "Requests that were sent."),
		promptTokens: counter("prompt_tokens_total", "Prompt tokens of ended requests, by the server's count."),
		outputTokens: counter("output_tokens_total", "Output tokens as they arrive; events where the server does not count tokens."),
		inFlight:     gauge("in_flight", "Requests in flight."),
		elapsed:      gauge("elapsed_seconds", "Since the start of the run."),
		phase:        prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "phase", Help: "1 for what the run is doing."}, []string{"phase"}),
		ttft:         histogram("ttft_seconds", "From sending to the first output.", ttftBuckets),
		tpot:         histogram("tpot_seconds", "Time per output token after the first event.", tpotBuckets),
		e2e:          histogram("e2e_seconds", "From sending to the last output of ok requests.", e2eBuckets),
		lag:          histogram("lag_seconds", "The client's own lateness: from due to sent.", lagBuckets),
		failures:     map[record.Failure]bool{},
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "info", Help: "The program that sends the load."}, []string{"version"})
	info.WithLabelValues(version).Set(1)
	e.registry.MustRegister(e.requests, e.scheduled, e.sent, e.promptTokens, e.outputTokens, e.inFlight, e.elapsed, e.phase, e.ttft, e.tpot, e.e2e, e.lag, info)
	for _, outcome := range []record.Outcome{record.OK, record.Cancelled, record.Cut, record.Dropped} {
		e.requests.WithLabelValues(string(outcome), "")
	}
	return e
}

// Record adds a request that has ended.
func (e *Exporter) Record(r *record.Record) {
	e.requests.WithLabelValues(string(r.Outcome), e.class(r.Failure)).Inc()
	if n, ok := r.Input.Value(); ok {
		e.promptTokens.Add(float64(n))
	}
	for _, m := range []struct {
		to   prometheus.Histogram
		of   func() (time.Duration, bool)
		when bool
	}{
		{e.ttft, r.TTFT, r.Outcome == record.OK}, {e.tpot, r.TPOT, r.Outcome == record.OK},
		{e.e2e, r.E2E, r.Outcome == record.OK}, {e.lag, r.Lag, true},
	} {
		if d, ok := m.of(); ok && m.when {
			m.to.Observe(d.Seconds())
		}
	}
}

// class is a failure as a label, of which there are not many.
func (e *Exporter) class(f record.Failure) string {
	if f == "" {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.failures[f] {
		if len(e.failures) >= maxFailures {
			return "other"
		}
		e.failures[f] = true
	}
	return string(f)
}

// Show takes the state of the run. What counts less than before is a new run.
func (e *Exporter) Show(l record.Live) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l.Elapsed < e.last.Elapsed {
		e.last = record.Live{}
	}
	grow := func(c prometheus.Counter, before, now int) { c.Add(float64(max(now-before, 0))) }
	grow(e.scheduled, e.last.Scheduled, l.Scheduled)
	grow(e.sent, e.last.Sent, l.Sent)
	grow(e.outputTokens, e.last.OutputTokens, l.OutputTokens)
	e.inFlight.Set(float64(l.InFlight))
	e.elapsed.Set(l.Elapsed.Seconds())
	for _, phase := range []string{record.WarmingUp, record.Measuring, record.Draining} {
		e.phase.WithLabelValues(phase).Set(map[bool]float64{true: 1}[phase == l.Phase])
	}
	e.last = l
}

// ServeHTTP answers a scrape at any path.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.scrapes = [2]time.Time{time.Now(), e.scrapes[0]}
	e.mu.Unlock()
	promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// NextScrape is how long from now whoever scrapes may be expected again, by the
// last two times; 0 when nobody has come twice.
func (e *Exporter) NextScrape(now time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.scrapes[1].IsZero() {
		return 0
	}
	due := e.scrapes[0].Add(e.scrapes[0].Sub(e.scrapes[1]))
	return max(due.Sub(now), 0)
}
