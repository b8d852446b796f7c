package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/reports/record"
)

// TestStampsOfARequest: the moments of a record are those at which a server on
// a real socket sent. The clock stands still but for the server, which moves it
// before each event and sends the next one only when the client has told of the
// one before.
func TestStampsOfARequest(t *testing.T) {
	const s = time.Second
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			var clock atomic.Int64
			got := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				for i, e := range []string{c("a"), c("b"), c("c")} {
					clock.Store(int64(time.Duration(i+2) * s))
					_, _ = io.WriteString(w, e)
					w.(http.Flusher).Flush()
					<-got
				}
				clock.Store(int64(5 * s))
				_, _ = io.WriteString(w, finish("stop")+done)
			}))
			defer server.Close()
			clock.Store(int64(s))
			client := newClient(t, transport, Options{Endpoint: server.URL, Now: func() time.Duration { return time.Duration(clock.Load()) },
				OnOutput: func(int) { got <- struct{}{} }})
			defer client.Close()
			r := new(record.Record)
			client.Do(t.Context(), Request{}, r)
			moments := map[string]time.Duration{"Sent": since(r.Sent), "FirstByte": since(r.FirstByte), "First": since(r.First), "Last": since(r.Last), "Finished": since(r.Finished), "Closed": since(r.Closed)}
			want := map[string]time.Duration{"Sent": s, "FirstByte": 2 * s, "First": 2 * s, "Last": 4 * s, "Finished": 5 * s, "Closed": 5 * s}
			if diff := cmp.Diff(want, moments); diff != "" {
				t.Errorf("%s %q, moments (-want +got):\n%s", r.Outcome, r.Detail, diff)
			}
			if m, ok := r.Chunks.(*record.MeasuredChunks); !ok || !cmp.Equal(m.Times, []time.Duration{2 * s, 3 * s, 4 * s}) {
				t.Errorf("events at %v", r.Chunks)
			}
		})
	}
}
