package gateway

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
)

// TPOT is a fraction, not a whole number of anything: ten tokens in 49.5 ms after
// the first are 5.5 ms each.
func TestTimePerOutputTokenIsAFraction(t *testing.T) {
	start := time.Now()
	x := &exchange{first: start, last: start.Add(49500 * time.Microsecond)}
	x.spent.usage, x.spent.reported = tally{input: 1, output: 10}, true
	if d, ok := x.tpot(); !ok || d != 5500*time.Microsecond {
		t.Errorf("%v, want 5.5 ms", d)
	}
}

func TestGenAIMetrics(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, worldEvent, finishEvent, usageEvent, doneEvent))
	s.post(streamBody)
	s.settled()
	page := s.metrics()
	const provider = `gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model=`
	for _, want := range []string{
		`gen_ai_client_token_usage_sum{` + provider + `"real-model",gen_ai_token_type="input"} 11`,
		`gen_ai_client_token_usage_sum{` + provider + `"real-model",gen_ai_token_type="output"} 2`,
		`gen_ai_client_operation_duration_seconds_count{error_type="",` + provider + `"real-model"} 1`,
		`gen_ai_server_request_duration_seconds_count{error_type="",` + provider + `"small"} 1`,
		`gen_ai_server_time_to_first_token_seconds_count{` + provider + `"small"} 1`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
}

// Names, units, attributes and buckets are those of OpenTelemetry's conventions, as
// their own package for Go and the text of version 1.41 have them; the buckets of the
// first token have more above. Each metric says what it says of the streams that there
// were: one that was retried, and one that broke.
func TestGenAIMetricsAreThoseOfTheConventions(t *testing.T) {
	durations := []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	calls, seen, clock := 0, make(chan struct{}), &hand{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch calls++; calls {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			sse(w, roleEvent, helloEvent)
			<-seen
			clock.move(time.Second)
			sse(w, worldEvent, worldEvent, finishEvent, usageEvent, doneEvent)
		default:
			sse(w, helloEvent, worldEvent)
			panic(http.ErrAbortHandler)
		}
	}, patient, clock.edit)
	response, err := s.client.Do(s.request(t.Context(), streamBody))
	close(seen)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body) // what came of it is in the metrics
	_ = response.Body.Close()
	s.post(streamBody)
	s.settled()
	families, err := s.gateway.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	const operation, provider, model = "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"
	for _, test := range []struct {
		metric     interface{ Name() string }
		unit       string
		attributes []string
		buckets    []float64
		count      uint64 // in all series
	}{
		{genaiconv.ClientTokenUsage{}, genaiconv.ClientTokenUsage{}.Unit(), []string{operation, provider, model, "gen_ai.token.type"},
			[]float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}, 2},
		{genaiconv.ClientOperationDuration{}, genaiconv.ClientOperationDuration{}.Unit(), []string{"error.type", operation, provider, model}, durations, 3},
		{genaiconv.ClientOperationTimeToFirstChunk{}, genaiconv.ClientOperationTimeToFirstChunk{}.Unit(), []string{operation, provider, model}, durations, 2},
		{genaiconv.ClientOperationTimePerOutputChunk{}, genaiconv.ClientOperationTimePerOutputChunk{}.Unit(), []string{operation, provider, model}, durations, 3},
		{genaiconv.ServerRequestDuration{}, genaiconv.ServerRequestDuration{}.Unit(), []string{"error.type", operation, provider, model}, durations, 2},
		{genaiconv.ServerTimePerOutputToken{}, genaiconv.ServerTimePerOutputToken{}.Unit(), []string{operation, provider, model},
			[]float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}, 1},
		{genaiconv.ServerTimeToFirstToken{}, genaiconv.ServerTimeToFirstToken{}.Unit(), []string{operation, provider, model},
			[]float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 60}, 1},
	} {
		t.Run(test.metric.Name(), func(t *testing.T) {
			name := strings.ReplaceAll(test.metric.Name(), ".", "_") + map[string]string{"s": "_seconds", "{token}": ""}[test.unit]
			at := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
			if at < 0 {
				t.Fatalf("no %s", name)
			}
			var count uint64
			for _, series := range families[at].GetMetric() {
				var attributes []string
				for _, label := range series.GetLabel() {
					attributes = append(attributes, label.GetName())
				}
				var buckets []float64
				for _, b := range series.GetHistogram().GetBucket() {
					buckets = append(buckets, b.GetUpperBound())
				}
				if diff := cmp.Diff(strings.Split(strings.ReplaceAll(strings.Join(test.attributes, " "), ".", "_"), " "), attributes); diff != "" {
					t.Errorf("attributes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.buckets, buckets, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
					t.Errorf("buckets (-want +got):\n%s", diff)
				}
				count += series.GetHistogram().GetSampleCount()
			}
			if count != test.count {
				t.Errorf("%d observations, want %d", count, test.count)
			}
		})
	}
}

// The gateway's times as a client run from the moment at which it sends a try; those
// as a server from the moment at which its own client asked.
func TestGenAITimesOfClientAndServer(t *testing.T) {
	clock, calls := &hand{}, 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls++; calls == 1 {
			clock.move(8 * time.Second)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		clock.move(2 * time.Second)
		sse(w, helloEvent, finishEvent, usageEvent, doneEvent)
	}, patient, clock.edit)
	s.post(streamBody)
	s.settled()
	page, own := s.metrics(), time.Duration(clock.own.Load()).Seconds()
	const labels = `gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model=`
	for _, want := range []string{
		`gen_ai_client_operation_duration_seconds_sum{error_type="upstream_error",` + labels + `"real-model"} 8`,
		`gen_ai_client_operation_duration_seconds_sum{error_type="",` + labels + `"real-model"} 2`,
		`gen_ai_client_operation_time_to_first_chunk_seconds_sum{` + labels + `"real-model"} 2`,
		`gen_ai_server_request_duration_seconds_sum{error_type="",` + labels + `"small"} ` + strconv.FormatFloat(10+own, 'g', -1, 64),
		`gen_ai_server_time_to_first_token_seconds_sum{` + labels + `"small"} ` + strconv.FormatFloat(10+own, 'g', -1, 64),
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "gen_ai") && strings.Contains(line, "_sum") {
				t.Log(line)
			}
		}
	}
}

// Tokens that the gateway only estimates are in its own metrics, and not in that of
// the conventions, which has what systems report.
func TestGenAITokensAreReported(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, finishEvent, doneEvent))
	s.post(streamBody)
	s.settled()
	page := s.metrics()
	if strings.Contains(page, "gen_ai_client_token_usage") || !strings.Contains(page, `llmctl_gateway_tokens_total{`) {
		t.Error("estimated tokens are told as reported ones, or not at all")
	}
}

// BenchmarkChunk is what the time between two events costs, on all cores at once.
func BenchmarkChunk(b *testing.B) {
	gaps := newGenAI(prometheus.NewRegistry()).nextChunk.WithLabelValues("chat", "openai", "real-model")
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			gaps.Observe(0.01)
		}
	})
}
