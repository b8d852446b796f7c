package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
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
// Tenants share the memory so that nobody can take it from the others: each may come to
// hold as much as is left then, and no more. One alone gets a half; when n have taken
// all that they can, a part in 2^n is still free, in which small bodies of everybody else
// pass (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking
// 6(2), 1998).
type bodies struct {
	refused atomic.Int64

	mu     sync.Mutex
	held   int64
	shares map[string]int64 // by tenant; none that is 0
}

// take counts n more bytes of a tenant, and reports whether there is room for them
// where most bytes may be held. They count either way, until they are given back.
func (b *bodies) take(tenant string, n, most int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shares == nil {
		b.shares = map[string]int64{}
	}
	b.held += n
	b.shares[tenant] += n
	if b.shares[tenant] <= most-b.held {
		return true
	}
	b.refused.Add(1)
	return false
}

func (b *bodies) giveBack(tenant string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.shares[tenant] -= n; b.shares[tenant] == 0 {
		delete(b.shares, tenant)
	}
}

// total is how much all hold.
func (b *bodies) total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

var (
	errBodies  = errors.New("too many large requests at once")
	errAnswers = errors.New("too many large answers at once")
)

// weighed reads a body, and counts what it has read until it is let go.
type weighed struct {
	from   io.Reader
	all    *bodies
	tenant string
	most   int64 // bytes of all bodies together
	full   error // of one beyond them
	count  int64
}

func (w *weighed) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if n > 0 && !w.add(int64(n)) {
		return n, w.full
	}
	return n, err
}

// add counts n more bytes, and reports whether there is room for them.
func (w *weighed) add(n int64) bool {
	w.count += n
	return w.all.take(w.tenant, n, w.most)
}

// weigh counts the request's body until the request ends.
func (x *exchange) weigh(body io.Reader) io.Reader {
	x.body = weighed{from: body, all: &x.g.bodies, tenant: x.who.tenant.name, most: bodiesAtOnce * x.table.maxBody, full: errBodies}
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
		x.answer = weighedAnswer{x.answerWeight(response.Body), response.Body}
		response.Body = &x.answer
	}
}

func (x *exchange) answerWeight(body io.Reader) weighed {
	return weighed{from: body, all: &x.g.wholes, tenant: x.who.tenant.name, most: answersAtOnce * x.table.maxAnswer, full: errAnswers}
}

// largeEvent is what of an unfinished event of a stream counts as an answer's body:
// streams hold little more, but for those that send pictures, or never end an event.
const largeEvent = 64 << 10

// weighEvent counts what a stream holds of an event that has not ended, and reports
// whether there is room for it.
func (x *exchange) weighEvent(held int) bool {
	if held < largeEvent {
		x.answer.letGo()
		return true
	}
	if x.answer.all == nil {
		x.answer.weighed = x.answerWeight(nil)
	}
	more := int64(held) - x.answer.count
	return more <= 0 || x.answer.add(more)
}

// letGo forgets the body, whose memory is free from here on.
func (w *weighed) letGo() {
	if w.count > 0 {
		w.all.giveBack(w.tenant, w.count)
	}
	w.all, w.count = nil, 0
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
		to <- prometheus.MustNewConstMetric(bodyBytes, prometheus.GaugeValue, float64(b.total()), of)
		to <- prometheus.MustNewConstMetric(bodyRefused, prometheus.CounterValue, float64(b.refused.Load()), of)
	}
}
