package conform_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/conform"
	"github.com/llmctl/llmctl/loadgen/mock"
)

// slowly is a mock whose streams last long enough to see how they arrive.
func slowly() *mock.Server {
	m := faultless()
	m.ITL = 8 * time.Millisecond
	return m
}

// hop is a proxy in front of a mock; relay passes the body of an answer on.
func hop(t *testing.T, m http.Handler, relay func(w http.ResponseWriter, r *http.Response)) http.Handler {
	t.Helper()
	behind := httptest.NewServer(m)
	t.Cleanup(behind.Close)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), r.Method, behind.URL+r.URL.Path, r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header = r.Header.Clone()
		response, err := transport.RoundTrip(request)
		if err != nil {
			return // the client left
		}
		defer func() { _ = response.Body.Close() }()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		relay(w, response)
	})
}

// A hop that buffers whole answers, one with a buffer of some kilobytes, and one
// that passes on what it gets.
func TestBuffering(t *testing.T) {
	lumps := func(size int) func(w http.ResponseWriter, r *http.Response) {
		return func(w http.ResponseWriter, r *http.Response) {
			w.WriteHeader(r.StatusCode)
			buf := make([]byte, size)
			for {
				n, err := io.ReadFull(r.Body, buf)
				if _, failed := w.Write(buf[:n]); failed != nil || err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
	tests := []struct {
		name  string
		relay func(w http.ResponseWriter, r *http.Response)
		want  []string
	}{
		{"passes on at once", relays, []string{}},
		{"waits for the end", collects, []string{"buffering/spread", "buffering/header"}},
		{"sends the header, then waits for the end", func(w http.ResponseWriter, r *http.Response) {
			w.WriteHeader(r.StatusCode)
			_ = http.NewResponseController(w).Flush()
			var all bytes.Buffer
			if _, err := io.Copy(&all, r.Body); err == nil {
				_, _ = w.Write(all.Bytes())
			}
		}, []string{"buffering/spread"}},
		{"collects 4 KiB", lumps(4 << 10), []string{"buffering/lumps"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, hop(t, slowly(), tt.relay), conform.Options{Pick: []string{"buffering"}, CaseTimeout: time.Minute})
			if diff := cmp.Diff(tt.want, failures(r)); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s\n%+v", diff, r.Results)
			}
			if tt.name != "waits for the end" && result(t, r, "buffering/header").Verdict == conform.Skip {
				t.Errorf("%+v", r.Results)
			}
		})
	}
}

// What is too short to tell is skipped, not passed.
func TestBufferingOfAGenerationTooShortIsSkipped(t *testing.T) {
	r := check(t, faultless(), conform.Options{Pick: []string{"buffering"}, Context: 100})
	for _, c := range r.Results {
		if c.Verdict != conform.Skip || c.Reason != "the window of 100 tokens is too small for a generation to look at" {
			t.Errorf("%s: %s %s %s", c.ID, c.Verdict, c.Seen, c.Reason)
		}
	}
}

// A load balancer that ends everything after 30 s, here 200 ms, in front of a
// generation of over a minute, here 600 ms.
func TestCutOff(t *testing.T) {
	const cut, long = 200 * time.Millisecond, 600 * time.Millisecond
	patient := slowly()
	behind := httptest.NewServer(patient)
	t.Cleanup(behind.Close)
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{ResponseHeaderTimeout: cut}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.Transport = transport
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusGatewayTimeout) }
	proxy.ModifyResponse = func(r *http.Response) error {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			body := r.Body
			timer := time.AfterFunc(cut, func() { _ = body.Close() })
			r.Body = &timed{ReadCloser: body, timer: timer}
		}
		return nil
	}
	// The measuring streams of 128 tokens must come through, the long ones not.
	cutting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"max_tokens":32,`)) || bytes.Contains(body, []byte(`"max_tokens":1,`)) || bytes.Contains(body, []byte(`"max_tokens":128,`)) || len(body) == 0 {
			patient.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	})
	o := conform.Options{Pick: []string{"slow"}, Slow: true, Long: long}
	r := check(t, cutting, o)
	if diff := cmp.Diff([]string{"slow/stream", "slow/whole"}, failures(r)); diff != "" {
		t.Errorf("failed cases (-want +got):\n%s\n%+v", diff, r.Results)
	}
	if seen := result(t, r, "slow/stream").Seen; !strings.HasPrefix(seen, "cut after ") {
		t.Errorf("seen %q", seen)
	}
	r = check(t, slowly(), o)
	if got := failures(r); len(got) > 0 || r.Summary.Passed != 2 {
		t.Errorf("without a cut-off: %+v", r.Results)
	}
	o.Slow = false
	r = check(t, slowly(), o)
	if r.Summary.Skipped != 2 || result(t, r, "slow/whole").Reason != "it takes over a minute; --slow runs it" {
		t.Errorf("unasked: %+v", r.Results)
	}
}

// timed is a body with a timer that ends it.
type timed struct {
	io.ReadCloser
	timer *time.Timer
}

func (t *timed) Close() error {
	t.timer.Stop()
	return t.ReadCloser.Close()
}

// A server whose places for requests are taken for good by clients that leave.
func TestSlotsThatLeak(t *testing.T) {
	const places = 50
	var taken atomic.Int64
	m := slowly()
	leaking := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if taken.Load() >= places {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"too many requests at once","type":"requests"}}`)
			return
		}
		m.ServeHTTP(w, r)
		if r.Context().Err() != nil {
			taken.Add(1)
		}
	})
	r := check(t, leaking, conform.Options{Suite: conform.Gateway, Pick: []string{"cancel/hundred"}, CaseTimeout: time.Minute})
	c := result(t, r, "cancel/hundred")
	if c.Verdict != conform.Fail || !strings.Contains(c.Seen, "too many requests at once") {
		t.Errorf("%+v", c)
	}
	r = check(t, slowly(), conform.Options{Suite: conform.Gateway, Pick: []string{"cancel/hundred"}, CaseTimeout: time.Minute})
	if c := result(t, r, "cancel/hundred"); c.Verdict != conform.Pass {
		t.Errorf("without a leak: %+v", c)
	}
}

// deaf is an engine that does not notice that its clients have left: it holds
// their places for a while after.
type deaf struct {
	places  chan struct{}
	hold    time.Duration
	running atomic.Int64
	ended   <-chan struct{} // of the test
	rest    http.Handler    // for requests that nobody leaves
}

func (d *deaf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/metrics" {
		fmt.Fprintf(w, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running %d\n", d.running.Load())
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	select {
	case d.places <- struct{}{}:
		defer func() { <-d.places }()
	case <-r.Context().Done():
		return
	}
	d.running.Add(1)
	defer d.running.Add(-1)
	d.rest.ServeHTTP(w, r)
	if r.Context().Err() != nil {
		select {
		case <-time.After(d.hold):
		case <-d.ended:
		}
	}
}

// With as many places as clients that leave, the next request waits for ever;
// with more, only the metrics page tells.
func TestClientsThatLeaveAndAreNotForgotten(t *testing.T) {
	tests := []struct {
		name   string
		places int
		hold   time.Duration
		fail   string // the cases that do, as the beginning of their names
	}{
		{"places are held for ever", 4, time.Hour, ""},
		{"places are held for a second", 100, time.Second, "freed-"},
	}
	for _, tt := range tests {
		for _, when := range []string{"before-output", "mid-stream", "whole"} {
			t.Run(tt.name+", "+when, func(t *testing.T) {
				t.Parallel()
				engine := &deaf{places: make(chan struct{}, tt.places), hold: tt.hold, ended: t.Context().Done(), rest: slowly()}
				server := httptest.NewServer(engine)
				t.Cleanup(server.Close)
				run := func(id string) conform.Result {
					r, err := conform.Run(t.Context(), conform.Options{
						Endpoint: server.URL, Key: testKey, Metrics: server.URL + "/metrics", Pick: []string{id}, Settle: 3 * time.Second,
					})
					if err != nil {
						t.Fatal(err)
					}
					return r.Results[0]
				}
				if c := run("cancel/" + tt.fail + when); c.Verdict != conform.Fail {
					t.Errorf("%s: %s %s %s", c.ID, c.Verdict, c.Seen, c.Reason)
				}
				if tt.fail == "" {
					return
				}
				if c := run("cancel/" + when); c.Verdict != conform.Pass {
					t.Errorf("%s: %s %s %s", c.ID, c.Verdict, c.Seen, c.Reason)
				}
			})
		}
	}
}
