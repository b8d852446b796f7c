package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llmctl/llmctl/internal/openai"
)

const (
	// bodiesAtOnce is how many of the largest requests may be in memory at once. Limits
	// are asked once a body is known, so without a bound a single key could fill the
	// memory with requests that are then refused.
	bodiesAtOnce = 32
	// answersAtOnce is how many of the largest answers that are not streamed may be. Each
	// is read to its end before its client gets any of it: an upstream that dies half-way
	// becomes a clean error or another try, and what it used is known before it is told.
	answersAtOnce = 4
)

// bodies counts the bytes of bodies in memory, and those for which there was no room.
type bodies struct{ held, refused atomic.Int64 }

var (
	errBodies  = errors.New("too many large requests at once")
	errAnswers = errors.New("too many large answers at once")
)

// weighed reads a body, and counts what it has read until it is let go.
type weighed struct {
	from  io.Reader
	all   *bodies
	most  int64 // bytes of all bodies together
	full  error // of one beyond them
	count int64
}

func (w *weighed) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	w.count += int64(n)
	if w.all.held.Add(int64(n)) > w.most && n > 0 {
		w.all.refused.Add(1)
		return n, w.full
	}
	return n, err
}

// weigh counts the request's body until the request ends.
func (x *exchange) weigh(body io.Reader) io.Reader {
	x.body = weighed{from: body, all: &x.g.bodies, most: bodiesAtOnce * x.table.maxBody, full: errBodies}
	return &x.body
}

// weighedAnswer is an answer's body that counts until the next try, or the end of the
// request: a client that reads slowly has it in memory for as long.
type weighedAnswer struct {
	weighed
	io.Closer
}

// weighAnswer counts the answer's body, once for each try.
func (x *exchange) weighAnswer(response *http.Response) {
	if x.answer.all == nil {
		x.answer = weighedAnswer{
			weighed{from: response.Body, all: &x.g.wholes, most: answersAtOnce * x.table.maxAnswer, full: errAnswers}, response.Body,
		}
		response.Body = &x.answer
	}
}

// letGo forgets the body, whose memory is free from here on.
func (w *weighed) letGo() {
	if w.all != nil {
		w.all.held.Add(-w.count)
		w.all, w.count = nil, 0
	}
}

// crowded is the failure of a request whose body, or whose answer, has no room.
func crowded(full error) *failure {
	return &failure{status: http.StatusServiceUnavailable, outcome: outcomeShed, retryAfter: "1",
		body: openai.NewError("server_error", full.Error(), "", "overloaded")}
}

// heldBodies publishes how much the bodies take.
type heldBodies struct{ g *Gateway }

var (
	bodyBytes   = prometheus.NewDesc(prefix+"body_bytes", "Bodies in memory: of requests, and of answers that are not streamed.", []string{"of"}, nil)
	bodyRefused = prometheus.NewDesc(prefix+"body_refused_total", "Requests that ended since bodies took too much memory.", []string{"of"}, nil)
)

// Describe implements prometheus.Collector.
func (heldBodies) Describe(to chan<- *prometheus.Desc) {
	to <- bodyBytes
	to <- bodyRefused
}

// Collect implements prometheus.Collector.
func (h heldBodies) Collect(to chan<- prometheus.Metric) {
	for of, b := range map[string]*bodies{"request": &h.g.bodies, "answer": &h.g.wholes} {
		to <- prometheus.MustNewConstMetric(bodyBytes, prometheus.GaugeValue, float64(b.held.Load()), of)
		to <- prometheus.MustNewConstMetric(bodyRefused, prometheus.CounterValue, float64(b.refused.Load()), of)
	}
}
