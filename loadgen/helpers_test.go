package loadgen

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// fixed is a workload of equal requests.
func fixed(t testing.TB, arrival profiles.Arrival, input, output int) *workload.Stream {
	t.Helper()
	s, err := workload.New(profiles.Workload{
		Arrival: arrival,
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: float64(input)},
		Output:  profiles.Distribution{Kind: profiles.Fixed, Mean: float64(output)},
	}, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func constant(perS float64) profiles.Arrival {
	return profiles.Arrival{Process: profiles.Constant, RatePerS: perS}
}

func closed(n int) profiles.Arrival {
	return profiles.Arrival{Process: profiles.Closed, Concurrency: n}
}

// one sends a single request over loopback and returns its record.
func one(t *testing.T, h http.Handler, change func(*Options)) *record.Record {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	o := Options{Client: client.Options{Endpoint: server.URL}, Model: "m", Workload: fixed(t, closed(1), 8, 4), Requests: 1, MetricsInterval: -1}
	if change != nil {
		change(&o)
	}
	result, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Records) != 1 {
		t.Fatalf("%d records of 1 request", len(result.Records))
	}
	return result.Records[0]
}

// scripted answers every request with one script.
func scripted(s *mock.Script) *mock.Server {
	return &mock.Server{Script: func(mock.Request) *mock.Script { return s }}
}

// inMemory makes a run use the virtual clock and the in-memory network of a
// synctest bubble.
func inMemory(n *mock.Network, o Options) Options {
	o.Client.Endpoint = "http://localhost"
	o.Model = "m"
	o.MetricsInterval = -1
	o.Client.Dial, o.wait = n.Dial, sleepUntil
	return o
}

// since is a moment as a duration, −1 when it is absent.
func since(m record.Moment) time.Duration {
	if d, ok := m.Since(); ok {
		return d
	}
	return -1
}

// between is the time from one moment to a later one, −1 when one is absent.
func between(from, to record.Moment) time.Duration {
	if d, ok := to.Sub(from); ok {
		return d
	}
	return -1
}

func chunks(r *record.Record) int {
	if r.Chunks == nil {
		return 0
	}
	return r.Chunks.Len()
}

// c is a chat chunk with content, as an event.
func c(text string) string {
	return mock.Event(`{"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`)
}

// delta is a chat chunk with this delta, as an event.
func delta(d string) string {
	return mock.Event(`{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`)
}

// finish is the last chunk of a choice, as an event.
func finish(reason string) string {
	return mock.Event(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
}

// usage is the event that tells the server's count of tokens.
func usage(completion string) string {
	return mock.Event(`{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":` + completion + `}}`)
}
