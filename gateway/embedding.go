package gateway

import (
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/store"
	"github.com/llmctl/llmctl/gateway/usage"
)

// embeddingCall is what a look into the cache by meaning takes: a call that costs money,
// whatever comes of the request. It has a reservation of its own, as a request that uses
// no tokens, since an answer from the cache would be one: nobody gets embeddings beyond
// their limits. What the request turns out to need more counts as no other one.
type embeddingCall struct {
	reservation store.Reservation // nil before, and once it is closed
	made        bool
	tokens      usage.Tokens
	cost        usage.Cost
}

// admitEmbedding lets a look into the cache by meaning pass the limits.
func (x *exchange) admitEmbedding() *failure {
	reservation, levels, err := x.g.limits.Reserve(x.r.Context(), x.who.account, limit.Ask{})
	if err != nil {
		setLimitHeaders(x.w.Header(), levels)
		x.toldLimits = true
		return x.limited(err)
	}
	x.caching.embedding.reservation = reservation
	return nil
}

// embedded notes what an embedding took, as the endpoint counted it, or else an estimate.
func (x *exchange) embedded(text string, counted int64) {
	m := &x.caching.embedding
	m.made = true
	m.tokens = usage.Tokens{Input: counted}
	if counted <= 0 || counted > int64(len(text))+templateTokens {
		m.tokens = usage.Tokens{Input: textTokens(len(text)), Estimated: true}
	}
	m.cost = x.model.caches.semantic.price.Cost(m.tokens)
}

// close settles the embedding's own reservation, and tells whether there was one.
func (m *embeddingCall) close() bool {
	if m.reservation == nil {
		return false
	}
	m.reservation.Settle(limit.Use{Cost: charge(m.cost)})
	m.reservation = nil
	return true
}

// meterEmbedding brings the embedding to the ledger and the metrics, as a record beside
// that of its request. Requests that were turned away have none, and their embeddings do.
func (x *exchange) meterEmbedding(end time.Time) {
	m := &x.caching.embedding
	if !m.made {
		return
	}
	s := x.model.caches.semantic
	r := &usage.Record{
		RequestID: x.id, At: end, Tenant: x.who.tenant.name, Key: x.who.key, Alias: x.model.alias, Class: x.class,
		Provider: s.provider, Model: s.embedders[0].Model, Arm: usage.Embedding,
		Outcome: string(outcomeOK), OK: true, Status: 200, Tokens: m.tokens, Cost: m.cost, Attempts: 1,
	}
	x.g.metrics.used(r)
	x.g.ledger.Append(r)
}
