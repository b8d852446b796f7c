package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// lively is a gateway that has served, refused and failed requests, so that its
// page has every metric of the pipeline.
func lively(t *testing.T) *stand {
	t.Helper()
	answers := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if answers++; answers%2 == 0 {
			replies(503, "{}")(w, r)
			return
		}
		sse(w, helloEvent, worldEvent, finishEvent, usageEvent, doneEvent)
	})
	for range 3 {
		s.post(streamBody)
	}
	return s
}

// Names, units and help are as Prometheus' own linter wants them.
func TestMetricsAreAsPrometheusWantsThem(t *testing.T) {
	s := lively(t)
	s.settled()
	problems, err := promlint.New(strings.NewReader(s.metrics())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// seriesOf returns the names and labels of the page's series of the gateway's own.
func seriesOf(page string) (series []string) {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "llmctl_") || strings.HasPrefix(line, "gen_ai_") {
			series = append(series, line[:strings.LastIndexByte(strings.TrimSpace(line), ' ')])
		}
	}
	slices.Sort(series)
	return series
}

// Models, keys, paths, methods, classes, sessions and headers that clients make up
// are in no label: a gateway that has seen 10,000 of them has the series that it had
// after the first.
func TestTenThousandMadeUpNamesMakeNoSeries(t *testing.T) {
	s := lively(t)
	handler := s.gateway.Handler()
	odd := func(i int) {
		name := fmt.Sprintf("made-up-%d", i)
		send := func(method, path, key, body string) {
			r, err := http.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set("X-Request-Id", name)
			r.Header.Set("X-Session-Id", name)
			r.Header.Set("X-Llmctl-Class", name)
			r.Header.Set("X-Llmctl-Tenant", name)
			handler.ServeHTTP(&nowhere{header: http.Header{}}, r)
		}
		send("POST", "/v1/chat/completions", searchKey, `{"model":"`+name+`"}`)
		send("POST", "/v1/chat/completions", searchKey, `{"model":"small","user":"`+name+`"}`)
		send("POST", "/v1/chat/completions", name, `{"model":"small"}`)
		send("POST", "/v1/"+name, searchKey, `{}`)
		send("M"+fmt.Sprint(i), "/v1/models", searchKey, "")
	}
	odd(0)
	before := seriesOf(s.metrics())
	for i := range 10_000 {
		odd(i)
	}
	after := seriesOf(s.metrics())
	if len(before) < 50 || !slices.Equal(before, after) {
		t.Errorf("%d series became %d", len(before), len(after))
		for _, line := range after {
			if !slices.Contains(before, line) {
				t.Errorf("new: %s", line)
				break
			}
		}
	}
	if page := s.metrics(); strings.Contains(page, "made-up") {
		t.Error("a made-up name is on the page")
	}
}

// nowhere takes an answer that nobody reads.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

// Requests that run at once keep their own labels: each model's and tenant's series
// count what was sent for them.
func TestRequestsAtOnceKeepTheirLabels(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, finishEvent, usageEvent, doneEvent))
	const each = 20
	var all sync.WaitGroup
	for alias, key := range map[string]string{"small": chatKey, "large": searchKey} {
		for range each {
			all.Go(func() {
				r := s.request(t.Context(), strings.Replace(streamBody, "small", alias, 1))
				r.Header.Set("Authorization", "Bearer "+key)
				s.do(r)
			})
		}
	}
	all.Wait()
	s.settled()
	for _, line := range []string{
		fmt.Sprintf(`llmctl_gateway_requests_total{alias="small",outcome="ok",status="200",tenant="chat"} %d`, each),
		fmt.Sprintf(`llmctl_gateway_requests_total{alias="large",outcome="ok",status="200",tenant="search"} %d`, each),
		fmt.Sprintf(`llmctl_gateway_ttft_seconds_count{alias="large",arm="stable",deployment="cluster/large-model"} %d`, each),
		fmt.Sprintf(`gen_ai_server_request_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="small"} %d`, each),
	} {
		if !strings.Contains(s.metrics(), line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

// Cached and reasoning tokens have series where upstreams tell of them, zeros included,
// and none where nobody does.
func TestTokensThatNobodyToldHaveNoSeries(t *testing.T) {
	for _, test := range []struct {
		name, details string
		want          bool
	}{
		{"untold", ``, false},
		{"told", `,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, replies(200, strings.Replace(plainReply, `"total_tokens":13`, `"total_tokens":13`+test.details, 1)))
			s.post(plainBody)
			s.settled()
			for _, kind := range []string{"cached", "reasoning"} {
				var found []string
				for _, series := range seriesOf(s.metrics()) {
					if strings.Contains(series, `kind="`+kind+`"`) {
						found = append(found, series)
					}
				}
				if told := slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, "llmctl_gateway_tokens_total{") }); told != test.want || !test.want && len(found) > 0 {
					t.Errorf("series of %s: %v", kind, found)
				}
			}
		})
	}
}
