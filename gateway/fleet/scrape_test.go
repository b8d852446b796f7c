package fleet

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
)

// pages is a transport that answers as each test says.
type pages struct {
	mu     sync.Mutex
	answer answering
	asked  []string
	keys   int // requests with credentials
}

func (p *pages) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.asked = append(p.asked, r.URL.String())
	if r.Header.Get("Authorization") != "" {
		p.keys++
	}
	answer := p.answer
	p.mu.Unlock()
	return answer(r)
}

func (p *pages) become(a answering) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = a
}

func body(status int, text string) answering {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Header: http.Header{}, Request: r}, nil
	}
}

func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// read runs a fleet that reads metrics of one endpoint, in time of its own.
func read(t *testing.T, edit func(*config.Provider), test func(*testing.T, *Fleet, *Pool, *pages)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start, server := time.Now(), &pages{answer: body(404, "")}
		f := New(Options{Now: func() time.Duration { return time.Since(start) }, Client: &http.Client{Transport: server}})
		defer f.Close()
		c := provider(1, func(p *config.Provider) { p.Metrics = "auto" }, edit)
		test(t, f, f.Configure([]Spec{spec(t, c)})[0], server)
	})
}

func usage(p *Pool) *float64 { return p.Status().Endpoints[0].KVUsage }

// Every engine's names are understood, the old ones and the new; what a page does
// not say is unknown, not zero.
func TestMetricsOfEveryEngine(t *testing.T) {
	tests := []struct {
		name, page     string
		waiting, usage float64 // below zero: unknown
	}{
		{"vLLM, new names only", page(`vllm:num_requests_running{engine="0"} 3`, `vllm:num_requests_waiting{engine="0"} 2`, `vllm:kv_cache_usage_perc{engine="0"} 0.5`), 2, 0.5},
		{"vLLM, old names", page(`vllm:num_requests_waiting 2`, `vllm:gpu_cache_usage_perc 0.5`), 2, 0.5},
		{"SGLang", page(`sglang:num_queue_reqs 2`, `sglang:token_usage 0.5`), 2, 0.5},
		{"TensorRT-LLM", page(`trtllm_num_requests_waiting 2`, `trtllm_kv_cache_utilization 0.5`), 2, 0.5},
		{"Triton", page(`nv_trt_llm_request_metrics{request_type="waiting"} 2`, `nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction"} 0.5`), 2, 0.5},
		{"a page of something else", page(`up 1`), -1, -1},
		{"usage without a queue", page(`vllm:kv_cache_usage_perc 0`), -1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			read(t, func(*config.Provider) {}, func(t *testing.T, _ *Fleet, p *Pool, server *pages) {
				server.become(body(200, test.page))
				time.Sleep(1500 * time.Millisecond)
				synctest.Wait()
				e := p.Status().Endpoints[0]
				for _, n := range []struct {
					what string
					got  *float64
					want float64
				}{{"waiting", e.Waiting, test.waiting}, {"usage", e.KVUsage, test.usage}} {
					switch {
					case (n.got == nil) != (n.want < 0):
						t.Errorf("%s known: %v", n.what, n.got != nil)
					case n.got != nil && *n.got != n.want:
						t.Errorf("%s %v, want %v", n.what, *n.got, n.want)
					}
				}
				if server.keys > 0 {
					t.Error("credentials were sent")
				}
			})
		})
	}
}

// What was said is forgotten after three periods, however the endpoint falls silent;
// and a page that hangs holds up nothing.
func TestStaleMetricsAreUnknown(t *testing.T) {
	good := body(200, page(`vllm:kv_cache_usage_perc 0.9`, `vllm:num_requests_running 5`, `vllm:num_requests_waiting 9`))
	big := body(200, page(`vllm:kv_cache_usage_perc 0.1`)+strings.Repeat("# more\n", maxPage/7+1))
	elsewhere := func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "other") {
			return body(200, page(`vllm:kv_cache_usage_perc 0.1`))(r)
		}
		response, _ := body(302, "")(r)
		response.Header.Set("Location", "http://e0/other")
		return response, nil
	}
	for name, silence := range map[string]answering{
		"no connection": silent, "an error": body(500, ""), "a page that hangs": hang, "garbage": body(200, "<html>{{{"),
		"a page without end": big, "a redirect": elsewhere,
		"a body that breaks off": func(r *http.Request) (*http.Response, error) {
			response, _ := body(200, "")(r)
			response.Body = io.NopCloser(io.MultiReader(bytes.NewReader([]byte("vllm:kv_cache_usage_perc 0.1\n")), broken{}))
			return response, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			read(t, func(p *config.Provider) { p.Shed.Queue = 1 }, func(t *testing.T, _ *Fleet, p *Pool, server *pages) {
				server.become(good)
				time.Sleep(1500 * time.Millisecond)
				if v := usage(p); v == nil || *v != 0.9 {
					t.Fatal("the page was not read")
				}
				waiting := queued(t.Context(), p, Want{}) // for an engine that has too much to do
				server.become(silence)
				time.Sleep(2 * time.Second)
				if v := usage(p); v == nil || *v != 0.9 {
					t.Error("it was forgotten after two periods")
				}
				time.Sleep(3 * time.Second)
				if v := usage(p); v != nil {
					t.Errorf("it is still known, or anew: %v", *v)
				}
				r := <-waiting // by what is known, there is room
				r.lease.Release(OK)
				server.become(good)
				time.Sleep(3 * time.Second)
				if usage(p) == nil {
					t.Error("it does not come back")
				}
			})
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cut off") }

// trtllm-serve has a page of another kind at the usual place.
func TestPageAtTheOtherPlace(t *testing.T) {
	for _, kind := range []string{"auto", "trtllm"} {
		t.Run(kind, func(t *testing.T) {
			read(t, func(p *config.Provider) { p.Metrics = kind }, func(t *testing.T, _ *Fleet, p *Pool, server *pages) {
				server.become(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/prometheus/metrics" {
						return body(200, page(`trtllm_kv_cache_utilization 0.25`))(r)
					}
					return body(404, "")(r)
				})
				time.Sleep(10 * time.Second)
				if v := usage(p); v == nil || *v != 0.25 {
					t.Error("the page was not found")
				}
				server.mu.Lock()
				defer server.mu.Unlock()
				if last := server.asked[len(server.asked)-3:]; strings.Contains(strings.Join(last, " "), "e0/metrics") {
					t.Errorf("it keeps asking at %q", last)
				}
			})
		})
	}
}

// The index of an endpoint's prompts is as large as its cache.
func TestCacheSizeIsLearned(t *testing.T) {
	read(t, func(*config.Provider) {}, func(t *testing.T, _ *Fleet, p *Pool, server *pages) {
		l := take(t, p, Want{Prompt: prompt(1, 300)})
		defer l.Release(OK)
		if n := p.Status().Endpoints[0].Blocks; n != 300 {
			t.Fatalf("%d blocks", n)
		}
		server.become(body(200, page(`vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1`)))
		time.Sleep(1500 * time.Millisecond)
		if n := p.Status().Endpoints[0].Blocks; n != 100 {
			t.Errorf("%d blocks in a cache of 1,600 tokens", n)
		}
	})
}

// A reading that is switched off ends, and what it told is forgotten.
func TestReadingIsSwitchedOff(t *testing.T) {
	read(t, func(*config.Provider) {}, func(t *testing.T, f *Fleet, p *Pool, server *pages) {
		good := body(200, page(`vllm:kv_cache_usage_perc 0.5`))
		server.become(good)
		time.Sleep(1500 * time.Millisecond)
		if usage(p) == nil {
			t.Fatal("the page was not read")
		}
		server.become(func(r *http.Request) (*http.Response, error) { // one that comes too late
			<-r.Context().Done()
			return good(r)
		})
		time.Sleep(time.Second)
		f.Configure([]Spec{spec(t, provider(1))})
		synctest.Wait()
		if usage(p) != nil {
			t.Error("a page that came too late was taken in")
		}
		server.mu.Lock()
		asked := len(server.asked)
		server.mu.Unlock()
		time.Sleep(10 * time.Second)
		server.mu.Lock()
		defer server.mu.Unlock()
		if len(server.asked) != asked || usage(p) != nil {
			t.Errorf("%d more were asked", len(server.asked)-asked)
		}
	})
}
