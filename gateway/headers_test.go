package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/gateway/config"
)

// hand is a clock that tests move: own is what passes in the gateway, by as much with
// each random number that it draws, and the rest passes elsewhere.
type hand struct {
	start    time.Time
	now, own atomic.Int64
}

func (h *hand) move(d time.Duration) { h.now.Add(int64(d)) }

func (h *hand) edit(_ *config.Config, o *Options) {
	h.start = time.Now()
	o.Now = func() time.Time { return h.start.Add(time.Duration(h.now.Load())) }
	o.Rand = func() uint64 {
		h.now.Add(int64(7 * time.Millisecond))
		h.own.Add(int64(7 * time.Millisecond))
		return 0
	}
}

// told are the headers about an answer's making that it has.
func told(h http.Header) map[string]string {
	found := map[string]string{}
	for _, name := range []string{"response-duration-ms", "overhead-duration-ms", "attempted-retries", "attempted-fallbacks"} {
		if v := h.Get("x-llmctl-" + name); v != "" {
			found[name] = v
		}
	}
	return found
}

// An answer says how long it took, how much of that passed in the gateway, and after
// how many tries and fallbacks it came: also when it is an error, and a stream for the
// time until its first output.
func TestAnswersTellWhatTheyTook(t *testing.T) {
	const first = 40 * time.Millisecond
	var clock *hand
	after := func(d time.Duration, answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			clock.move(d)
			answer(w, r)
		}
	}
	inTurn := func(answers ...http.HandlerFunc) http.HandlerFunc {
		calls := 0
		return func(w http.ResponseWriter, r *http.Request) {
			answers[min(calls, len(answers)-1)](w, r)
			calls++
		}
	}
	fails := after(30*time.Millisecond, replies(503, "{}"))
	answers := after(first, replies(200, plainReply))
	for _, test := range []struct {
		name     string
		upstream http.HandlerFunc
		edit     func(*config.Config, *Options)
		body     string
		status   int
		passed   int // ms with upstreams
		tries    []string
	}{
		{"whole answer", answers, nil, plainBody, 200, 40, []string{"0", "0"}},
		{"stream", after(first, upstreamAnswers(roleEvent, helloEvent, finishEvent, doneEvent)), nil, streamBody, 200, 40, []string{"0", "0"}},
		{"retried", inTurn(fails, answers), patient, plainBody, 200, 70, []string{"1", "0"}},
		{"fallback", inTurn(fails, answers), withFallback, plainBody, 200, 70, []string{"1", "1"}},
		{"all failed", fails, withFallback, plainBody, 503, 60, []string{"1", "1"}},
		{"garbage", after(first, replies(200, "no JSON")), nil, plainBody, 502, 40, []string{"0", "0"}},
		{"no such model", answers, nil, `{"model":"none","messages":[]}`, 404, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock = &hand{}
			edits := []func(*config.Config, *Options){clock.edit}
			if test.edit != nil {
				edits = append(edits, test.edit)
			}
			s := serve(t, test.upstream, edits...)
			got := s.post(test.body)
			if got.status != test.status {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			own := float64(clock.own.Load()) / 1e6
			want := map[string]string{
				"response-duration-ms": fmt.Sprintf("%.3f", float64(test.passed)+own), "overhead-duration-ms": fmt.Sprintf("%.3f", own),
			}
			if test.tries != nil {
				want["attempted-retries"], want["attempted-fallbacks"] = test.tries[0], test.tries[1]
			}
			if diff := cmp.Diff(want, told(got.header)); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if test.tries != nil && own == 0 {
				t.Error("no time passed in the gateway: the test shows nothing")
			}
		})
	}
}

// What follows a stream's first output is not in its header's times.
func TestStreamsTellTheTimeOfTheirFirstOutput(t *testing.T) {
	clock, seen := &hand{}, make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		clock.move(40 * time.Millisecond)
		sse(w, helloEvent)
		<-seen
		clock.move(time.Hour)
		sse(w, finishEvent, doneEvent)
	}, clock.edit)
	response, err := s.client.Do(s.request(t.Context(), streamBody))
	close(seen)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	if body, err := io.ReadAll(response.Body); err != nil || !strings.HasSuffix(string(body), doneEvent) {
		t.Errorf("%q, %v", body, err)
	}
	own := float64(clock.own.Load()) / 1e6
	if got, want := response.Header.Get("X-Llmctl-Response-Duration-Ms"), fmt.Sprintf("%.3f", 40+own); got != want {
		t.Errorf("took %s ms, want %s", got, want)
	}
}

// What no model was asked for says nothing of models.
func TestListsOfModelsTellNoTries(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	r := s.request(t.Context(), "")
	r.Method, r.URL.Path, r.Body = http.MethodGet, "/v1/models", http.NoBody
	if got := s.do(r); got.status != 200 || len(told(got.header)) > 0 {
		t.Errorf("status %d with %v", got.status, told(got.header))
	}
}

// What an upstream says of its own limits never looks like the tenant's, and reaches
// clients only where the configuration lets all tenants see what they use together.
func TestLimitsOfUpstreamsStayApart(t *testing.T) {
	s := func(t *testing.T, status int, pass bool, more func(http.Header)) answer {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-RateLimit-Limit-Requests", "10000")
			w.Header().Set("X-RateLimit-Remaining-Requests", "7")
			w.Header().Set("Anthropic-RateLimit-Tokens-Reset", "2026-01-27T12:00:30Z")
			w.Header().Set("X-Ratelimit-Note", strings.Repeat("x", 65))
			w.Header().Set("X-Vendor", "secret")
			if more != nil {
				more(w.Header())
			}
			replies(status, plainReply)(w, r)
		}, configure(func(c *config.Config) {
			c.Tenants[0].Limits = config.Limits{RPM: 60}
			c.Providers[0].LimitHeaders = pass
		}))
		return s.post(plainBody)
	}
	upstream := func(h http.Header) map[string]string {
		found := map[string]string{}
		for name := range h {
			if short, ok := strings.CutPrefix(name, "X-Llmctl-Upstream-"); ok {
				found[strings.ToLower(short)] = h.Get(name)
			}
		}
		return found
	}
	shown := map[string]string{
		"x-ratelimit-limit-requests": "10000", "x-ratelimit-remaining-requests": "7", "anthropic-ratelimit-tokens-reset": "2026-01-27T12:00:30Z",
	}
	for _, test := range []struct {
		name   string
		status int
		pass   bool
		want   map[string]string
	}{
		{"kept here", 200, false, map[string]string{}},
		{"of an answer", 200, true, shown},
		{"of a refusal", 429, true, shown},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := s(t, test.status, test.pass, nil)
			if got.status != test.status {
				t.Fatalf("status %d", got.status)
			}
			if diff := cmp.Diff(test.want, upstream(got.header)); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if own := limitHeaders(got.header); own["limit-requests"] != "60" || own["note"] != "" || got.header.Get("X-Vendor") != "" {
				t.Errorf("the tenant's own: %v; vendor: %q", own, got.header.Get("X-Vendor"))
			}
		})
	}
	t.Run("too many", func(t *testing.T) {
		got := s(t, 200, true, func(h http.Header) {
			for i := range 1000 {
				h.Set(fmt.Sprintf("X-Ratelimit-%d", i), "1")
			}
		})
		if n := len(upstream(got.header)); n != maxLimitHeaders {
			t.Errorf("%d were handed on, want %d", n, maxLimitHeaders)
		}
	})
	t.Run("the provider's key", func(t *testing.T) {
		got := s(t, 200, true, func(h http.Header) { h.Set("X-Ratelimit-Key", providerKey) })
		if v := got.header.Get("X-Llmctl-Upstream-X-Ratelimit-Key"); v != "[redacted]" {
			t.Errorf("got %q", v)
		}
	})
}
