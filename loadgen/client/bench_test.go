package client

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports/record"
)

// BenchmarkStreamEvent reads a stream of one event per token as a request does:
// stamp, split, parse, note. There must be no allocation per event.
func BenchmarkStreamEvent(b *testing.B) {
	const perStream = 2048
	event := mock.Event(`{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,` +
		`"model":"llama-3.1-8b","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}`)
	body := strings.Repeat(event, perStream)
	start := time.Now()
	client := &Client{
		now:     func() time.Duration { return time.Since(start) },
		onFirst: func(time.Duration, time.Duration) {}, onOutput: func(int) {},
	}
	b.ReportAllocs()
	for events := 0; events < b.N; events += perStream {
		x := &exchange{Client: client, reply: &reply{status: 200}, record: &record.Record{AskedOutput: record.Counted(perStream), Sent: record.At(0)}}
		x.watch = watchdog{now: client.now, cancel: func(error) {}}
		x.watch.start(0)
		if err := x.readBody(oneEventAtATime{strings.NewReader(body), len(event)}); err != nil {
			b.Fatal(err)
		}
		x.watch.stop()
		if len(x.answer.times) != perStream {
			b.Fatalf("%d events", len(x.answer.times))
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// oneEventAtATime returns one event per read, as a busy server's network does.
type oneEventAtATime struct {
	r    io.Reader
	size int
}

func (o oneEventAtATime) Read(p []byte) (int, error) { return o.r.Read(p[:min(o.size, len(p))]) }
