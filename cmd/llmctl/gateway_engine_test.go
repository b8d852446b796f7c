package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/gateway"
	"github.com/llmctl/llmctl/internal/iostreams"
)

// gatewayBeforeEngine starts the bundled engine and the gateway in front of it.
func gatewayBeforeEngine(t *testing.T, set func(*engineFlags)) (e *engine.Engine, url, engineURL string) {
	t.Helper()
	var flags engineFlags
	flags.add(&cobra.Command{})
	set(&flags)
	streams := &iostreams.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }}
	v, err := flags.open(streams)
	if err != nil {
		t.Fatal(err)
	}
	behind := httptest.NewServer(v.handler())
	g, err := gateway.New(stackConfig(behind.URL, v.name(), "sk-gateway"), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g.Handler())
	t.Cleanup(func() {
		g.Close()
		front.Close()
		behind.Close()
		v.close()
	})
	return v.engine, front.URL, behind.URL
}

// freed waits until the engine has nothing left of any request, and says how long
// that took.
func freed(t *testing.T, e *engine.Engine, since time.Time) time.Duration {
	t.Helper()
	for {
		s := e.Stats()
		took := time.Since(since)
		if s.Running == 0 && s.Waiting == 0 && s.Usage == 0 {
			return took
		}
		if took > gatewayPatience {
			t.Fatalf("the engine still has %d running, %d waiting, and %.2g of its blocks in use", s.Running, s.Waiting, s.Usage)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// A client that leaves frees the engine's blocks, whatever its request was at: an
// answer takes many minutes here, so that none ends by itself. How soon is measured
// and logged, and not judged: the machine may be busy.
func TestClientThatLeavesFreesTheEnginesBlocks(t *testing.T) {
	e, url, engineURL := gatewayBeforeEngine(t, func(f *engineFlags) {
		f.device, f.model = deviceModeled+"h100-sxm-80gb", "llama-3.1-8b"
		f.sched.MaxNumSeqs, f.sched.MaxNumBatchedTokens = 4, 256
	})
	const model = "llama-3.1-8b"
	short, long := "hello", strings.Repeat("Once upon a time. ", 3000) // seconds of prefill
	tests := []struct {
		name   string
		prompt string
		stream bool
		until  func(s engine.Stats, events int) bool // the client leaves
	}{
		{"before the first token", long, true, func(s engine.Stats, _ int) bool { return s.Running > 0 && s.Usage > 0 }},
		{"in the middle of the stream", short, true, func(_ engine.Stats, events int) bool { return events > 5 }},
		{"while a whole answer is made", short, false, func(s engine.Stats, _ int) bool { return s.Running > 0 && s.Usage > 0 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var took []time.Duration
			for range 5 {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				body := fmt.Sprintf(`{"model":%q,"stream":%t,"max_tokens":50000,"messages":[{"role":"user","content":%q}]}`, model, test.stream, test.prompt)
				events, ended := make(chan int, 100_000), make(chan struct{})
				go func() {
					defer close(ended)
					readEvents(t, ctx, url, body, events)
				}()
				seen := 0
				for deadline := time.Now().Add(gatewayPatience); !test.until(e.Stats(), seen); {
					select {
					case seen = <-events:
					case <-time.After(time.Millisecond):
					}
					if time.Now().After(deadline) {
						t.Fatalf("the engine never got there: %d events, %+v", seen, e.Stats().Stats)
					}
				}
				left := time.Now()
				leave()
				took = append(took, freed(t, e, left))
				<-ended
			}
			slices.Sort(took)
			t.Logf("blocks were free after %v", took)
		})
	}
	page := metricsPage(t, engineURL)
	for _, name := range []string{"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"} {
		if !strings.Contains(page, fmt.Sprintf("vllm:%s{engine=\"0\",model_name=%q} 0\n", name, model)) {
			t.Errorf("%s is not 0", name)
		}
	}
}

// Clients leave at random, some of them while their requests wait in the engine, which
// takes two at once.
func TestClientsThatLeaveAtRandomFreeTheEngine(t *testing.T) {
	const requests, parallel = 120, 8
	e, url, _ := gatewayBeforeEngine(t, func(f *engineFlags) {
		f.device, f.model = deviceModeled+"h100-sxm-80gb", "llama-3.1-8b"
		f.sched.MaxNumSeqs, f.sched.MaxNumBatchedTokens = 2, 256
	})
	var clients sync.WaitGroup
	for range parallel {
		clients.Go(func() {
			for i := range requests / parallel {
				prompt := strings.Repeat("Once upon a time. ", rand.IntN(100))
				body := fmt.Sprintf(`{"model":"llama-3.1-8b","stream":%t,"max_tokens":50000,"messages":[{"role":"user","content":%q}]}`, i%3 > 0, prompt)
				ctx, leave := context.WithTimeout(t.Context(), rand.N(60*time.Millisecond))
				readEvents(t, ctx, url, body, make(chan int, 100_000))
				leave()
			}
		})
	}
	clients.Wait()
	t.Logf("everything was free %v after the last one left", freed(t, e, time.Now()))
	if got := e.Stats().Finished; got[sched.Stop]+got[sched.Length]+got[sched.Failed] != 0 {
		t.Errorf("finished %v: only clients that leave end a request here", got)
	}
}

// readEvents sends a request and counts the events of its answer, until it ends or
// the client leaves.
func readEvents(t *testing.T, ctx context.Context, url, body string, events chan<- int) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer sk-gateway")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return // it has left
	}
	defer response.Body.Close() //nolint:errcheck // cut off
	n := 0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			n++
			events <- n
		}
	}
}

func metricsPage(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
