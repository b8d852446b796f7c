package gateway

import (
	"go.opentelemetry.io/otel/trace"

	"crypto/rand"
	"net/http"
	"time"

	"github.com/llmctl/llmctl/gateway/idempotency"
	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/store"
	"github.com/llmctl/llmctl/internal/openai"
)

// exchange is one request on its way through the gateway, and all that its log
// line and its metrics will say.
type exchange struct {
	g  *Gateway
	w  http.ResponseWriter
	r  *http.Request
	id string

	table   *table   // of the configuration that it began with
	dialect *dialect // nil where no model is asked for

	who    *principal // nil until authenticated
	model  *model     // nil until the alias is known
	try    *attempt   // the last one; nil before the first
	body   weighed
	answer weighedAnswer // of the last try, where it is not streamed
	span   trace.Span    // nil without tracing
	live   *live

	routing
	placement
	clocked
	deadline    deadline
	reservation store.Reservation
	claim       idempotency.Claim // of its idempotency key; nil without one
	spent       meter
	account     account // for the ledger
	caching     caching // what there is to do for the alias's cache

	began, first, last time.Time // zero when it did not happen
	closed             time.Time // [DONE], when later bytes were awaited
	finishReason       string
	toldLimits         bool // the header has the levels of limits
	committed          bool // the response header is out
	failure            *failure
}

func (g *Gateway) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{g: g, table: g.table.Load(), w: w, r: r, id: requestID(r.Header), began: g.now()}
	x.deadline.control = http.NewResponseController(w)
	w.Header()["X-Request-Id"] = []string{x.id}
	x.live = &live{id: x.id, began: x.began, phase: phaseArrived}
	g.lives.add(x.live)
	x.startSpan()
	return x
}

// requestID keeps the client's id when it is fit for a log line and a header,
// else makes one.
func requestID(h http.Header) string {
	if id := h.Get("X-Request-Id"); validID(id) {
		return id
	}
	return "req-" + rand.Text()
}

func validID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}

func (x *exchange) authenticate() *failure {
	who, err := authenticate(x.table.principals, x.r.Header)
	if err != nil {
		x.w.Header().Set("WWW-Authenticate", "Bearer")
		return &failure{status: http.StatusUnauthorized, outcome: outcomeUnauthorized, cause: err,
			body: openai.NewError("authentication_error", "missing or unknown API key", "", "invalid_api_key")}
	}
	x.who = who
	return nil
}

// succeed answers with a whole body.
func (x *exchange) succeed(contentType string, body []byte) {
	x.settleAndTell()
	x.tellTaken()
	x.keepAnswer(contentType, body)
	x.committed = true
	x.w.Header()["Content-Type"] = []string{contentType}
	x.deliver(body)
}

// retries are the requests that were sent, or could not be, before the last one.
func (x *exchange) retries() int { return max(0, x.account.tries-1) }

// fail ends the exchange with a failure. The client hears of it in the way that
// is left: a status, or an event when the stream has begun.
func (x *exchange) fail(f *failure) {
	x.failure = f
	x.releaseKey()
	if !x.committed {
		x.w.Header().Del("X-Llmctl-Cache") // an error is neither from a cache nor from a model
		x.settleAndTell()
		x.tellTaken()
	}
	x.deadline.within(x.patience())
	switch {
	case f.status == statusClientGone && !x.committed:
		// Of one that only closed its sending half. Saying nothing would be net/http's 200.
		x.w.WriteHeader(statusClientGone)
	case f.status == statusClientGone:
	case !x.committed:
		f.write(x.w)
	default:
		x.writeErrorEvent(f)
	}
}

// finish settles, accounts, counts and logs. It runs on every path, also when a panic
// unwinds the handler.
func (x *exchange) finish() {
	end := x.g.now()
	x.settle()
	x.releaseKey()
	x.caching.end()
	x.body.letGo()
	x.answer.letGo()
	x.meter(end)
	if x.try != nil && !x.chargeable() {
		x.waste()
	}
	x.meterEmbedding(end)
	x.g.lives.remove(x.live)
	x.observe(end)
}

// settle closes the reservation. It runs before the client can see that its
// answer is complete, so that its next request finds the slot free.
func (x *exchange) settle() {
	x.store(x.g.now())
	x.caching.embedding.close() // of a request that came to nothing before its own reservation
	if x.reservation == nil {
		return
	}
	var moved limit.Settlement
	var first bool
	if x.chargeable() || x.account.again != nil { // an answer from a cache may have a price, and has no tokens
		used := x.used()
		cost, _ := x.cost()
		moved, first = x.reservation.Settle(limit.Use{Tokens: limit.Tokens{Input: used.Input, Output: used.Output}, Cost: charge(cost)})
	} else {
		moved, first = x.reservation.Abandon()
	}
	if first {
		x.g.metrics.settled(x.who.tenant.name, moved)
	}
}

// chargeable tells whether the tenant pays for what was used. A request that
// failed before its first output costs nothing, unless the client itself left
// when the upstream was at work.
func (x *exchange) chargeable() bool {
	switch {
	case !x.atWork():
		return false
	case x.failure == nil, x.failure.outcome == outcomeClientGone:
		return true
	case x.failure.outcome == outcomeFiltered && x.spent.reported: // the tenant's own answer, which a filter kept
		return true
	}
	return !x.first.IsZero()
}

// atWork tells whether an upstream has the request, or had it when it ended: not when
// none was reached, nor when the last one had failed and another try was to come.
func (x *exchange) atWork() bool { return x.try != nil && x.try.reached.Load() && !x.try.over }
