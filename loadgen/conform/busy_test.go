package conform_test

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/conform"
)

// stress keeps all processors busy until the test ends, several times over.
func stress(t *testing.T) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := 0; ; n++ {
				if n%1024 != 0 {
					continue
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		wg.Wait()
	})
}

// relays passes on what it reads at once.
func relays(w http.ResponseWriter, r *http.Response) {
	w.WriteHeader(r.StatusCode)
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Body.Read(buf)
		if _, failed := w.Write(buf[:n]); failed != nil || err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// collects passes on nothing before all is there.
func collects(w http.ResponseWriter, r *http.Response) {
	var all bytes.Buffer
	if _, err := io.Copy(&all, r.Body); err == nil {
		w.WriteHeader(r.StatusCode)
		_, _ = w.Write(all.Bytes())
	}
}

// On a machine that has other work, what passes a stream on is not found to buffer
// it, be the engine behind it slow or quick.
func TestABusyMachineIsNoHopThatBuffers(t *testing.T) {
	stress(t)
	for name, pace := range map[string]time.Duration{"slow": 8 * time.Millisecond, "quick": 0} {
		t.Run(name, func(t *testing.T) {
			m := faultless()
			m.ITL = pace
			r := check(t, hop(t, m, relays), conform.Options{Pick: []string{"buffering"}, CaseTimeout: 15 * time.Second})
			if failed := failures(r); len(failed) > 0 {
				t.Errorf("failed cases: %v\n%+v", failed, r.Results)
			}
		})
	}
}

// On such a machine a hop that buffers is found out, or it is said why it can not
// be: it never passes.
func TestAHopThatBuffersDoesNotPassOnABusyMachine(t *testing.T) {
	stress(t)
	r := check(t, hop(t, slowly(), collects), conform.Options{Pick: []string{"buffering"}, CaseTimeout: 15 * time.Second})
	for _, c := range r.Results {
		if c.Verdict == conform.Pass {
			t.Errorf("%+v", c)
		}
	}
}
