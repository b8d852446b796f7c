package loadgen

import (
	"context"
	"net"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// hasty is a listener whose connections are closed by the server at once, up to
// a number of them.
type hasty struct {
	net.Listener
	left atomic.Int64
}

func (l *hasty) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || l.left.Add(-1) < 0 {
			return conn, err
		}
		_ = conn.Close()
	}
}

// TestWarmConnectionsClosed: a server closes connections while others are still
// being opened, and what reads them has a clock by then. Run it with -race.
func TestWarmConnectionsClosed(t *testing.T) {
	server := httptest.NewUnstartedServer(&mock.Server{Tokens: 2})
	listener := &hasty{Listener: server.Listener}
	listener.left.Store(100)
	server.Listener = listener
	server.Start()
	defer server.Close()
	result, err := Run(t.Context(), Options{
		Client: client.Options{Endpoint: server.URL}, Model: "m", MetricsInterval: -1,
		Workload: fixed(t, closed(200), 8, 2), Requests: 400,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range result.Records {
		if sent, ok := r.Sent.Since(); r.Outcome != record.OK || !ok || sent < 0 {
			t.Errorf("%s %q sent at %v", r.Outcome, r.Detail, sent)
		}
	}
}

// silent is a network in which no attempt to connect ends, and which tells of
// the first.
func silent(dialing chan<- struct{}) func(context.Context, string, string) (net.Conn, error) {
	var once sync.Once
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		once.Do(func() { close(dialing) })
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// TestWarmEndsInTime: opening connections does not put off the start.
func TestWarmEndsInTime(t *testing.T) {
	for _, lead := range []time.Duration{100 * ms, 2 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			at := time.Now().Add(lead)
			o := Options{Workload: fixed(t, closed(4), 8, 2), Model: "m", StartAt: at, Requests: 4, MetricsInterval: -1, wait: sleepUntil}
			o.Client = client.Options{Endpoint: "http://localhost", ConnectTimeout: time.Hour, TotalTimeout: time.Second, Dial: silent(make(chan struct{}))}
			result, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if start := result.Run.Environment.Start; !start.Equal(at) {
				t.Errorf("started %v after the time", start.Sub(at))
			}
			for _, r := range result.Records {
				if since(r.Sent) != 0 {
					t.Errorf("with %v to go: sent at %v", lead, since(r.Sent))
				}
			}
		})
	}
}

// TestStopWhileWarming: the first wish to stop is heeded before the start, too.
func TestStopWhileWarming(t *testing.T) {
	for name, arrival := range map[string]profiles.Arrival{"closed": closed(4), "open": constant(10)} {
		synctest.Test(t, func(t *testing.T) {
			stop, dialing := make(chan struct{}), make(chan struct{})
			go func() {
				<-dialing
				time.Sleep(100 * ms)
				close(stop)
			}()
			o := Options{Workload: fixed(t, arrival, 8, 2), Model: "m", Duration: time.Hour, MetricsInterval: -1, Stop: stop, wait: sleepUntil}
			o.Client = client.Options{Endpoint: "http://localhost", ConnectTimeout: time.Hour, Dial: silent(dialing)}
			began := time.Now()
			result, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != 100*ms || !result.Run.Interrupted || len(result.Records) != 0 || result.Run.Window != (record.Window{}) {
				t.Errorf("%s: took %v, %d requests, window %v, interrupted %v", name, took, len(result.Records), result.Run.Window, result.Run.Interrupted)
			}
		})
	}
}

// TestConnections: as many as are in flight at the busiest time, of this shard.
func TestConnections(t *testing.T) {
	stream := func(a profiles.Arrival, output float64, shards int, recorded ...workload.Session) *workload.Stream {
		tokens := profiles.Distribution{Kind: profiles.Fixed, Mean: output}
		s, err := workload.New(profiles.Workload{Arrival: a, Input: tokens, Output: tokens}, workload.Options{Shards: shards, Recorded: recorded})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	burst := append(sessions(3, 0), sessions(5, 0)...)
	for i := range burst {
		burst[i].Offset = time.Duration(max(0, i-2)) * time.Minute
	}
	for _, tt := range []struct {
		name   string
		stream *workload.Stream
		want   int
	}{
		{"closed", stream(closed(400), 8, 0), 400},
		{"closed, a quarter", stream(closed(400), 8, 4), 100},
		{"users", stream(profiles.Arrival{Process: profiles.Users, Count: 300}, 8, 3), 100},
		{"beyond the cap", stream(closed(4000), 8, 0), 4000},
		// An answer of 50 tokens is guessed to take 2 s.
		{"constant", stream(constant(30), 50, 0), 60},
		{"constant, a quarter", stream(constant(30), 50, 4), 15},
		{"capped", stream(constant(3000), 50, 0), 1000},
		{"rare", stream(constant(0.01), 50, 0), 1},
		{"ramp", stream(profiles.Arrival{Process: profiles.Ramp, FromPerS: 1, ToPerS: 40, Over: time.Minute}, 50, 0), 80},
		{"sine", stream(profiles.Arrival{Process: profiles.Sine, RatePerS: 20, AmplitudePerS: 10, Period: time.Minute}, 50, 0), 60},
		{"trace", stream(profiles.Arrival{Process: profiles.TraceArrival}, 0, 0, burst...), 3 * len(burst[0].Turns)},
	} {
		if got := Connections(tt.stream, 1000); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
