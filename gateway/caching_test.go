package gateway

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

const coldBody = `{"model":"small","temperature":0,"messages":[{"role":"user","content":"hi"}]}`

// streaming asks for the stream of a body's answer.
func streaming(body string) string { return strings.Replace(body, `{`, `{"stream":true,`, 1) }

// caching switches the exact cache of the alias on.
func cachingExactly(c *config.Config, _ *Options) { c.Models[0].Cache.Exact = true }

// answeringCounted answers as it is asked to, whole or as a stream, and counts.
func answeringCounted(calls *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls.Add(1)
		if gjson.GetBytes(body, "stream").Bool() {
			sse(w, roleEvent, helloEvent, worldEvent, finishEvent, usageEvent, doneEvent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, plainReply)
	}
}

// said is the text of an answer in either form.
func said(body string) string {
	if gjson.Valid(body) {
		return gjson.Get(body, "choices.0.message.content").Str
	}
	var text strings.Builder
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			text.WriteString(gjson.Get(data, "choices.0.delta.content").Str)
		}
	}
	return text.String()
}

// as sends a body with another key.
func (s *stand) as(key, body string, header ...string) answer {
	s.t.Helper()
	r := s.request(s.t.Context(), body)
	r.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return s.do(r)
}

func TestAnEqualRequestAtTemperatureZeroIsAnsweredAgain(t *testing.T) {
	for _, test := range []struct{ name, first, second string }{
		{"whole and whole", coldBody, coldBody},
		{"whole and stream", coldBody, streaming(coldBody)},
		{"stream and whole", streaming(coldBody), coldBody},
		{"stream and stream", streaming(coldBody), streaming(coldBody)},
		{"other order and user", coldBody, `{"user":"u","messages":[{"content":"h\u0069","role":"user"}],"temperature":0.0,"model":"small"}`},
		{"with usage", streaming(coldBody), strings.Replace(streaming(coldBody), `{`, `{"stream_options":{"include_usage":true},`, 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			s := serve(t, answeringCounted(&calls), cachingExactly, frozen(config.Limits{RPM: 10, InputTPM: 100, OutputTPM: 10_000}, config.Limits{}))
			second := test.second
			if test.name == "other order and user" {
				second = strings.Replace(second, "0.0", "0", 1)
			}
			first, again := s.post(test.first), s.post(second)
			if first.header.Get("X-Llmctl-Cache") != "miss" || again.header.Get("X-Llmctl-Cache") != "hit" || again.header.Get("Age") != "0" {
				t.Errorf("headers %v and %v", first.header, again.header)
			}
			if again.status != 200 || said(first.body) != "Hello world" || said(again.body) != "Hello world" || calls.Load() != 1 {
				t.Errorf("status %d after %d calls: %s", again.status, calls.Load(), again.body)
			}
			if again.header.Get("X-Llmctl-Deployment") != "cluster/real-model" {
				t.Errorf("deployment %q", again.header.Get("X-Llmctl-Deployment"))
			}
			isStream := strings.Contains(second, `"stream"`)
			if got := again.header.Get("Content-Type"); (got == "text/event-stream") != isStream || strings.HasSuffix(again.body, doneEvent) != isStream {
				t.Errorf("type %q: %s", got, again.body)
			}
			if wants := strings.Contains(second, "include_usage"); isStream && strings.Contains(again.body, `"prompt_tokens":11`) != wants {
				t.Errorf("usage in the stream: %s", again.body)
			}
			s.settled()
		})
	}
}

// An answer that is given again counts as a request; its tokens were paid for.
func TestAHitTakesARequestAndNoTokens(t *testing.T) {
	var calls atomic.Int64
	dollar, two := 1.0, 2.0 // an answer of 11 and 2 tokens costs $15 per million, and is saved twice
	s := serve(t, answeringCounted(&calls), cachingExactly, frozen(config.Limits{RPM: 3, InputTPM: 100, OutputTPM: 10_000}, config.Limits{}), configure(func(c *config.Config) {
		c.Models[0].Targets[0].USDPer1M = config.Price{Input: &dollar, Output: &two}
	}))
	left := func(a answer) string { return a.header.Get("X-Ratelimit-Remaining-Input-Tokens") }
	s.post(coldBody)
	second := s.post(coldBody)
	third := s.post(coldBody)
	if left(second) != "89" || left(third) != "89" { // 100 less the 11 of the first
		t.Errorf("%s, then %s input tokens are left", left(second), left(third))
	}
	if got := s.post(coldBody); got.status != 429 {
		t.Errorf("status %d for the fourth request of three", got.status)
	}
	s.settled()
	if used := s.gateway.limits.Ledger().Settled; used != 13 || calls.Load() != 1 {
		t.Errorf("%d tokens charged for %d calls", used, calls.Load())
	}
	metrics := s.metrics()
	for _, want := range []string{
		`llmctl_gateway_cache_requests_total{alias="small",cache="exact",reason="",result="hit"} 2`,
		`llmctl_gateway_cache_requests_total{alias="small",cache="exact",reason="",result="miss"} 1`,
		`llmctl_gateway_cache_answers 1`,
		`llmctl_gateway_tokens_total{alias="small",arm="stable",deployment="cluster/real-model",kind="input",tenant="search"} 11`,
		`llmctl_gateway_saved_tokens_total{alias="small",by="exact_cache",deployment="cluster/real-model",kind="input",tenant="search"} 22`,
		`llmctl_gateway_saved_tokens_total{alias="small",by="exact_cache",deployment="cluster/real-model",kind="output",tenant="search"} 4`,
		`llmctl_gateway_saved_usd_total{alias="small",by="exact_cache",deployment="cluster/real-model",tenant="search"} 3e-05`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
	if !strings.Contains(s.logs.String(), `"cache":"hit"`) {
		t.Errorf("no hit in %s", s.logs)
	}
}

func TestATenantNeverGetsAnothersAnswer(t *testing.T) {
	var calls atomic.Int64
	s := serve(t, answeringCounted(&calls), cachingExactly)
	s.post(coldBody)
	if got := s.as(chatKey, coldBody); got.header.Get("X-Llmctl-Cache") != "miss" || calls.Load() != 2 {
		t.Errorf("%q after %d calls", got.header.Get("X-Llmctl-Cache"), calls.Load())
	}
	for _, key := range []string{searchKey, chatKey} {
		if got := s.as(key, coldBody); got.header.Get("X-Llmctl-Cache") != "hit" || calls.Load() != 2 {
			t.Errorf("%q after %d calls", got.header.Get("X-Llmctl-Cache"), calls.Load())
		}
	}
}

// While one tenant's request is on its way, another tenant's equal request does
// not wait for it: the wait would tell that somebody asked the same.
func TestTenantsDoNotShareRequestsOnTheirWay(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		replies(200, plainReply)(w, r)
	}, cachingExactly)
	var wg sync.WaitGroup
	for _, key := range []string{searchKey, chatKey} {
		wg.Go(func() { s.as(key, coldBody) })
		wait(t, arrived, "the request of each tenant")
	}
	close(release)
	wg.Wait()
}

func TestOtherParametersMiss(t *testing.T) {
	var calls atomic.Int64
	s := serve(t, answeringCounted(&calls), cachingExactly)
	s.post(coldBody)
	for i, field := range []string{
		`"tools":[{"type":"function","function":{"name":"f"}}]`, `"tool_choice":"none"`, `"response_format":{"type":"json_object"}`, `"seed":1`, `"max_tokens":5`,
	} {
		if got := s.post(`{` + field + `,` + coldBody[1:]); got.header.Get("X-Llmctl-Cache") != "miss" || calls.Load() != int64(i)+2 {
			t.Errorf("with %s: %q, %s", field, got.header.Get("X-Llmctl-Cache"), got.body)
		}
	}
	if got := s.as(searchKey, coldBody, "X-Llmctl-Capabilities", "vision"); got.header.Get("X-Llmctl-Cache") != "miss" {
		t.Error("a request for another deployment was a hit")
	}
	if got := s.at("/v1/completions", `{"prompt":"x",`+coldBody[1:]); got.header.Get("X-Llmctl-Cache") != "miss" {
		t.Errorf("another path: %v %s", got.header, got.body)
	}
}

func TestWhatIsNotToBeCachedIsNot(t *testing.T) {
	for _, test := range []struct {
		name, body string
		header     []string
		want       string
		reason     string
	}{
		{"a temperature above 0", strings.Replace(coldBody, `:0,`, `:0.7,`, 1), nil, "bypass", "temperature"},
		{"no temperature", plainBody, nil, "bypass", "temperature"},
		{"data of a user", coldBody, []string{"X-Llmctl-User-Data", "true"}, "bypass", "user_data"},
		{"no-store", coldBody, []string{"Cache-Control", "no-store"}, "bypass", "no_store"},
		{"no-cache", coldBody, []string{"Cache-Control", "no-cache"}, "miss", ""},
		{"max-age=0", coldBody, []string{"Cache-Control", "max-age=0"}, "hit", ""}, // the clock stands still
	} {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			s := serve(t, answeringCounted(&calls), cachingExactly, frozen(config.Limits{}, config.Limits{}))
			s.as(searchKey, test.body, test.header...)
			got := s.as(searchKey, test.body, test.header...)
			if got.header.Get("X-Llmctl-Cache") != test.want || (calls.Load() == 1) != (test.want == "hit") {
				t.Errorf("%q after %d calls", got.header.Get("X-Llmctl-Cache"), calls.Load())
			}
			if test.reason != "" && !strings.Contains(s.metrics(), `reason="`+test.reason+`",result="bypass"} 2`) {
				t.Errorf("no bypass for %s in the metrics", test.reason)
			}
			if kept := s.gateway.answers.memory.Len(); (kept == 1) != (test.want != "bypass") {
				t.Errorf("%d answers are kept", kept)
			}
		})
	}
}

func TestAnswersGrowOldAndAliasesChange(t *testing.T) {
	var calls atomic.Int64
	var clock atomic.Int64
	start := time.Now()
	set := func(c *config.Config) {
		c.Models[0].Cache = config.Cache{Exact: true, TTL: config.Duration(time.Minute)}
	}
	up := httptest.NewServer(answeringCounted(&calls))
	t.Cleanup(up.Close)
	s := front(t, up.URL, func(c *config.Config, o *Options) {
		set(c)
		o.Now = func() time.Time { return start.Add(time.Duration(clock.Load())) }
	})
	expect := func(what, want string, header ...string) {
		t.Helper()
		if got := s.as(searchKey, coldBody, header...); got.header.Get("X-Llmctl-Cache") != want {
			t.Errorf("%s: %q, want %q", what, got.header.Get("X-Llmctl-Cache"), want)
		}
	}
	s.post(coldBody)
	clock.Store(int64(59 * time.Second))
	expect("after 59 s", "hit")
	expect("after 59 s, for one who takes 58", "miss", "Cache-Control", "max-age=58")
	clock.Store(int64(100 * time.Second))
	expect("41 s after the refresh", "hit")
	clock.Store(int64(200 * time.Second))
	expect("after its time", "miss")
	next := testConfig(up.URL)
	set(next)
	if err := s.gateway.Reload(next); err != nil {
		t.Fatal(err)
	}
	expect("with the same configuration anew", "hit")
	next = testConfig(up.URL)
	set(next)
	next.Models[0].Targets[0].Model = "other-model"
	if err := s.gateway.Reload(next); err != nil {
		t.Fatal(err)
	}
	expect("with another deployment", "miss")
	next = testConfig(up.URL)
	set(next)
	next.CacheSize = 1000
	before := s.gateway.answers.memory.Len()
	if err := s.gateway.Reload(next); err != nil {
		t.Fatal(err)
	}
	if after := s.gateway.answers.memory.Len(); before < 2 || after > 1 {
		t.Errorf("of %d answers %d are kept in a kilobyte, want one at most", before, after)
	}
}

func TestOnlyCompleteAnswersAreKept(t *testing.T) {
	filteredFinish := strings.Replace(finishEvent, `"stop"`, `"content_filter"`, 1)
	for name, upstream := range map[string]http.HandlerFunc{
		"cut":         breakOff(helloEvent),
		"an error":    replies(500, "oops"),
		"error event": upstreamAnswers(helloEvent, `data: {"error":{"message":"no"}}`+"\n\n"),
		"filtered":    upstreamAnswers(helloEvent, filteredFinish, doneEvent),
		"no finish":   upstreamAnswers(helloEvent, doneEvent),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, upstream, cachingExactly)
			s.post(streaming(coldBody))
			s.settled()
			if n := s.gateway.answers.memory.Len(); n != 0 {
				t.Errorf("%d answers are kept", n)
			}
		})
	}
	t.Run("a fallback's", func(t *testing.T) {
		var calls atomic.Int64
		s := serve(t, script(&calls, replies(500, "oops"), upstreamAnswers(helloEvent, finishEvent, doneEvent)), cachingExactly, withFallback, configure(func(c *config.Config) {
			c.Models[0].Retry.Attempts = 1
		}))
		if got := s.post(streaming(coldBody)); got.header.Get("X-Llmctl-Deployment") != "cluster/spare" {
			t.Errorf("answered by %q", got.header.Get("X-Llmctl-Deployment"))
		}
		s.settled()
		if n := s.gateway.answers.memory.Len(); n != 0 {
			t.Errorf("%d answers are kept", n)
		}
	})
	t.Run("left by its client", func(t *testing.T) {
		gone := make(chan struct{})
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			sse(w, helloEvent)
			<-r.Context().Done()
			close(gone)
		}, cachingExactly)
		ctx, leave := context.WithCancel(t.Context())
		response, err := s.client.Do(s.request(ctx, streaming(coldBody)))
		if err != nil {
			t.Fatal(err)
		}
		leave()
		_ = response.Body.Close()
		wait(t, gone, "the upstream to be cancelled")
		s.settled()
		if n := s.gateway.answers.memory.Len(); n != 0 {
			t.Errorf("%d answers are kept", n)
		}
	})
}

// untilInFlight waits until n requests of the alias are being served.
func (s *stand) untilInFlight(n int) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if strings.Contains(s.metrics(), fmt.Sprintf(`in_flight{alias="small"} %d`+"\n", n)) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d requests are not in flight", n)
		}
	}
}

func TestAHundredEqualRequestsAreOneCall(t *testing.T) {
	var calls atomic.Int64
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			<-release
		}
		replies(200, plainReply)(w, r)
	}, cachingExactly)
	var wg sync.WaitGroup
	bodies := []string{coldBody, streaming(coldBody)}
	for i := range 100 {
		wg.Go(func() {
			if got := s.post(bodies[i%2]); got.status != 200 || said(got.body) != "Hello world" {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	s.untilInFlight(100)
	close(release)
	wg.Wait()
	s.settled()
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
	if used := s.gateway.limits.Ledger().Settled; used != 13 {
		t.Errorf("%d tokens charged", used)
	}
}

func TestTheUpstreamIsCancelledWhenAllWaitersAreGone(t *testing.T) {
	for _, test := range []struct {
		name  string
		leave []bool // the leader, the follower
	}{
		{"the leader leaves", []bool{true, false}},
		{"the follower leaves", []bool{false, true}},
		{"both leave", []bool{true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			arrived, release, gone := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				sse(w, helloEvent)
				arrived <- struct{}{}
				select {
				case <-release:
					sse(w, worldEvent, finishEvent, usageEvent, doneEvent)
				case <-r.Context().Done():
					close(gone)
				}
			}, cachingExactly, configure(func(c *config.Config) {
				c.SSEKeepAlive = config.Duration(time.Millisecond) // a comment that nobody reads ends nothing either
			}))
			answers := make([]chan string, 2)
			leave := make([]context.CancelFunc, 2)
			for i := range 2 {
				var ctx context.Context
				ctx, leave[i] = context.WithCancel(t.Context())
				defer leave[i]()
				answers[i] = make(chan string, 1)
				go func() {
					response, err := s.client.Do(s.request(ctx, streaming(coldBody)))
					if err != nil {
						answers[i] <- ""
						return
					}
					body, _ := io.ReadAll(response.Body) // cut off for one who left
					_ = response.Body.Close()
					answers[i] <- string(body)
				}()
				if i == 0 {
					wait(t, arrived, "the leader's request")
				}
			}
			s.untilInFlight(2)
			for i, leaves := range test.leave {
				if leaves {
					leave[i]()
					wait(t, answers[i], "the one who left")
				}
			}
			if test.leave[0] && test.leave[1] {
				wait(t, gone, "the upstream to be cancelled")
				s.settled()
				return
			}
			close(release)
			for i, leaves := range test.leave {
				if got := ""; !leaves {
					if got = wait(t, answers[i], "the answer"); said(got) != "Hello world" || !strings.HasSuffix(got, doneEvent) {
						t.Errorf("who stayed got %q", got)
					}
				}
			}
			s.settled()
			if used := s.gateway.limits.Ledger().Settled; used != 13 {
				t.Errorf("%d tokens charged, want 13", used)
			}
		})
	}
}

func TestWithoutAnAnswerToShareEachGoesOnAlone(t *testing.T) {
	var calls atomic.Int64
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			<-release
			replies(400, `{"error":{"message":"no"}}`)(w, r)
			return
		}
		replies(200, plainReply)(w, r)
	}, cachingExactly)
	statuses := make(chan int, 5)
	for range 5 {
		go func() { statuses <- s.post(coldBody).status }()
	}
	s.untilInFlight(5)
	close(release)
	count := map[int]int{}
	for range 5 {
		count[wait(t, statuses, "an answer")]++
	}
	if count[400] != 1 || count[200] != 4 || calls.Load() != 5 {
		t.Errorf("%v after %d calls", count, calls.Load())
	}
}

func TestModelNamesInAnswersFromTheCache(t *testing.T) {
	named := strings.Replace(helloEvent, `"id":"1"`, `"id":"1","model":"real-model"`, 1)
	s := serve(t, upstreamAnswers(named, finishEvent, doneEvent), cachingExactly, configure(func(c *config.Config) { c.Models[0].ResponseModel = "alias" }))
	first, again := s.post(streaming(coldBody)), s.post(streaming(coldBody))
	if again.header.Get("X-Llmctl-Cache") != "hit" || first.body != again.body || !strings.Contains(again.body, `"model":"small"`) {
		t.Errorf("first %s, then %s", first.body, again.body)
	}
}

// Whoever leaves when, in whatever form: nothing is held in the end, and the
// ledger balances.
func TestClientsThatLeaveSharedRequestsLeaveNothingBehind(t *testing.T) {
	var calls atomic.Int64
	s := serve(t, answeringCounted(&calls), cachingExactly, configure(func(c *config.Config) {
		c.Models[0].Cache.TTL = config.Duration(time.Millisecond) // so that much goes to the model
		c.Tenants[0].Limits.Concurrent = 1000
	}))
	random := rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	for range 300 {
		body := strings.Replace(coldBody, "hi", fmt.Sprint(random.IntN(5)), 1)
		if random.IntN(2) == 0 {
			body = streaming(body)
		}
		patience := time.Duration(random.IntN(5_000)) * time.Microsecond
		wg.Go(func() {
			ctx, leave := context.WithTimeout(t.Context(), patience)
			defer leave()
			response, err := s.client.Do(s.request(ctx, body))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, response.Body) // cut off for those who leave
			_ = response.Body.Close()
		})
	}
	wg.Wait()
	s.settled()
	if n := s.gateway.answers.flights.Len(); n != 0 {
		t.Errorf("%d flights are open", n)
	}
}

// The header says where an answer is from: an error, ours or the upstream's, is no
// answer.
func TestErrorsSayNothingOfCaches(t *testing.T) {
	var calls atomic.Int64
	limits := frozen(config.Limits{RPM: 3}, config.Limits{})
	s := serve(t, script(&calls, replies(200, plainReply), replies(500, "oops")), limits, cachingExactly)
	for _, step := range []struct {
		body   string
		status int
		cache  []string
	}{
		{plainBody, 200, []string{"bypass"}},
		{plainBody, 502, nil},
		{`{"temperature":0,` + plainBody[1:], 502, nil},
		{plainBody, 429, nil},
		{`{"temperature":0,` + plainBody[1:], 429, nil},
	} {
		if got := s.post(step.body); got.status != step.status || !slices.Equal(got.header.Values("X-Llmctl-Cache"), step.cache) {
			t.Errorf("status %d, want %d; x-llmctl-cache %q, want %q", got.status, step.status, got.header.Values("X-Llmctl-Cache"), step.cache)
		}
	}
}
