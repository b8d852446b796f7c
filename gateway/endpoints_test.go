package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/fleet"
)

// workers are n upstreams behind one provider, each with the same handler.
type workers struct {
	*stand
	clock atomic.Int64 // nanoseconds
	mu    sync.Mutex
	calls map[string]int // by endpoint
}

func newWorkers(t *testing.T, n int, handler http.HandlerFunc, edit ...func(*config.Config, *Options)) *workers {
	t.Helper()
	w := &workers{calls: map[string]int{}}
	var urls []string
	for range n {
		up := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.mu.Lock()
			w.calls["http://"+r.Host]++
			w.mu.Unlock()
			handler(rw, r)
		}))
		t.Cleanup(up.Close)
		urls = append(urls, up.URL)
	}
	start := time.Now()
	w.stand = front(t, urls[0], append([]func(*config.Config, *Options){func(c *config.Config, o *Options) {
		c.Providers[0].Endpoints = urls
		o.Now = func() time.Time { return start.Add(time.Duration(w.clock.Load())) }
	}}, edit...)...)
	return w
}

// called returns how often the endpoints were called since the last time.
func (w *workers) called() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = map[string]int{}
	return calls
}

// send posts in the background; class is empty for the usual one.
func (s *stand) send(ctx context.Context, body, class string) <-chan answer {
	r := s.request(ctx, body)
	if class != "" {
		r.Header.Set(classHeader, class)
	}
	done := make(chan answer, 1)
	go func() {
		defer close(done) // without an answer when the client left
		response, err := s.client.Do(r)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(response.Body) // cut off when the client leaves
		_ = response.Body.Close()
		done <- answer{response.StatusCode, response.Header, string(body)}
	}()
	return done
}

// until waits for what another goroutine brings about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// waiting is how many requests wait for an endpoint.
func (s *stand) waiting() (n int) {
	for _, class := range s.gateway.fleet.Status()[0].Waiting {
		n += class
	}
	return n
}

func (s *stand) inFlight() (n int64) {
	for _, e := range s.gateway.fleet.Status()[0].Endpoints {
		n += e.InFlight
	}
	return n
}

// gate is an upstream that holds each request until it is let go.
func gate() (http.HandlerFunc, chan struct{}, chan struct{}) {
	arrived, pass := make(chan struct{}, 1000), make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		select {
		case <-pass:
			sse(w, helloEvent, finishEvent, usageEvent, doneEvent)
		case <-r.Context().Done():
		}
	}, arrived, pass
}

func oneAtATime(c *config.Config, _ *Options) { c.Providers[0].InFlight = 1 }

// What only networks of gateways and engines say to each other comes from no client.
func TestInternalHeadersOfClientsStayHere(t *testing.T) {
	headers := map[string]string{
		"X-Gateway-Destination-Endpoint":        "10.0.0.1:80",
		"X-Gateway-Destination-Endpoint-Subset": "10.0.0.1:80",
		"X-Gateway-Inference-Objective":         "critical",
		"X-Smg-Priority":                        "system",
		"X-Llmctl-Deployment":                   "other/model",
		"X-Envoy-Upstream-Rq-Timeout-Ms":        "1",
		"X-Forwarded-For":                       "10.0.0.1",
	}
	got := make(chan http.Header, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		replies(200, plainReply)(w, r)
	})
	r := s.request(t.Context(), plainBody)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	if a := s.do(r); a.status != 200 || a.header.Get("X-Llmctl-Deployment") != "cluster/real-model" {
		t.Errorf("status %d, deployment %q", a.status, a.header.Get("X-Llmctl-Deployment"))
	}
	seen := wait(t, got, "the request")
	for name := range headers {
		if v := seen.Get(name); v != "" {
			t.Errorf("%s: %s went upstream", name, v)
		}
	}
}

// Requests beyond what an endpoint takes wait here, the urgent ones first, and none
// goes upstream before its turn.
func TestRequestsWaitForRoomByPriority(t *testing.T) {
	handler, arrived, pass := gate()
	s := serve(t, handler, oneAtATime)
	first := s.send(t.Context(), streamBody, "")
	wait(t, arrived, "the first request")
	batch := s.send(t.Context(), streamBody, "batch")
	until(t, "the batch request to wait", func() bool { return s.waiting() == 1 })
	urgent := s.send(t.Context(), streamBody, "interactive")
	until(t, "the urgent request to wait", func() bool { return s.waiting() == 2 })
	if page := s.metrics(); !strings.Contains(page, `llmctl_gateway_queue_length{class="batch",provider="cluster"} 1`) {
		t.Error("the queue is not on the page")
	}
	for i, c := range []<-chan answer{first, urgent, batch} {
		pass <- struct{}{}
		if a := wait(t, c, "an answer"); a.status != 200 {
			t.Fatalf("request %d: status %d", i, a.status)
		}
		if i < 2 {
			wait(t, arrived, "the next request")
		}
	}
	s.settled()
	if !strings.Contains(s.logs.String(), `"queue_s":`) {
		t.Error("the log does not say how long requests waited")
	}
	if page := s.metrics(); !strings.Contains(page, `llmctl_gateway_queue_wait_seconds_count{class="interactive",provider="cluster"} 2`) {
		t.Error("the waiting is not on the page")
	}
}

// A client that leaves the queue is forgotten: its request never goes upstream, and
// costs nothing.
func TestClientsThatLeaveTheQueueAreForgotten(t *testing.T) {
	handler, arrived, pass := gate()
	s := serve(t, handler, oneAtATime)
	first := s.send(t.Context(), streamBody, "")
	wait(t, arrived, "the first request")
	ctx, leave := context.WithCancel(t.Context())
	var gone []<-chan answer
	for range 50 {
		gone = append(gone, s.send(ctx, streamBody, ""))
	}
	until(t, "the queue", func() bool { return s.waiting() == 50 })
	leave()
	for _, g := range gone {
		<-g
	}
	until(t, "the queue to be empty", func() bool { return s.waiting() == 0 })
	pass <- struct{}{}
	wait(t, first, "the answer")
	s.settled()
	if len(arrived) != 0 {
		t.Errorf("%d requests of clients that had left went upstream", len(arrived))
	}
	if used := s.gateway.limits.Ledger().Settled; used != 13 {
		t.Errorf("%d tokens charged, want those of the request that was served", used)
	}
}

// A hundred clients that leave give their place back each time.
func TestAPlaceIsFreeAfterEveryCancellation(t *testing.T) {
	var calls atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= 100 {
			sse(w, helloEvent)
			<-r.Context().Done()
			return
		}
		upstreamAnswers(helloEvent, finishEvent, doneEvent)(w, r)
	}, oneAtATime, configure(func(c *config.Config) { c.Tenants[0].Limits.Concurrent = 2 }))
	for range 100 {
		ctx, leave := context.WithCancel(t.Context())
		response, err := s.client.Do(s.request(ctx, streamBody))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := response.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		leave()
		_ = response.Body.Close()
		until(t, "the place to be free", func() bool { return s.inFlight() == 0 })
	}
	if a := s.post(streamBody); a.status != 200 {
		t.Errorf("status %d after a hundred cancellations: %s", a.status, a.body)
	}
	s.settled()
}

// Who finds the queue full, or waits for too long, hears so in OpenAI's shape, and
// when to come again.
func TestOverloadIsShed(t *testing.T) {
	handler, arrived, pass := gate()
	s := serve(t, handler, oneAtATime, configure(func(c *config.Config) {
		c.Providers[0].MaxQueue, c.Providers[0].QueueTimeout = 1, config.Duration(300*time.Millisecond)
	}))
	first := s.send(t.Context(), streamBody, "")
	wait(t, arrived, "the first request")
	patient := s.send(t.Context(), streamBody, "")
	until(t, "the second request to wait", func() bool { return s.waiting() == 1 })
	expect := func(a answer, outcome string) {
		t.Helper()
		if a.status != 503 || gjson.Get(a.body, "error.code").Str != "overloaded" || a.header.Get("Retry-After") == "" || a.header.Get("Retry-After-Ms") == "" {
			t.Errorf("%s: status %d, Retry-After %q, body %s", outcome, a.status, a.header.Get("Retry-After"), a.body)
		}
		if !strings.Contains(s.logs.String(), `"outcome":"`+outcome+`"`) {
			t.Errorf("no request ended as %s", outcome)
		}
	}
	expect(s.post(streamBody), "shed")
	expect(wait(t, patient, "the second request"), "queue_timeout")
	pass <- struct{}{}
	wait(t, first, "the first request")
	s.settled()
	page := s.metrics()
	for _, reason := range []string{"queue_full", "queue_timeout"} {
		if !strings.Contains(page, `llmctl_gateway_shed_total{class="interactive",provider="cluster",reason="`+reason+`"} 1`) {
			t.Errorf("%s is not counted", reason)
		}
	}
	if l := s.gateway.limits.Ledger(); l.Settled != 13 {
		t.Errorf("%d tokens charged, want those of the one that was served", l.Settled)
	}
}

// What the own pool has no room for goes to another provider, at once, and the
// client is told; not to one that is kept for failures.
func TestOverloadSpillsToAnotherProvider(t *testing.T) {
	for _, spills := range []bool{true, false} {
		t.Run(fmt.Sprint("when saturated: ", spills), func(t *testing.T) {
			handler, arrived, pass := gate()
			spare := httptest.NewServer(upstreamAnswers(helloEvent, finishEvent, doneEvent))
			t.Cleanup(spare.Close)
			s := serve(t, handler, oneAtATime, configure(func(c *config.Config) {
				c.Providers = append(c.Providers, config.Provider{Name: "spare", Endpoints: []string{spare.URL}})
				c.Models[0].Fallback = []config.Target{{Provider: "spare", Model: "other", WhenSaturated: &spills}}
			}))
			first := s.send(t.Context(), streamBody, "")
			wait(t, arrived, "the first request")
			second := s.send(t.Context(), streamBody, "")
			if !spills {
				until(t, "the second request to wait", func() bool { return s.waiting() == 1 })
				pass <- struct{}{}
			}
			if spills {
				a := wait(t, second, "the answer from the other provider")
				if a.status != 200 || a.header.Get("X-Llmctl-Deployment") != "spare/other" || !strings.HasPrefix(a.header.Get("X-Llmctl-Fallback"), "spare/other") {
					t.Errorf("status %d, headers %v", a.status, a.header)
				}
			}
			pass <- struct{}{}
			wait(t, first, "the first request")
			if !spills {
				if a := wait(t, second, "the second request"); a.header.Get("X-Llmctl-Deployment") != "cluster/real-model" {
					t.Errorf("served by %s", a.header.Get("X-Llmctl-Deployment"))
				}
			}
			s.settled()
		})
	}
}

// The time in the queue is none of the model's: the first-token time-out begins
// when the request is sent. Here it waits for longer than that, behind a request
// that another time-out ends.
func TestWaitingIsNotTheModelsTime(t *testing.T) {
	arrived := make(chan struct{}, 2)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- struct{}{}
		if gjson.GetBytes(body, "model").Str == "large-model" {
			<-r.Context().Done()
			return
		}
		sse(w, helloEvent, finishEvent, doneEvent)
	}, oneAtATime, configure(func(c *config.Config) {
		c.Models[0].Timeouts.FirstToken = config.Duration(time.Second)
		c.Models[1].Timeouts.FirstToken = config.Duration(1500 * time.Millisecond)
	}))
	first := s.send(t.Context(), strings.Replace(streamBody, "small", "large", 1), "")
	wait(t, arrived, "the first request")
	second := s.send(t.Context(), streamBody, "")
	until(t, "the second request to wait", func() bool { return s.waiting() == 1 })
	if a := wait(t, first, "the first request"); a.status != 504 {
		t.Errorf("status %d", a.status)
	}
	if a := wait(t, second, "the second request"); a.status != 200 {
		t.Errorf("status %d", a.status)
	}
}

// A breaker that has opened lets one of a hundred through when its pause is over;
// clients that leave open none, and a client that leaves as the probe makes room for
// the next one.
func TestBreakerOverHTTP(t *testing.T) {
	var mode atomic.Value
	hang := make(chan struct{}, 1000)
	w := newWorkers(t, 1, func(w http.ResponseWriter, r *http.Request) {
		switch mode.Load() {
		case "fail":
			w.WriteHeader(500)
		case "hang":
			hang <- struct{}{}
			<-r.Context().Done()
		default:
			sse(w, helloEvent, finishEvent, doneEvent)
		}
	}, configure(func(c *config.Config) {
		c.Models[0].Timeouts.FirstToken = config.Duration(patience)
	}))
	cancelled := func() {
		t.Helper()
		ctx, leave := context.WithCancel(t.Context())
		a := w.send(ctx, streamBody, "")
		wait(t, hang, "the request")
		leave()
		<-a
		until(t, "the request to end", func() bool { return w.inFlight() == 0 })
	}
	mode.Store("hang")
	for range 20 {
		cancelled()
	}
	mode.Store("fail")
	for range 10 {
		if a := w.post(streamBody); a.status != 502 {
			t.Fatalf("status %d, want the upstream's failure: clients that left have opened the breaker", a.status)
		}
	}
	w.called()
	a := w.post(streamBody)
	if a.status != 503 || gjson.Get(a.body, "error.code").Str != "no_healthy_upstream" || a.header.Get("Retry-After") != "5" || a.header.Get("Retry-After-Ms") != "5000" || len(w.called()) != 0 {
		t.Errorf("status %d, Retry-After %q: %s", a.status, a.header.Get("Retry-After"), a.body)
	}
	if page := w.metrics(); !strings.Contains(page, `provider="cluster",state="resting"} 1`) {
		t.Error("the page does not say that the endpoint rests")
	}
	w.clock.Add(int64(5 * time.Second))
	mode.Store("hang")
	cancelled() // the probe's client leaves
	var answers []<-chan answer
	w.called()
	for range 100 {
		answers = append(answers, w.send(t.Context(), streamBody, ""))
	}
	wait(t, hang, "the next probe")
	until(t, "the others to wait", func() bool { return w.waiting() == 99 })
	if n := w.inFlight(); n != 1 {
		t.Errorf("%d of 100 are at the endpoint that is tried", n)
	}
	if calls := w.called(); len(calls) != 1 {
		t.Errorf("calls %v", calls)
	}
	w.gateway.Close() // ends the probe; the others hear that the gateway shuts down
	for _, a := range answers {
		if got := wait(t, a, "an answer"); got.status != 503 {
			t.Fatalf("status %d", got.status)
		}
	}
	w.settled()
}

// Too many requests say nothing against the endpoint, and are heeded for at most
// half a minute, whatever they ask for.
func TestTooManyRequestsCoolDown(t *testing.T) {
	var busy atomic.Bool
	busy.Store(true)
	w := newWorkers(t, 1, func(w http.ResponseWriter, r *http.Request) {
		if busy.Load() {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(429)
			return
		}
		sse(w, helloEvent, finishEvent, doneEvent)
	})
	for range 10 {
		if a := w.post(streamBody); a.status != 429 {
			t.Fatalf("status %d", a.status)
		}
	}
	rested := w.post(streamBody) // the model is at a limit, not ill: nobody looks for a dead server
	if rested.status != 429 || gjson.Get(rested.body, "error.code").Str != "rate_limit_exceeded" || !strings.Contains(rested.body, "for 30 s") ||
		rested.header.Get("Retry-After") != "30" || rested.header.Get("Retry-After-Ms") != "30000" {
		t.Errorf("%d %s %v", rested.status, rested.body, rested.header)
	}
	if n := len(w.called()); n != 1 {
		t.Errorf("%d requests went to an endpoint that asked to be left alone", n)
	}
	busy.Store(false)
	w.clock.Add(int64(fleet.MaxCoolDown) - 1)
	if a := w.post(streamBody); a.status != 429 || a.header.Get("Retry-After") != "1" {
		t.Errorf("status %d, Retry-After %q", a.status, a.header.Get("Retry-After"))
	}
	w.clock.Add(1)
	if a := w.post(streamBody); a.status != 200 {
		t.Errorf("status %d: it is parked for longer than half a minute", a.status)
	}
	w.settled()
}

// An engine that closes idle connections just when a request comes on one costs no
// client anything, and is no dead engine.
func TestConnectionThatIsClosedWhileIdle(t *testing.T) {
	type requests struct{ n atomic.Int64 }
	key := new(int)
	var lost atomic.Int64
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(key).(*requests).n.Add(1) > 1 {
			lost.Add(1)
			panic(http.ErrAbortHandler)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent, finishEvent, doneEvent)
	}))
	up.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return context.WithValue(ctx, key, &requests{}) }
	up.Start()
	t.Cleanup(up.Close)
	s := front(t, up.URL)
	for range 20 {
		if a := s.post(streamBody); a.status != 200 {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		if e := s.gateway.fleet.Status()[0].Endpoints[0]; e.State != fleet.Up {
			t.Fatalf("the endpoint is %s", e.State)
		}
	}
	if lost.Load() == 0 {
		t.Error("no request came on a connection that was closed")
	}
	s.settled()
}

// A removed endpoint gets no new request, while the one that it has goes on; and
// nothing of it is left.
func TestRemovedEndpointIsNeverChosen(t *testing.T) {
	handler, arrived, pass := gate()
	w := newWorkers(t, 2, handler)
	next := *testConfig("")
	old := w.send(t.Context(), streamBody, "")
	wait(t, arrived, "the first request")
	var gone string
	for e := range w.called() {
		gone = e
	}
	for _, e := range w.gateway.fleet.Status()[0].Endpoints {
		if e.URL != gone {
			next.Providers[0].Endpoints = []string{e.URL}
		}
	}
	if err := w.gateway.Reload(&next); err != nil {
		t.Fatal(err)
	}
	var answers []<-chan answer
	for range 50 {
		answers = append(answers, w.send(t.Context(), streamBody, ""))
		wait(t, arrived, "a request")
	}
	if n := w.called()[gone]; n != 0 {
		t.Errorf("%d requests went to the endpoint that is gone", n)
	}
	if strings.Contains(w.metrics(), gone) {
		t.Error("the endpoint that is gone is on the page")
	}
	for range 51 {
		pass <- struct{}{}
	}
	for _, a := range append(answers, old) {
		if got := wait(t, a, "an answer"); got.status != 200 {
			t.Errorf("status %d", got.status)
		}
	}
	w.settled()
}

// A chat's later turns go to the worker of its first, which has it in its cache; of
// another tenant's equal chat nothing is known.
func TestTurnsOfAChatGoToTheSameWorker(t *testing.T) {
	w := newWorkers(t, 4, upstreamAnswers(helloEvent, finishEvent, doneEvent), configure(func(c *config.Config) {
		c.Providers[0].Router.Policy = "prefix_affinity"
	}))
	message := func(role string, n int) string {
		return fmt.Sprintf(`{"role":%q,"content":"%s %d"}`, role, strings.Repeat("What was said. ", 20), n)
	}
	for chat := range 5 {
		messages := []string{message("user", chat)}
		home := ""
		for turn := range 5 {
			if a := w.post(`{"model":"small","stream":true,"messages":[` + strings.Join(messages, ",") + `]}`); a.status != 200 {
				t.Fatalf("status %d", a.status)
			}
			for e := range w.called() {
				if home == "" {
					home = e
				}
				if e != home {
					t.Errorf("turn %d of chat %d went to %s, the first to %s", turn, chat, e, home)
				}
			}
			messages = append(messages, message("assistant", turn), message("user", turn))
		}
	}
	blocks := func() (n int) {
		for _, e := range w.gateway.fleet.Status()[0].Endpoints {
			n += e.Blocks
		}
		return n
	}
	body := `{"model":"small","stream":true,"messages":[` + message("user", 0) + `]}`
	before := blocks()
	w.post(body)
	if blocks() != before {
		t.Error("the same prompt of the same tenant was not known")
	}
	r := w.request(t.Context(), body)
	r.Header.Set("Authorization", "Bearer "+chatKey)
	w.do(r)
	if blocks() == before {
		t.Error("one tenant's prompt was known to another")
	}
}

// Three hundred streams at once all go on: nothing bounds them that nobody set.
func TestManyStreamsAtOnceAllProgress(t *testing.T) {
	const streams = 300
	handler, arrived, pass := gate()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, helloEvent)
		handler(w, r)
	})
	var answers []<-chan answer
	for range streams {
		answers = append(answers, s.send(t.Context(), streamBody, ""))
	}
	for range streams {
		wait(t, arrived, "all streams to be open")
	}
	close(pass)
	for _, a := range answers {
		if got := wait(t, a, "a stream"); got.status != 200 || !strings.HasSuffix(got.body, doneEvent) {
			t.Fatalf("status %d, %q", got.status, got.body)
		}
	}
	s.settled()
}

// What endpoints say of themselves is on the page, and counts: a full cache makes
// requests wait.
func TestEnginesMetricsCount(t *testing.T) {
	var usage atomic.Value
	usage.Store("0.95")
	handler, arrived, pass := gate()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = fmt.Fprintf(w, "vllm:num_requests_running 7\nvllm:num_requests_waiting 2\nvllm:kv_cache_usage_perc %s\n", usage.Load())
			return
		}
		handler(w, r)
	}, configure(func(c *config.Config) {
		p := &c.Providers[0]
		p.Metrics, p.MetricsEvery, p.Shed.KVUsage = "vllm", config.Duration(100*time.Millisecond), 0.9
	}))
	until(t, "the metrics", func() bool {
		page := s.metrics()
		for name, value := range map[string]string{"running": "7", "waiting": "2", "kv_usage_ratio": "0.95"} {
			if !strings.Contains(page, "llmctl_gateway_endpoint_"+name+`{endpoint="`+s.gateway.fleet.Status()[0].Endpoints[0].URL+`",provider="cluster"} `+value+"\n") {
				return false
			}
		}
		return true
	})
	a := s.send(t.Context(), streamBody, "")
	until(t, "the request to wait", func() bool { return s.waiting() == 1 })
	usage.Store("0.5")
	wait(t, arrived, "the request once there is room")
	pass <- struct{}{}
	if got := wait(t, a, "the answer"); got.status != 200 {
		t.Errorf("status %d", got.status)
	}
	s.settled()
}

func FuzzRetryHint(f *testing.F) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Add("3", "")
	f.Add("Thu, 01 Jan 2026 00:00:07 GMT", "1e9")
	f.Fuzz(func(t *testing.T, after, ms string) {
		if d := retryHint(http.Header{"Retry-After": {after}, "Retry-After-Ms": {ms}}, now); d < 0 || d > maxHint {
			t.Errorf("%v", d)
		}
	})
}

func TestRetryHint(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "3", 3 * time.Second},
		{"parts of a second", "Retry-After", "0.5", 500 * time.Millisecond},
		{"milliseconds", "Retry-After-Ms", "250", 250 * time.Millisecond},
		{"a date", "Retry-After", "Thu, 01 Jan 2026 00:00:07 GMT", 7 * time.Second},
		{"a date that has passed", "Retry-After", "Wed, 31 Dec 2025 00:00:07 GMT", 0},
		{"zero", "Retry-After", "0", 0},
		{"less", "Retry-After", "-5", 0},
		{"too much", "Retry-After", "1e300", maxHint},
		{"no number", "Retry-After", "NaN", 0},
		{"no hint", "Retry-After", "soon", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := retryHint(http.Header{test.header: {test.value}}, now); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
